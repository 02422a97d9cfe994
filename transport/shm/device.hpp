// A device: the contract's calls, and the order in which its parts are made, driven and taken apart.
//
//   Shared      what links use as well: the device's segment (Home), its cells, the windows that peers took
//   here Connector   brings links up, and to their windows ──► Peers  has the links, by worker and by slot
//   here Receiver    delivers what came by windows and inbox          KeyMaker  makes keys, and ends them
//   Sharing     gives windows of idle peers to busy ones ──► Ends  takes links down
//
// A link (link.hpp) knows of these no more than Shared.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/contract.hpp"
#include "transport/shm/connector.hpp"
#include "transport/shm/ends.hpp"
#include "transport/shm/key_maker.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/peers.hpp"
#include "transport/shm/receiver.hpp"
#include "transport/shm/shared.hpp"
#include "transport/shm/sharing.hpp"

namespace stria::shm {

/// One thread at a time. progress() and check() must not be called from an upcall; sends may.
class Device {
 public:
  /// Errors: invalid (a STRIA_SHM_* value), io_error (the system refused; names what).
  static Result<std::unique_ptr<Device>> open(const transport::DeviceParams& params);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// From here on nothing is delivered and nothing sent. Waits until peers took out what was sent to them,
  /// are closed themselves or dead, at most timeout_ms.
  void close(int timeout_ms) noexcept;
  void capabilities(transport::Capabilities& out) noexcept;
  std::uint32_t address(void* buffer, std::uint32_t bytes) noexcept;
  /// The link is usable at once unless the peer's inbox is full. Errors: invalid, unreachable, io_error.
  Result<Link*> connect(const void* address, std::uint32_t bytes, void* peer, int low_latency);

  unsigned progress(unsigned budget) noexcept;
  /// Takes down links whose peer closed, died (peer_failed) or refused us (unreachable), after draining them.
  void check() noexcept { ends_.check(); }
  int event_fd() noexcept { return shared_.wakeup.fd(); }
  Status arm() noexcept;

  Status fast_register(const Link* /*link*/, const transport::Payload& memory, unsigned access,
                       transport::Key& key) noexcept {
    return keys_.fast_register(memory, access, key);
  }
  Status invalidate(const transport::Key& key) noexcept;
  /// Windows that each progress() looks at, and all that peers opened.
  std::uint32_t windows_polled() const noexcept { return shared_.windows.hot(); }
  std::uint32_t windows_open() const noexcept { return shared_.windows.size(); }

 private:
  explicit Device(const transport::DeviceParams& params);
  Result<void> start(const transport::DeviceParams& params);
  bool is_quiet() const noexcept;
  [[gnu::cold, gnu::noinline]] void do_rare() noexcept;
  [[gnu::cold, gnu::noinline]] void disarm() noexcept;

  Shared shared_;
  Connector connector_{shared_};
  KeyMaker keys_;
  Peers peers_{{shared_, connector_, keys_, receiver_}};
  Receiver receiver_{{shared_, keys_, peers_}};
  Sharing sharing_{shared_, connector_, peers_.links()};
  Ends ends_{{shared_, connector_, peers_, receiver_, sharing_}};
  bool closed_ = false;
  std::uint32_t sleep_ = 0;  // the number of the last one, see wakeup.hpp
};

}  // namespace stria::shm
