// Attaches the segment of another device. There are three ways to its memfd: the registry of this process,
// the owner's /proc/<pid>/fd, and descriptor passing over the owner's door, a Unix socket.
//
// In another PID namespace or on another node a process id may name another process, even a thread of this
// one. So the content of a mapped segment is not trusted before the nonce in its header agrees with the
// address.
//
// A process must never open and close a descriptor of its own memfd a second time: closing any descriptor of
// a file drops the POSIX lock that the process has on it, and peers take the lock as the sign that the device
// lives. So the devices of this process are found in a registry and mapped through the descriptor that the
// device has, and a file that /proc shows is compared with those of the registry before it is opened.
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

/// Another device's segment, mapped, and what is_alive() needs to ask whether its owner lives.
struct Attached {
  Mapping map;
  UniqueFd fd;  // of the segment's memfd; empty when the owner is in this process
  std::uint64_t nonce = 0;
  pid_t pid = 0;  // of the owner, in the PID namespace of this process; 0: unknown
  bool same_process = false;
  const char* way = "";  // by which the memfd was reached: "process", "proc", "socket"

  /// Whether the owner's process exists and has not closed its memfd.
  bool is_alive() const noexcept;
};

/// State of an attach() by the door that had no answer yet, since the peer is stopped or busy. The first
/// attempt waits up to a second for the answer; a later attempt with the same PendingAttach continues where
/// the one before stopped, and does not wait.
struct PendingAttach {
  bool has_waited = false;
  /// The door's connection while its answer is due; empty: the next attempt connects anew.
  UniqueFd connection;
};

/// Maps the segment of `identity`. On success the seals, the size, the magic and the nonce of the segment are
/// checked, and nothing else.
/// Errors: unreachable, whose text has the reason for each way that was tried; and with `pending` two
/// errors after which the caller may try again: in_progress, the door has not answered, and no_resource, this
/// process has no descriptor or memory left.
Result<Attached> attach(const Identity& identity, AttachMode mode, std::uint64_t secret_proof,
                        PendingAttach* pending = nullptr);

/// Names an allocation of a peer (memory.hpp).
struct MemoryName {
  std::uint64_t nonce;
  int fd;  ///< descriptor of its memfd in the peer's process
};

/// Returns a descriptor of the memfd of an allocation of the peer, through /proc or over the peer's door. The
/// caller has to check that the descriptor is that of the allocation. Errors: unreachable, whose text has the
/// reason for each way that was tried.
Result<UniqueFd> open_memory(const Attached& peer, const MemoryName& name, AttachMode mode,
                             std::uint64_t secret_proof);

/// The registry of this process: a device is in it, with the descriptor of its segment, from
/// register_device() to unregister_device(). Any thread.
void register_device(std::uint64_t nonce, int fd);
void unregister_device(std::uint64_t nonce) noexcept;

/// Passes the descriptors of a device's segment and of the process's allocations to peers that cannot open
/// them through /proc. A thread of its own serves the socket, and sleeps in poll() until a peer connects.
class Door {
 public:
  Door() = default;
  ~Door() { shut(); }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  /// Opens the door of the device `nonce`. A peer has to show `proof`, the device's fingerprint. `memfd` is
  /// that of the segment; it stays the caller's, and stays open until shut().
  Result<void> open(std::uint64_t nonce, int memfd, std::uint64_t proof);
  void shut() noexcept;
  /// The network namespace of the door's socket; 0: the door is not open, or the namespace is unknown.
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

/// Whether the device `nonce` has shut its door or died, and so writes nothing any more. False: the device
/// may live. `space` is the Door::space() of the device; this process can tell only when it is in that
/// namespace.
bool is_door_gone(std::uint64_t nonce, std::uint32_t space) noexcept;

}  // namespace stria::shm
