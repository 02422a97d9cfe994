// The shm device of one worker: implements the device calls of the provider contract, and fixes the order in
// which the parts of the device are made, driven and taken apart.
//
//   Shared      what links use, too: the device's segment, its cells, the windows that peers took there
//   Connector   brings links up, and moves them to windows
//   Peers       has the links, by worker and by peer slot
//   KeyMaker    makes keys, and ends them
//   Receiver    delivers what came through windows and inbox
//   WindowSharing     gives windows of idle peers to busy peers
//   Teardown    takes links down
//
// Of these parts a link (link.hpp) knows only Shared.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/contract.hpp"
#include "transport/shm/connector.hpp"
#include "transport/shm/key_maker.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/peers.hpp"
#include "transport/shm/receiver.hpp"
#include "transport/shm/shared.hpp"
#include "transport/shm/teardown.hpp"
#include "transport/shm/window_sharing.hpp"

namespace stria::shm {

/// Threads: one thread at a time. progress() and check() must not be called from an upcall of the sink;
/// sends may.
class Device {
 public:
  /// Opens a device. Errors: invalid (the parameters, or a STRIA_SHM_* value); io_error (the system refused
  /// the segment or a thread); unreachable (STRIA_SHM_ATTACH=socket, and the system refused the door's
  /// socket). The text names the cause.
  static Result<std::unique_ptr<Device>> open(const transport::DeviceParams& params);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Closes the device: nothing is delivered or sent from now on. Waits at most timeout_ms until each peer
  /// can receive without this process what was sent to it, or is closed or dead.
  void close(int timeout_ms) noexcept;
  void capabilities(transport::Capabilities& out) noexcept;
  std::uint32_t address(void* buffer, std::uint32_t bytes) noexcept;
  /// Returns the link to the device of `address`, and makes it if there is none. A new link can send at once
  /// unless the peer's inbox is full. Errors: invalid (no shm address), unreachable, peer_failed (the peer's
  /// process ended, or its device closed).
  Result<Link*> connect(const void* address, std::uint32_t bytes, void* peer, int low_latency);

  unsigned progress(unsigned budget) noexcept;
  /// Takes down links whose peer closed or died (peer_failed), refused this device (unreachable), or wrote a
  /// record that makes no sense (io_error); first delivers what arrived. Looks after peer slots and windows.
  void check() noexcept { teardown_.check(); }
  int event_fd() noexcept { return shared_.wakeup.fd(); }
  Status arm() noexcept;

  Status fast_register(const Link* /*link*/, const transport::Payload& memory, unsigned access,
                       transport::Key& key) noexcept {
    return keys_.fast_register(memory, access, key);
  }
  Status invalidate(const transport::Key& key) noexcept;
  /// Number of windows that each progress() polls, and of all windows that peers took here and use.
  std::uint32_t windows_polled() const noexcept { return shared_.windows.polled().hot(); }
  std::uint32_t windows_open() const noexcept { return shared_.windows.polled().size(); }

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
  WindowSharing sharing_{shared_, connector_, peers_.links()};
  Teardown teardown_{{shared_, connector_, peers_, receiver_, sharing_}};
  bool closed_ = false;
  std::uint32_t sleep_ = 0;  // number of the last sleep (wakeup.hpp); skips 0
};

}  // namespace stria::shm
