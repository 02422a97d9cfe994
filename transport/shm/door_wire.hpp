// The protocol of a device's door, an abstract Unix stream socket. A peer sends one request, which proves
// that it knows the job secret; the answer passes the descriptor of a memfd: that of the device's segment,
// or of an allocation (memory.hpp). Both sides check that the other side is the same user (SO_PEERCRED).
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace stria::shm {

struct DoorRequest {
  std::uint64_t magic;
  std::uint64_t nonce;
  std::uint64_t proof;
  std::uint64_t memory;  // 0: the device's segment; else the nonce of an allocation
};
static_assert(sizeof(DoorRequest) == 32 && offsetof(DoorRequest, memory) == 24);
enum class DoorAnswer : std::uint32_t {
  granted = 1,
  wrong_secret = 2,
  wrong_user = 3,
  malformed = 4,
  freed = 5
};

struct PassedDescriptor {
  UniqueFd fd;
  pid_t pid = 0;  // of the process behind the door, in this process's namespace; 0: not visible from here
};

/// The status for the errno of a system call that was to reach a peer. in_progress: the peer has no time;
/// no_resource: this process, or the system, has no descriptor or memory left. After both a later attempt
/// may succeed.
inline Status status_on_way(int error) noexcept {
  if (error == EAGAIN || error == EINTR) return Status::in_progress;
  const bool lacks = error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
  return lacks ? Status::no_resource : Status::unreachable;
}

/// Sends a request to the door of the device `nonce`: for its segment, or for the allocation `memory`. The
/// answer comes through the descriptor that is returned. Errors: unreachable with the reason; in_progress:
/// the door's queue is full (if `waits`, also after a second); no_resource: no descriptor or memory left.
Result<UniqueFd> send_request(std::uint64_t nonce, std::uint64_t proof, std::uint64_t memory, bool waits);
/// Receives the answer from `asked`, the descriptor that send_request() returned. Errors: unreachable with
/// the reason; in_progress: there is no answer yet (if `waits`, also after a second); no_resource: this
/// process had no room for the descriptor that came with the answer, and has to ask again.
Result<PassedDescriptor> receive_answer(int asked, bool waits);
/// send_request() and receive_answer(); each waits for a second at most.
Result<PassedDescriptor> request_descriptor(std::uint64_t nonce, std::uint64_t proof, std::uint64_t memory);

}  // namespace stria::shm
