// An open interface of UCX's transport layer: the worker that drives it, and what it says of itself. All is
// configured as the user has configured UCX (its UCX_ variables), through UCX's own functions.
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

/// What the interface can do for gets, or for puts. Each request is for one run of the peer's memory.
struct Reach {
  std::uint64_t zcopy_least = 0;  ///< bytes that go straight from memory to memory
  std::uint64_t zcopy_most = 0;   ///< 0: none do
  std::size_t zcopy_runs = 0;     ///< of local memory in one request
  std::uint64_t copy_most = 0;    ///< bytes that go by a buffer of UCX; 0: none do
  /// Any number of bytes can go.
  bool is_whole() const noexcept { return zcopy_most > 0 && zcopy_runs > 0 && copy_most >= zcopy_least; }
};

/// What the interface can do.
struct Limits {
  std::uint32_t short_max = 0;   ///< payload of a short packet; 0: it sends none
  std::uint32_t eager_max = 0;   ///< payload of a buffered packet
  std::uint32_t zcopy_max = 0;   ///< payload of a packet out of the caller's memory; 0: it sends none
  std::uint32_t zcopy_runs = 0;  ///< of memory in one such packet
  std::uint32_t latency_ns = 0;  ///< of a short packet, as UCX estimates it
  std::uint32_t peers = 0;       ///< that it can be connected to
  bool tells_failures = false;   ///< of peers
  bool wakes = false;            ///< has a descriptor that every packet makes readable
  bool joins = false;            ///< endpoints are joined pairwise, and not connected to an interface
  bool asks = false;             ///< looks whether a peer is there when it is asked to
  bool keeps_alive = false;      ///< looks by itself, at one end of a connection at least
  bool in_memory = false;        ///< peers have what was sent in memory of their own
  bool keys = false;             ///< memory is registered for peers, and they get it
  bool puts = false;             ///< with keys: they put as well
  bool atomics = false;          ///< with keys: by an adapter, 64 bits
  Reach get, put;
};

struct DestroyEndpoint {
  void operator()(uct_ep_h endpoint) const noexcept { uct_ep_destroy(endpoint); }
};
using OwnEndpoint = std::unique_ptr<uct_ep, DestroyEndpoint>;

class Interface {
 public:
  /// What UCX calls, with `self`. Both are called by the thread that calls UCX.
  struct Calls {
    void* self;
    /// `lasts`: the bytes stay as they are after the call if it answers true, until Kept gives them back.
    bool (*arrived)(void* self, Am id, std::span<const std::byte> bytes, bool lasts) noexcept;
    void (*failed)(void* self, uct_ep_h endpoint, ucs_status_t why) noexcept;
  };
  /// Errors: unsupported, invalid or io_error, naming transport, device and what UCX says.
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

  bool reaches(std::span<const std::byte> device, std::span<const std::byte> interface) const noexcept;
  Result<uct_ep_h> connect(std::span<const std::byte> device, std::span<const std::byte> interface) const;
  /// For transports that join endpoints pairwise: one that is not joined yet, its address, and joining it.
  Result<OwnEndpoint> make_endpoint() const;
  Result<std::vector<std::byte>> endpoint_address(uct_ep_h endpoint) const;
  Result<void> join(uct_ep_h endpoint, std::span<const std::byte> device,
                    std::span<const std::byte> peer_endpoint) const;
  /// For what the adapter does to this process's own memory: an endpoint, and the one that it is joined with,
  /// or none.
  Result<std::array<OwnEndpoint, 2>> connect_to_itself() const;
  /// Returns how many events UCX handled.
  unsigned progress() noexcept { return uct_worker_progress(worker_); }
  /// What was sent by all endpoints is out of this process's hands.
  bool is_flushed() noexcept { return uct_iface_flush(handle_, 0, nullptr) == UCS_OK; }
  int event_fd() const noexcept { return event_fd_; }  ///< -1: none
  /// False: something waits already.
  bool arm() noexcept;

 private:
  Interface() = default;
  std::string name() const { return transport() + "/" + device(); }
  Result<void> start(const Calls& calls);
  Result<void> open_handle();
  Result<void> read_limits();
  void read_bulk() noexcept;
  void read_reach() noexcept;
  template <Am kId>
  static ucs_status_t take(void* self, void* data, std::size_t length, unsigned flags) noexcept;

  Calls calls_{};
  std::unique_ptr<Domain> domain_;  // goes last
  ucs_async_context_t* async_ = nullptr;
  uct_worker_h worker_ = nullptr;
  uct_iface_h handle_ = nullptr;
  uct_iface_attr_t about_{};
  Limits limits_;
  bool joins_if_it_can_ = false;
  int event_fd_ = -1;
};

}  // namespace stria::uct
