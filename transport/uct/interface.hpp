// Opens an interface of UCX's transport layer (UCT), with the UCX worker that drives it, and reads the
// interface's limits. UCX reads its own configuration, the UCX_ variables of the environment.
#pragma once

#include <uct/api/uct.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "transport/uct/domain.hpp"
#include "transport/uct/packets.hpp"
#include "transport/uct/settings.hpp"

namespace stria::uct {

/// What the interface can do for gets, or for puts. A request accesses one run of the peer's memory. A zcopy
/// request goes straight from memory to memory, any other by a buffer of UCX.
struct Reach {
  std::uint64_t zcopy_least = 0;  ///< least bytes of a zcopy request
  std::uint64_t zcopy_most = 0;   ///< most bytes of a zcopy request; 0: there are none
  std::size_t zcopy_runs = 0;     ///< most runs of local memory in a zcopy request
  std::uint64_t copy_most = 0;    ///< most bytes of a request by a buffer of UCX; 0: there are none
  /// Requests of any number of bytes are possible, by zcopy or by a buffer.
  bool is_whole() const noexcept { return zcopy_most > 0 && zcopy_runs > 0 && copy_most >= zcopy_least; }
};

/// What the interface can do.
struct Limits {
  std::uint32_t short_max = 0;   ///< most payload of a short packet, in bytes; 0: it sends none
  std::uint32_t copied_max = 0;  ///< most payload of a packet in a buffer of UCX, in bytes
  std::uint32_t eager_max = 0;   ///< most payload of a buffered packet: copied_max, or more (pack_buffer.hpp)
  std::uint32_t zcopy_max = 0;   ///< most payload of a packet out of the caller's memory; 0: it sends none
  std::uint32_t zcopy_runs = 0;  ///< most runs of memory in a packet out of the caller's memory
  std::uint32_t latency_ns = 0;  ///< latency of the interface, as UCX estimates it
  std::uint32_t peers = 0;       ///< most endpoints that it can have
  bool tells_failures = false;   ///< UCX reports the failure of a peer
  bool wakes = false;            ///< has a descriptor that every packet makes readable
  bool joins = false;        ///< an endpoint is joined with one of the peer, not connected to an interface
  bool asks = false;         ///< can probe on request whether a peer is alive (uct_ep_check)
  bool keeps_alive = false;  ///< probes peers by itself, at one end of a connection at least
  bool in_memory = false;    ///< shared memory: what was sent is in memory that the peer has
  bool keys = false;         ///< memory can be registered for peers, and peers can get it
  bool puts = false;         ///< with keys: peers can put, too
  bool atomics = false;      ///< with keys: the adapter performs atomics of 64 bits
  Reach get, put;
};

struct DestroyEndpoint {
  void operator()(uct_ep_h endpoint) const noexcept { uct_ep_destroy(endpoint); }
};
using OwnEndpoint = std::unique_ptr<uct_ep, DestroyEndpoint>;

class Interface {
 public:
  /// Upcalls out of functions of UCX, in the thread that called UCX. `self` is their first argument.
  struct Calls {
    void* self;
    /// A message arrived. Returns whether the receiver keeps `bytes`, which only a message that `lasts`
    /// allows: its bytes then stay as they are until Kept gives them back to UCX.
    bool (*arrived)(void* self, Am id, std::span<const std::byte> bytes, bool lasts) noexcept;
    /// The endpoint cannot be used any more.
    void (*failed)(void* self, uct_ep_h endpoint, ucs_status_t why) noexcept;
  };
  /// Opens the transport and device of `settings`; if they name no transport, the best one that no other
  /// provider of stria serves (unserved.hpp). Errors: unsupported, unreachable or io_error; the text
  /// names what failed and what UCX says.
  static Result<std::unique_ptr<Interface>> open(const Settings& settings, const Calls& calls);
  ~Interface();
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  Domain& domain() noexcept { return *domain_; }
  const std::string& transport() const noexcept { return domain_->transport(); }
  const std::string& device() const noexcept { return domain_->device(); }
  const Limits& limits() const noexcept { return limits_; }
  Result<std::vector<std::byte>> device_address() const;
  Result<std::vector<std::byte>> interface_address() const;

  /// Whether UCX can reach a peer with this device address and interface address.
  bool reaches(std::span<const std::byte> device, std::span<const std::byte> interface) const noexcept;
  Result<uct_ep_h> connect(std::span<const std::byte> device, std::span<const std::byte> interface) const;
  // For transports that join endpoints pairwise.
  /// Makes an endpoint that is not joined yet.
  Result<OwnEndpoint> make_endpoint() const;
  Result<std::vector<std::byte>> endpoint_address(uct_ep_h endpoint) const;
  /// Joins `endpoint` with an endpoint of the peer. `device`: the peer's device address.
  Result<void> join(uct_ep_h endpoint, std::span<const std::byte> device,
                    std::span<const std::byte> peer_endpoint) const;
  /// Connects the interface to itself, so that the adapter can access this process's own memory. Returns the
  /// endpoint to use, and the endpoint that it is joined with (null where endpoints are not joined).
  Result<std::array<OwnEndpoint, 2>> connect_to_itself() const;
  /// Returns how many events UCX handled.
  unsigned progress() noexcept { return uct_worker_progress(worker_); }
  /// Everything that was sent by any endpoint has left this process.
  bool is_flushed() noexcept { return uct_iface_flush(handle_, 0, nullptr) == UCS_OK; }
  int event_fd() const noexcept { return event_fd_; }  ///< -1: none
  /// Asks for event_fd() to become readable at the next event. False: an event is there already, or UCX
  /// cannot arm the descriptor.
  bool arm() noexcept;

 private:
  Interface() = default;
  static Result<std::unique_ptr<Interface>> open_named(const Wanted& wanted, bool joins, const Calls& calls);
  std::string name() const { return transport() + "/" + device(); }
  Result<void> start(const Calls& calls);
  Result<void> open_handle();
  Result<void> read_limits();
  void read_bulk() noexcept;
  void read_reach() noexcept;
  template <Am kId>
  static ucs_status_t take(void* self, void* data, std::size_t length, unsigned flags) noexcept;

  Calls calls_{};
  std::unique_ptr<Domain> domain_;  // closed after the handles below, which use it
  ucs_async_context_t* async_ = nullptr;
  uct_worker_h worker_ = nullptr;
  uct_iface_h handle_ = nullptr;
  uct_iface_attr_t about_{};
  Limits limits_;
  bool joins_if_it_can_ = false;
  int event_fd_ = -1;
};

}  // namespace stria::uct
