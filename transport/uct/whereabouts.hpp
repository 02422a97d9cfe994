// Where a device lives, and whether it still does. UCX's shared-memory transports never tell that a peer is
// gone, and a transport over a network cannot tell a dead process from a broken cable; on one host the kernel
// can, of any peer:
//
//   Door    of a device: an abstract unix socket that listens and is never answered. It closes with the
//   device. Watch   of a peer: a connection to the peer's door, which waits in the door's queue for ever and
//   is reset
//           when the door closes, and a descriptor of the peer's process. A child of fork may keep the
//           socket open after its parent died, so the process is watched as well.
#pragma once

#include <cstdint>
#include <utility>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/system.hpp"

namespace stria::uct {

/// As it travels in addresses.
struct Whereabouts {
  std::uint64_t host = 0;       ///< of the running system; 0: not known
  std::uint64_t started = 0;    ///< when the process started, in ticks since the system did
  std::uint32_t pid_space = 0;  ///< the namespace of `pid`; 0: not known
  std::uint32_t net_space = 0;  ///< the namespace in which the door has its name; 0: not known
  std::uint32_t pid = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Whereabouts) == 32);

Whereabouts own_whereabouts() noexcept;
/// A process of one of these can watch one of the other.
bool can_watch(const Whereabouts& one, const Whereabouts& other) noexcept;

class Door {
 public:
  Door() = default;
  static Result<Door> open(std::uint64_t instance);
  Door(Door&&) noexcept = default;
  Door& operator=(Door&&) noexcept = default;
  ~Door() { close(); }
  /// Tells those who watch, also when a child of this process has the socket as well.
  void close() noexcept;

 private:
  UniqueFd socket_;
};

class Watch {
 public:
  Watch() = default;  ///< that knows nothing
  /// Of a device that can_watch allows. Its owner may be gone already.
  static Watch of(const Whereabouts& peer, std::uint64_t instance) noexcept;
  /// The kernel of this host would tell of the end.
  bool sees() const noexcept { return gone_ || connection_ || process_; }
  /// A TCP connection to the device, on which nothing comes but its end. The peer holds the other end as long
  /// as its link, so the connection tells of the end of a process on another host; of a broken network it
  /// does not.
  void keep(UniqueFd tcp) noexcept { tcp_ = std::move(tcp); }
  /// The device is closed, or its process has ended.
  bool is_gone() noexcept;

 private:
  UniqueFd connection_;
  UniqueFd process_;
  UniqueFd tcp_;
  bool gone_ = false;
};

}  // namespace stria::uct
