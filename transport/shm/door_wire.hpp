// The exchange at a device's door, an abstract unix stream socket: a request that proves the job secret, an
// answer that carries a memfd: the device's, or an allocation's. Both sides check that the other is the same
// user (SO_PEERCRED).
#pragma once

#include <sys/types.h>

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

/// Asks; the answer will come through the descriptor. Errors: unreachable with the reason; no_resource: too
/// many wait before this door, also after a second if it `waits`.
Result<UniqueFd> knock(std::uint64_t nonce, std::uint64_t proof, std::uint64_t memory, bool waits);
/// Takes the answer. Errors: unreachable with the reason; no_resource: there is none yet, also after a second
/// if it `waits`.
Result<Passed> hear(int asked, bool waits);
/// Both, for a second each.
Result<Passed> ask_at_door(std::uint64_t nonce, std::uint64_t proof, std::uint64_t memory);

}  // namespace stria::shm
