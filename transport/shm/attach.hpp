// Reaching another device's memory: within this process, through /proc, or by a descriptor asked for at its
// door.
//
// A process id may mean somebody else in another PID namespace or on another node, even a thread of this
// process, so nothing is believed before the nonce in the mapped header agrees. A descriptor of one's own
// memfd must never be opened and closed a second time in its process: closing any descriptor of a file drops
// the process's POSIX lock on it, and the lock is the sign of life. So devices of this process are found in a
// registry and mapped through the descriptor they have, and what /proc shows is compared with them before it
// is opened.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/shm/address.hpp"
#include "transport/shm/settings.hpp"

namespace stria::shm {

/// Another device's segment, mapped, with what is needed to ask whether its owner lives.
struct Attached {
  Mapping map;
  UniqueFd fd;  // of its memfd; empty within one process
  std::uint64_t nonce = 0;
  pid_t pid = 0;  // in our namespace; 0: unknown
  bool same_process = false;
  const char* way = "";  // "process", "proc", "socket"

  /// Whether the owner's process exists and has not closed its memfd.
  bool is_alive() const noexcept;
};

/// What an attempt leaves behind that waited a second at the door, and had no answer: the peer stands still,
/// or has no time. The next one goes on where it was, and does not wait.
struct Unanswered {
  bool has_waited = false;
  UniqueFd asked;  // empty: it could not be asked, or its answer not be taken
};

/// Maps the segment of `identity`. The seals, the size and the magic and nonce were checked; nothing else
/// was. Errors: unreachable, saying for each way why not; with `unanswered` two that pass: in_progress, the
/// door does not answer; no_resource, this process has no descriptor or memory left.
Result<Attached> attach(const Identity& identity, AttachMode mode, std::uint64_t secret_proof,
                        Unanswered* unanswered = nullptr);

/// A descriptor of the peer's allocation `nonce` (memory.hpp), which is `fd` there, by the ways of attach().
/// What it is, is for the caller to check. Errors: unreachable, saying for each way why not.
Result<UniqueFd> open_memory(const Attached& peer, std::uint64_t nonce, int fd, AttachMode mode,
                             std::uint64_t secret_proof);

/// Lists a device of this process while it exists.
void register_device(std::uint64_t nonce, int fd, std::size_t bytes);
void unregister_device(std::uint64_t nonce) noexcept;

/// Serves a device's memfd, and allocations, to peers that cannot open them through /proc: a thread that
/// sleeps in accept.
class Door {
 public:
  Door() = default;
  ~Door() { shut(); }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  /// `proof` is what a peer has to show: the device's fingerprint. The descriptor stays the caller's.
  Result<void> open(std::uint64_t nonce, int memfd, std::uint64_t proof);
  void shut() noexcept;
  /// The network namespace that it is in; 0: not open, or not known.
  std::uint32_t space() const noexcept { return space_; }

 private:
  void serve() noexcept;
  void answer(int client) noexcept;
  UniqueFd listener_, stop_;
  int memfd_ = -1;
  std::uint32_t space_ = 0;
  std::uint64_t nonce_ = 0, proof_ = 0;
  std::thread thread_;
};

/// Whether a device shut its door, or died, so that it writes nothing any more. False: it may live. `space`
/// is where its door was.
bool is_door_gone(std::uint64_t nonce, std::uint32_t space) noexcept;

}  // namespace stria::shm
