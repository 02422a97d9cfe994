#include "tag/next_provider.hpp"

#include <new>

#include "base/format.hpp"
#include "base/log.hpp"

namespace stria::tag {

void NextProvider::tell(std::uint64_t worker_id, std::string_view host, std::string_view reasons,
                        std::string_view taken) noexcept try {
  const std::string where = host.empty() ? fmt::format("worker {:#x}", worker_id)
                                         : fmt::format("worker {:#x} on host '{}'", worker_id, host);
  if (!told_.insert(fmt::format("{} {}", host.empty() ? where : host, taken)).second) return;
  log::warn("{}: {} is taken, because a better provider failed ({})", where, taken, reasons);
} catch (const std::bad_alloc&) {
  // The peer is reached all the same.
}

}  // namespace stria::tag
