// The uct provider's device of one worker: implements the device calls of the provider contract, and fixes
// the order in which the parts of the device are made, driven and taken apart.
//
//   Interface (UCX) ──► Receiver ──► the worker's sink
//                           └──────► Peers ──► Links     hello, welcome, bye
//   Ends takes a link down when every packet that arrived by the link has been delivered
//
// Threads: only the worker calls the device. UCX runs a thread that accepts connections; that thread calls
// nothing of the device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/contract.hpp"
#include "transport/uct/ends.hpp"
#include "transport/uct/handshake.hpp"
#include "transport/uct/interface.hpp"
#include "transport/uct/joiner.hpp"
#include "transport/uct/keys.hpp"
#include "transport/uct/link.hpp"
#include "transport/uct/links.hpp"
#include "transport/uct/moves.hpp"
#include "transport/uct/operations.hpp"
#include "transport/uct/peers.hpp"
#include "transport/uct/receiver.hpp"
#include "transport/uct/settings.hpp"
#include "transport/uct/shared.hpp"
#include "transport/uct/whereabouts.hpp"

namespace stria::uct {

class Device {
 public:
  // Calls of the provider contract (transport/contract.hpp).
  static Result<std::unique_ptr<Device>> open(const transport::DeviceParams& params);
  void close(int timeout_ms) noexcept;
  void capabilities(transport::Capabilities& out) const noexcept;
  std::uint32_t address(void* buffer, std::uint32_t bytes) const noexcept;
  Result<Link*> connect(const void* address, std::uint32_t bytes, void* peer, int low_latency);
  Status fast_register(Link* link, const transport::Payload& memory, unsigned access,
                       transport::Key& key) noexcept {
    return shared_.limits.keys ? keys_.add(link, memory, access, key) : Status::unsupported;
  }
  Status invalidate(const transport::Key& key) noexcept { return keys_.end(key); }
  unsigned progress(unsigned budget) noexcept;
  void check() noexcept;
  int event_fd() const noexcept { return events_ ? events_.get() : -1; }
  Status arm() noexcept;
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

 private:
  Device(const Settings& settings, const transport::DeviceParams& params);
  Result<void> start(const Settings& settings);
  Result<void> make_address();
  Result<void> make_events();
  /// Logs which transport and which paths the device uses. `why`: why it is this transport.
  void report(std::string_view why) const;
  void disarm() noexcept;
  void leave(int timeout_ms) noexcept;

  const transport::Sink& sink_;
  const Whereabouts here_;
  const Handshake handshake_;
  Door door_;
  std::unique_ptr<Interface> interface_;
  std::vector<std::byte> address_;
  Shared shared_;
  Links links_;
  Operations operations_;
  Moves moves_;
  Keys keys_;
  Ends ends_;
  Joiner joiner_;
  Peers peers_;
  Receiver receiver_;
  UniqueFd events_;  // epoll over the descriptors of interface_ and joiner_, and the wakeup descriptor
};

}  // namespace stria::uct
