// The exchange at a device's door, an abstract unix stream socket: a request that proves the job secret, an
// answer that carries a memfd: the device's, or an allocation's. Both sides check that the other is the same
// user (SO_PEERCRED).
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

struct Passed {
  UniqueFd fd;
  pid_t pid = 0;  // of the process behind the door, in our namespace; 0: not visible from here
};

/// What an errno on the way to a peer is. in_progress: the peer has no time; no_resource: this process, or
/// the system, has nothing left; both pass.
inline Status status_on_way(int error) noexcept {
  if (error == EAGAIN || error == EINTR) return Status::in_progress;
  const bool lacks = error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
  return lacks ? Status::no_resource : Status::unreachable;
}

/// Asks; the answer will come through the descriptor. Errors: unreachable with the reason; in_progress: too
/// many wait before this door, also after a second if it `waits`; no_resource: no descriptor, or memory.
Result<UniqueFd> knock(std::uint64_t nonce, std::uint64_t proof, std::uint64_t memory, bool waits);
/// Takes the answer. Errors: unreachable with the reason; in_progress: there is none yet, also after a second
/// if it `waits`; no_resource: the descriptor that came with it found no room here, and has to be asked for
/// again.
Result<Passed> hear(int asked, bool waits);
/// Both, for a second each.
Result<Passed> ask_at_door(std::uint64_t nonce, std::uint64_t proof, std::uint64_t memory);

}  // namespace stria::shm
