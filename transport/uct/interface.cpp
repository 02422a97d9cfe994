#include "transport/uct/interface.hpp"

#include <poll.h>
#include <ucs/async/async_fwd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/format.hpp"
#include "base/signal_block.hpp"
#include "transport/uct/pack_buffer.hpp"
#include "transport/uct/released.hpp"
#include "transport/uct/unserved.hpp"

namespace stria::uct {
namespace {

// Most payload of a packet, whatever UCX allows. Unit: bytes.
constexpr std::uint32_t kShortMost = 1024;        // a short packet is assembled on the stack (link.cpp)
constexpr std::uint32_t kEagerMost = 64 * 1024;   // a longer message is better sent by rendezvous
constexpr std::uint32_t kBulkMost = 1024 * 1024;  // of a packet out of the caller's memory

const uct_device_addr_t* device_part(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const uct_device_addr_t*>(bytes.data());
}
const uct_iface_addr_t* interface_part(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const uct_iface_addr_t*>(bytes.data());
}

}  // namespace

Result<std::unique_ptr<Interface>> Interface::open(const Settings& settings, const Calls& calls) {
  const SignalBlock quiet;  // UCX's thread is started here
  const bool joins = settings.join_endpoints;
  if (!settings.transport.empty()) return open_named({settings.transport, settings.device}, joins, calls);
  const auto all = Domain::list_all();
  if (!all) return all.error();
  std::unique_ptr<Interface> out;
  const auto opened = open_unserved(*all, settings.device, [&](const Wanted& candidate) -> Result<void> {
    auto made = open_named(candidate, joins, calls);
    if (!made) return std::move(made).error();
    out = *std::move(made);
    return {};
  });
  if (!opened) return opened.error();
  return out;
}

Result<std::unique_ptr<Interface>> Interface::open_named(const Wanted& wanted, bool joins,
                                                         const Calls& calls) {
  std::unique_ptr<Interface> made(new Interface);
  made->joins_if_it_can_ = joins;
  auto domain = Domain::find(wanted);
  if (!domain) return std::move(domain).error();
  made->domain_ = *std::move(domain);
  if (auto started = made->start(calls); !started) return std::move(started).error();
  return made;
}

Interface::~Interface() {
  if (handle_ != nullptr) uct_iface_close(handle_);
  if (worker_ != nullptr) uct_worker_destroy(worker_);
  if (async_ != nullptr) ucs_async_context_destroy(async_);
}

/// The handler that UCX calls for each active message with the number kId.
template <Am kId>
ucs_status_t Interface::take(void* self, void* data, std::size_t length, unsigned flags) noexcept {
  const Calls& calls = static_cast<Interface*>(self)->calls_;
  const bool lasts = (flags & UCT_CB_PARAM_FLAG_DESC) != 0;
  const bool kept = calls.arrived(calls.self, kId, {static_cast<const std::byte*>(data), length}, lasts);
  return kept ? UCS_INPROGRESS : UCS_OK;  // OK: UCX may use the memory again
}

Result<void> Interface::start(const Calls& calls) {
  calls_ = calls;
  // A thread of UCX accepts connections, so that peers can connect to a process that computes.
  if (const ucs_status_t status = ucs_async_context_create(UCS_ASYNC_MODE_THREAD_MUTEX, &async_);
      status != UCS_OK)
    return failure(status, "no context for asynchronous events");
  if (const ucs_status_t status = uct_worker_create(async_, UCS_THREAD_MODE_SERIALIZED, &worker_);
      status != UCS_OK)
    return failure(status, "no worker");
  if (auto opened = open_handle(); !opened) return opened;
  if (auto fits = read_limits(); !fits) return fits;
  const auto handle = [this](Am id, uct_am_callback_t call) {
    return uct_iface_set_am_handler(handle_, static_cast<std::uint8_t>(id), call, this, 0);
  };
  for (const ucs_status_t status :
       {handle(Am::short_packet, take<Am::short_packet>), handle(Am::buffered, take<Am::buffered>),
        handle(Am::closing, take<Am::closing>), handle(Am::control, take<Am::control>)})
    if (status != UCS_OK) return failure(status, fmt::format("{} takes no handler", name()));
  uct_iface_progress_enable(handle_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  return {};
}

Result<void> Interface::open_handle() {
  uct_iface_config_t* config = nullptr;
  if (const ucs_status_t status =
          uct_md_iface_config_read(domain_->handle(), transport().c_str(), nullptr, nullptr, &config);
      status != UCS_OK)
    return failure(status, fmt::format("UCX's configuration of {} cannot be read", transport()));
  const UctConfig held(config);
  uct_iface_params_t params{};
  params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
                      UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
                      UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS | UCT_IFACE_PARAM_FIELD_FEATURES;
  params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  params.mode.device.tl_name = transport().c_str();
  params.mode.device.dev_name = device().c_str();
  params.err_handler_arg = this;
  params.err_handler = [](void* self, uct_ep_h endpoint, ucs_status_t status) {
    const Calls& calls = static_cast<Interface*>(self)->calls_;
    calls.failed(calls.self, endpoint, status);
    return UCS_OK;  // handled: UCX need not report the failure itself
  };
  params.features = UCT_IFACE_FEATURE_AM;
  if (domain_->key_bytes() > 0)
    params.features |= UCT_IFACE_FEATURE_GET | UCT_IFACE_FEATURE_PUT | UCT_IFACE_FEATURE_AMO64;
  if (const ucs_status_t status = uct_iface_open(domain_->handle(), worker_, &params, config, &handle_);
      status != UCS_OK)
    return failure(status, fmt::format("{} cannot be opened", name()));
  if (const ucs_status_t status = uct_iface_query(handle_, &about_); status != UCS_OK)
    return failure(status, fmt::format("{} does not say what it can", name()));
  return {};
}

Result<void> Interface::read_limits() {
  const std::uint64_t flags = about_.cap.flags, events = about_.cap.event_flags;
  const auto lacks = [this](const char* what) {
    return Error{Status::unsupported, fmt::format("uct: {} {}", name(), what)};
  };
  const bool to_interface = (flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE) != 0;
  const bool to_endpoint = (flags & UCT_IFACE_FLAG_CONNECT_TO_EP) != 0 && about_.ep_addr_len <= kEndpointMost;
  if (!to_interface && !to_endpoint) return lacks("connects in no way that this provider knows");
  limits_.joins = to_endpoint && (!to_interface || joins_if_it_can_);
  if ((flags & UCT_IFACE_FLAG_AM_BCOPY) == 0) return lacks("has no buffered active messages");
  if ((flags & UCT_IFACE_FLAG_AM_DUP) != 0) return lacks("may deliver a message twice");
  if (about_.cap.am.max_bcopy < kOverhead + sizeof(Hello)) return lacks("takes too short messages");
  limits_.copied_max =
      static_cast<std::uint32_t>(std::min<std::size_t>(about_.cap.am.max_bcopy - kOverhead, kEagerMost));
  const std::size_t shorts = (flags & UCT_IFACE_FLAG_AM_SHORT) != 0 ? about_.cap.am.max_short : 0;
  if (shorts >= kOverhead + STRIA_SMALL_PAYLOAD)
    limits_.short_max = static_cast<std::uint32_t>(std::min<std::size_t>(shorts - kOverhead, kShortMost));
  read_bulk();
  limits_.eager_max = std::max(limits_.copied_max, std::min(limits_.zcopy_max, kPackedMost));
  read_reach();
  limits_.latency_ns = static_cast<std::uint32_t>(std::clamp(about_.latency.c * 1e9, 0.0, 1e9));
  limits_.peers = static_cast<std::uint32_t>(std::min<std::size_t>(about_.max_num_eps, UINT32_MAX));
  limits_.tells_failures = (flags & UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE) != 0;
  limits_.asks = (flags & UCT_IFACE_FLAG_EP_CHECK) != 0;
  limits_.keeps_alive = (flags & UCT_IFACE_FLAG_EP_KEEPALIVE) != 0;
  limits_.in_memory = domain_->type() == UCT_DEVICE_TYPE_SHM;
  constexpr std::uint64_t kSleeps = UCT_IFACE_FLAG_EVENT_FD | UCT_IFACE_FLAG_EVENT_RECV;
  limits_.wakes = (events & kSleeps) == kSleeps && uct_iface_event_fd_get(handle_, &event_fd_) == UCS_OK;
  if (!limits_.wakes) event_fd_ = -1;
  return {};
}

/// Reads the limits of packets that are sent out of the caller's memory.
void Interface::read_bulk() noexcept {
  const auto& am = about_.cap.am;
  if ((about_.cap.flags & UCT_IFACE_FLAG_AM_ZCOPY) == 0 || am.max_hdr < kOverhead ||
      domain_->needs_registration() || am.max_zcopy <= limits_.copied_max + kOverhead)
    return;
  limits_.zcopy_max = static_cast<std::uint32_t>(std::min<std::size_t>(am.max_zcopy - kOverhead, kBulkMost));
  limits_.zcopy_runs = static_cast<std::uint32_t>(std::min<std::size_t>(am.max_iov, UINT32_MAX));
}

/// Reads the limits of gets, puts and atomics. Where peers need no key to access memory, the provider offers
/// none of them, because an access that needs no key cannot be revoked.
void Interface::read_reach() noexcept {
  if (domain_->key_bytes() == 0) return;
  const std::uint64_t flags = about_.cap.flags;
  const auto reach = [flags](const auto& cap, std::uint64_t zcopy, std::uint64_t copy) {
    Reach out;
    if ((flags & zcopy) != 0) out = {cap.min_zcopy, cap.max_zcopy, cap.max_iov, 0};
    if ((flags & copy) != 0) out.copy_most = cap.max_bcopy;
    return out;
  };
  limits_.get = reach(about_.cap.get, UCT_IFACE_FLAG_GET_ZCOPY, UCT_IFACE_FLAG_GET_BCOPY);
  limits_.put = reach(about_.cap.put, UCT_IFACE_FLAG_PUT_ZCOPY, UCT_IFACE_FLAG_PUT_BCOPY);
  limits_.keys = limits_.get.is_whole();
  limits_.puts = limits_.keys && limits_.put.is_whole();
  constexpr std::uint64_t kOps = UCS_BIT(UCT_ATOMIC_OP_ADD) | UCS_BIT(UCT_ATOMIC_OP_CSWAP);
  limits_.atomics = limits_.keys && (flags & UCT_IFACE_FLAG_ATOMIC_DEVICE) != 0 &&
                    (about_.cap.atomic64.fop_flags & kOps) == kOps;
}

Result<std::vector<std::byte>> Interface::device_address() const {
  std::vector<std::byte> out(about_.device_addr_len + 1);  // the length may be 0: keeps data() valid
  const ucs_status_t status =
      uct_iface_get_device_address(handle_, reinterpret_cast<uct_device_addr_t*>(out.data()));
  if (status != UCS_OK) return failure(status, fmt::format("{} has no device address", name()));
  out.resize(about_.device_addr_len);
  return out;
}

Result<std::vector<std::byte>> Interface::interface_address() const {
  std::vector<std::byte> out(about_.iface_addr_len + 1);
  const ucs_status_t status = uct_iface_get_address(handle_, reinterpret_cast<uct_iface_addr_t*>(out.data()));
  if (status != UCS_OK) return failure(status, fmt::format("{} has no address", name()));
  out.resize(about_.iface_addr_len);
  return out;
}

Result<std::array<OwnEndpoint, 2>> Interface::connect_to_itself() const {
  auto device = device_address();
  if (!device) return std::move(device).error();
  std::array<OwnEndpoint, 2> out;
  if (!limits_.joins) {
    auto address = interface_address();
    if (!address) return std::move(address).error();
    auto made = connect(*device, *address);
    if (!made) return std::move(made).error();
    out[0].reset(*made);
    return out;
  }
  for (OwnEndpoint& endpoint : out) {
    auto made = make_endpoint();
    if (!made) return std::move(made).error();
    endpoint = *std::move(made);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto other = endpoint_address(out[1 - i].get());
    if (!other) return std::move(other).error();
    if (auto joined = join(out[i].get(), *device, *other); !joined) return std::move(joined).error();
  }
  return out;
}

bool Interface::reaches(std::span<const std::byte> device,
                        std::span<const std::byte> interface) const noexcept {
  return device.size() == about_.device_addr_len && interface.size() == about_.iface_addr_len &&
         uct_iface_is_reachable(handle_, device_part(device), interface_part(interface)) != 0;
}

Result<uct_ep_h> Interface::connect(std::span<const std::byte> device,
                                    std::span<const std::byte> interface) const {
  uct_ep_params_t params{};
  params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
  params.iface = handle_;
  params.dev_addr = device_part(device);
  params.iface_addr = interface_part(interface);
  uct_ep_h endpoint = nullptr;
  if (const ucs_status_t status = uct_ep_create(&params, &endpoint); status != UCS_OK)
    return failure(status, fmt::format("{} has no endpoint for the peer", name()));
  return endpoint;
}

Result<OwnEndpoint> Interface::make_endpoint() const {
  uct_ep_params_t params{};
  params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
  params.iface = handle_;
  uct_ep_h endpoint = nullptr;
  if (const ucs_status_t status = uct_ep_create(&params, &endpoint); status != UCS_OK)
    return failure(status, fmt::format("{} has no endpoint for a peer", name()));
  return OwnEndpoint(endpoint);
}

Result<std::vector<std::byte>> Interface::endpoint_address(uct_ep_h endpoint) const {
  std::vector<std::byte> out(about_.ep_addr_len + 1);
  const ucs_status_t status = uct_ep_get_address(endpoint, reinterpret_cast<uct_ep_addr_t*>(out.data()));
  if (status != UCS_OK) return failure(status, fmt::format("{} has no address of an endpoint", name()));
  out.resize(about_.ep_addr_len);
  return out;
}

Result<void> Interface::join(uct_ep_h endpoint, std::span<const std::byte> device,
                             std::span<const std::byte> peer_endpoint) const {
  if (peer_endpoint.size() != about_.ep_addr_len)
    return Error{Status::invalid, fmt::format("uct: a peer's endpoint has an address of {} bytes, of {}",
                                              peer_endpoint.size(), about_.ep_addr_len)};
  const ucs_status_t status = uct_ep_connect_to_ep(
      endpoint, device_part(device), reinterpret_cast<const uct_ep_addr_t*>(peer_endpoint.data()));
  if (status != UCS_OK)
    return failure(status, fmt::format("{} cannot join its endpoint with the peer's", name()));
  return {};
}

bool Interface::arm() noexcept {
  if (uct_iface_event_arm(handle_, UCT_EVENT_RECV | UCT_EVENT_SEND_COMP) != UCS_OK) return false;
  pollfd entry{event_fd_, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 0;
}

}  // namespace stria::uct
