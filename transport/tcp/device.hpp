// One worker's device of the tcp provider: the calls of the provider contract, and the order in which the
// parts of the device are made, driven and taken apart.
//
//   Events (epoll) ──► Receiver ──► Links ──► the worker's sink
//                          └──────► Peers     dials, the door, handshakes
//
// Threads: one at a time, under the worker's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "transport/contract.hpp"
#include "transport/tcp/address.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/links.hpp"
#include "transport/tcp/peers.hpp"
#include "transport/tcp/receiver.hpp"
#include "transport/tcp/settings.hpp"

namespace stria::tcp {

class Device {
 public:
  // The provider contract (stria/provider.h).
  static Result<std::unique_ptr<Device>> open(const transport::DeviceParams& params);
  void close(int timeout_ms) noexcept;
  void capabilities(transport::Capabilities& out) const noexcept;
  std::uint32_t address(void* buffer, std::uint32_t bytes) const noexcept;
  Result<Link*> connect(const void* address, std::uint32_t bytes, void* peer, int low_latency);
  unsigned progress(unsigned budget) noexcept;
  void check() noexcept;
  int event_fd() const noexcept { return shared_.events.descriptor(); }
  Status arm() noexcept;
  Status fast_register(const Link* link, const transport::Payload& memory, unsigned access,
                       transport::Key& key) noexcept;
  Status invalidate(const transport::Key& key) noexcept { return shared_.keys.end(key); }

 private:
  Device(const Settings& settings, const transport::DeviceParams& params);
  Result<void> start(const Settings& settings);
  bool has_nothing_to_do() const noexcept;
  void send_held() noexcept;
  unsigned handle(unsigned budget) noexcept;
  unsigned go_on(unsigned budget) noexcept;
  void bury() noexcept;
  void give_up_silent() noexcept;

  const std::vector<std::byte> secret_;
  Address self_;
  Handshake handshake_;
  std::vector<std::byte> address_;
  Shared shared_;
  Links links_;
  Peers peers_;
  Receiver receiver_;
  unsigned handled_by_check_ = 0;         // events that the next calls of progress() are to count
  std::uint64_t looked_for_silence_ = 0;  // when silent hosts were last looked for, of now_ms()
  // Something came for the door, a guest, a dial or the timer, and peers_.step() is due.
  bool handshakes_wait_ = false;
};

}  // namespace stria::tcp
