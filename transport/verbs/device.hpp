// A worker's device: the calls of the provider contract, and the order in which the device's parts are made,
// driven and taken apart.
//
//   connector ── news ──► Peers ──► Links          the outcome of connecting, on the worker's thread
//   send queue of the adapter ──► Completions ──► the links' SendQueues ──► Moves
//   receive queue ──► Receiver ──► the worker's sink
//   Ends takes a link down when all of these are done with it
//
// Threads: the worker's thread drives all parts but the connector, which has a thread of its own
// (connector.hpp). Beside the connector's mailbox, both threads touch the pool of receive buffers, to which
// only the connector adds, and each connection, which has one owner at a time (connection.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/contract.hpp"
#include "transport/verbs/adapter.hpp"
#include "transport/verbs/buffers.hpp"
#include "transport/verbs/completions.hpp"
#include "transport/verbs/connector.hpp"
#include "transport/verbs/ends.hpp"
#include "transport/verbs/key_maker.hpp"
#include "transport/verbs/link.hpp"
#include "transport/verbs/links.hpp"
#include "transport/verbs/moves.hpp"
#include "transport/verbs/peers.hpp"
#include "transport/verbs/receiver.hpp"
#include "transport/verbs/shared.hpp"

namespace stria::verbs {

class Device {
 public:
  // The contract.
  static Result<std::unique_ptr<Device>> open(const transport::DeviceParams& params);
  /// Opens a device on an adapter that the caller made, and does not start the connector's thread, so that no
  /// connection comes or goes by itself: for tests with a stand-in.
  static Result<std::unique_ptr<Device>> open_on(std::unique_ptr<Adapter> adapter,
                                                 const transport::DeviceParams& params);
  void close(int timeout_ms) noexcept;
  void capabilities(transport::Capabilities& out) noexcept;
  std::uint32_t address(void* buffer, std::uint32_t bytes) noexcept;
  Result<Link*> connect(const void* address, std::uint32_t bytes, void* peer, int low_latency);
  void check() noexcept;
  int event_fd() noexcept { return events_.get(); }
  Status arm() noexcept;
  Status fast_register(Link* link, const transport::Payload& memory, unsigned access,
                       transport::Key& key) noexcept {
    return keys_.fast_register(link, memory, access, key);
  }
  Status invalidate(const transport::Key& key) noexcept { return keys_.invalidate(key); }
  unsigned progress(unsigned budget) noexcept;
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Counters& counters() const noexcept { return shared_.counters; }

  // The device's parts, for tests.
  Shared& shared() noexcept { return shared_; }
  Links& links() noexcept { return links_; }
  KeyMaker& keys() noexcept { return keys_; }
  Ends& ends() noexcept { return ends_; }
  ReceiveBuffers& receives() noexcept { return receives_; }
  Connector& connector() noexcept { return connector_; }

 private:
  Device(std::unique_ptr<Adapter> adapter, const Settings& settings, const transport::DeviceParams& params);
  Result<void> open_pools();
  Result<void> start();
  void log_limits() const noexcept;
  void log_counts() const noexcept;
  void disarm() noexcept;

  const std::uint64_t worker_id_;
  Shared shared_;
  ReceiveBuffers receives_;
  Connector connector_;
  Links links_;
  Moves moves_;
  KeyMaker keys_;
  Peers peers_;
  Receiver receiver_;
  Completions completions_;
  Ends ends_;
  UniqueFd events_;  // the wakeup descriptor: an epoll over completions and news
  bool armed_ = false;
  bool closed_ = false;
};

}  // namespace stria::verbs
