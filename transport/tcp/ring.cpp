#include "transport/tcp/ring.hpp"

#ifdef STRIA_HAS_URING

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/format.hpp"

namespace stria::tcp {
namespace {

/// The rings that wait for reuse. Never destroyed, because a ring may come back later than static objects are
/// destroyed.
struct Shelf {
  std::mutex mutex;
  std::vector<std::unique_ptr<Ring>> rings;
};
Shelf& shelf() {
  static auto* const all = new Shelf;
  return *all;
}

unsigned flags_of(Ring::Kind kind) noexcept {
  // A flag in memory says that something has completed, so that looking takes no system call.
  return kind == Ring::Kind::deferred
             ? IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG
             : IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
}

}  // namespace

Result<std::unique_ptr<Ring>> Ring::take(Kind kind, unsigned entries) {
  {
    const std::lock_guard lock(shelf().mutex);
    std::vector<std::unique_ptr<Ring>>& rings = shelf().rings;
    const auto found =
        std::ranges::find_if(rings, [&](const auto& ring) { return ring->kind_ == kind && ring->is_mine(); });
    if (found != rings.end()) {
      std::unique_ptr<Ring> out = std::move(*found);
      rings.erase(found);
      return out;
    }
  }
  io_uring_params how{};
  how.flags = flags_of(kind);
  std::unique_ptr<Ring> made(new Ring(kind));
  if (const int failed = -io_uring_queue_init_params(entries, &made->kernel, &how); failed != 0) {
    // ENOMEM: the user's processes have locked as much memory as they may (RLIMIT_MEMLOCK).
    const bool is_forbidden = failed == ENOSYS || failed == EPERM || failed == EINVAL || failed == ENOMEM;
    return Error{is_forbidden ? Status::unsupported : Status::io_error,
                 fmt::format("io_uring is refused: {}", std::strerror(failed))};
  }
  return made;
}

void Ring::give_back(std::unique_ptr<Ring> ring) {
  const std::lock_guard lock(shelf().mutex);
  shelf().rings.push_back(std::move(ring));
}

}  // namespace stria::tcp

#endif
