// Describes the process that a device lives in, and watches whether the device still lives. UCX's
// shared-memory transports never report that a peer is gone, and a network transport cannot tell a dead
// process from a broken cable. For a peer on the same host, the kernel can tell:
//
//   Door    belongs to a device: a listening abstract unix socket, which closes with the device and accepts
//           no connection before.
//   Watch   belongs to a peer: a connection to the peer's door, and a descriptor of the peer's process. The
//           connection waits in the door's queue and is reset when the door closes. The process is watched,
//           too, because a child of fork may keep the door's socket open after its parent died.
#pragma once

#include <cstdint>
#include <utility>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/system.hpp"

namespace stria::uct {

/// Where a process runs, as device addresses contain it.
struct Whereabouts {
  std::uint64_t host = 0;       ///< identifies the running system; 0: not known
  std::uint64_t started = 0;    ///< start of the process, in clock ticks since boot; 0: not known
  std::uint32_t pid_space = 0;  ///< the namespace of `pid`; 0: not known
  std::uint32_t net_space = 0;  ///< the namespace in which the door has its name; 0: not known
  std::uint32_t pid = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Whereabouts) == 32);

Whereabouts own_whereabouts() noexcept;
/// Whether a process at `one` can watch a process at `other`: same host, same pid and network namespaces.
bool can_watch(const Whereabouts& one, const Whereabouts& other) noexcept;

class Door {
 public:
  Door() = default;
  /// Opens the door of the device with this instance.
  static Result<Door> open(std::uint64_t instance);
  Door(Door&&) noexcept = default;
  Door& operator=(Door&&) noexcept = default;
  ~Door() { close(); }
  /// Closes the door. Those who watch see it at once, even if a child of this process has the socket, too.
  void close() noexcept;

 private:
  UniqueFd socket_;
};

class Watch {
 public:
  Watch() = default;  ///< watches nothing
  /// Watches a device for which can_watch() is true. If the device is gone already, is_gone() says so.
  static Watch of(const Whereabouts& peer, std::uint64_t instance) noexcept;
  /// The kernel of this host would report the end of the device, or has.
  bool sees() const noexcept { return gone_ || connection_ || process_; }
  /// Also watches `tcp`, a TCP connection to the device on which the peer sends nothing more. The peer holds
  /// the other end as long as its link, so the connection shows the end of a process on another host, but not
  /// a broken network.
  void keep(UniqueFd tcp) noexcept { tcp_ = std::move(tcp); }
  /// The device is closed, or its process has ended.
  bool is_gone() noexcept;

 private:
  UniqueFd connection_;  // to the peer's door
  UniqueFd process_;     // a pidfd
  UniqueFd tcp_;
  bool gone_ = false;
};

}  // namespace stria::uct
