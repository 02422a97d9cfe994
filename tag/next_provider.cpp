#include "tag/next_provider.hpp"

#include <algorithm>
#include <new>

#include "base/format.hpp"
#include "base/log.hpp"

namespace stria::tag {
namespace {

/// A peer wrote the name: what is no graphic character of ASCII becomes a '?'.
std::string printable(std::string_view host) {
  std::string out(host);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c <= ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace

void NextProvider::tell(std::uint64_t worker_id, std::string_view host, std::string_view reasons,
                        std::string_view taken) noexcept try {
  const std::string where = host.empty()
                                ? fmt::format("worker {:#x}", worker_id)
                                : fmt::format("worker {:#x} on host '{}'", worker_id, printable(host));
  if (!told_.insert(fmt::format("{} {}", host.empty() ? where : std::string(host), taken)).second) return;
  const std::string line =
      fmt::format("{}: {} is taken, because a better device failed ({})", where, taken, reasons);
  if (told_.size() <= kWarnings)
    log::warn("{}", line);
  else
    log::info("{}", line);
  if (told_.size() == kWarnings)
    log::warn("{}",
              "if more hosts are reached by another device than the best one, STRIA_LOG=info names each");
} catch (const std::bad_alloc&) {
  // The peer is reached all the same.
}

}  // namespace stria::tag
