#include "transport/verbs/adapter.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/format.hpp"

namespace stria::verbs {
namespace {

constexpr int kBacklog = 1024;
/// The connection manager picks a port that is free for RDMA. An iWARP device listens by TCP, where an
/// ordinary socket may have that port already; then another port is picked, so many times at most.
constexpr int kPortsTried = 64;
constexpr const char* kClassFolder = "/sys/class/infiniband";

/// Whether the kernel has an RDMA device. Reads a folder instead of asking rdma-core, which would load a
/// library for every kind of device there is.
bool any_device() {
  DIR* folder = ::opendir(kClassFolder);
  if (folder == nullptr) return false;
  bool found = false;
  while (const dirent* entry = ::readdir(folder)) found = found || entry->d_name[0] != '.';
  ::closedir(folder);
  return found;
}

std::string text_of(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const void* bytes = address.sa_family == AF_INET
                          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
                          : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  ::inet_ntop(address.sa_family, bytes, text, sizeof text);
  return text;
}

/// Whether an address is of this family, and neither loopback nor, with IPv6, link-local.
bool is_usable(const sockaddr& address, int family) {
  if (address.sa_family != family) return false;
  if (family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24) != 127;
  const in6_addr& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return !IN6_IS_ADDR_LOOPBACK(&ip) && !IN6_IS_ADDR_LINKLOCAL(&ip);
}

Error failed(const char* what) {
  return {Status::io_error, fmt::format("verbs: {}: {}", what, std::strerror(errno))};
}

}  // namespace

Result<std::unique_ptr<Adapter>> Adapter::open(const Settings& settings) {
  if (!any_device())
    return Error{Status::unreachable, fmt::format("verbs: no RDMA device ({} is empty)", kClassFolder)};
  std::unique_ptr<Adapter> adapter(new Adapter);
  if (auto found = adapter->find(settings); !found) return std::move(found).error();
  if (auto made = adapter->make_queues(settings); !made) return std::move(made).error();
  return adapter;
}

Adapter::~Adapter() {
  if (listener != nullptr) ::rdma_destroy_id(listener);
  if (srq != nullptr) ::ibv_destroy_srq(srq);
  if (send_cq != nullptr) ::ibv_destroy_cq(send_cq);
  if (recv_cq != nullptr) ::ibv_destroy_cq(recv_cq);
  if (completions != nullptr) ::ibv_destroy_comp_channel(completions);
  if (pd != nullptr) ::ibv_dealloc_pd(pd);
  if (channel != nullptr) ::rdma_destroy_event_channel(channel);
}

/// Tries to listen at an address of this host, by a port that the connection manager picks. `reason` is set
/// where it cannot be done.
Adapter::Listening Adapter::try_listening(const sockaddr& address, const std::string& wanted,
                                          std::string& reason) {
  rdma_cm_id* id = nullptr;
  if (::rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0) {
    reason = fmt::format("rdma_create_id: {}", std::strerror(errno));
    return Listening::impossible;
  }
  std::unique_ptr<rdma_cm_id, int (*)(rdma_cm_id*)> unused(id, ::rdma_destroy_id);
  std::memcpy(&local, &address, address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  if (::rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&local)) != 0 || id->verbs == nullptr)
    return Listening::other_device;
  const char* device = ::ibv_get_device_name(id->verbs->device);
  const std::string at = text_of(address);
  if (!wanted.empty() && wanted != device && wanted != at) return Listening::other_device;

  ibv_port_attr port{};
  if (::ibv_query_port(id->verbs, id->port_num, &port) != 0) {
    reason = fmt::format("{} ({}): ibv_query_port: {}", device, at, std::strerror(errno));
    return Listening::impossible;
  }
  if (port.state != IBV_PORT_ACTIVE) {
    reason = fmt::format("{} ({}): port {} is in state {}, not active", device, at, id->port_num,
                         ::ibv_port_state_str(port.state));
    return Listening::impossible;
  }
  if (::rdma_listen(id, kBacklog) != 0) {
    const int error = errno;
    reason = fmt::format("{} ({}): rdma_listen: {}", device, at, std::strerror(error));
    return error == EADDRINUSE ? Listening::port_taken : Listening::impossible;
  }
  listener = unused.release();
  context = listener->verbs;
  name = device;
  return Listening::yes;
}

/// Listens at an address of this host. False: the address belongs to no RDMA device or to none that is wanted
/// (`reason` stays as it is), or the device cannot be listened at (`reason` says why).
bool Adapter::listen_on(const sockaddr& address, const std::string& wanted, std::string& reason) {
  for (int ports = 0; ports != kPortsTried; ++ports) {
    const Listening now = try_listening(address, wanted, reason);
    if (now != Listening::port_taken) return now == Listening::yes;
  }
  reason += fmt::format(" by each of {} ports (net.ipv4.ip_local_port_range)", kPortsTried);
  return false;
}

Result<void> Adapter::find(const Settings& settings) {
  channel = ::rdma_create_event_channel();
  if (channel == nullptr) return failed("rdma_create_event_channel");
  ::fcntl(channel->fd, F_SETFL, ::fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return failed("getifaddrs");
  std::string reason;
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* entry = list; entry != nullptr && listener == nullptr; entry = entry->ifa_next)
      if (entry->ifa_addr != nullptr && is_usable(*entry->ifa_addr, family))
        listen_on(*entry->ifa_addr, settings.device, reason);
  ::freeifaddrs(list);
  if (listener != nullptr) return {};
  if (!reason.empty()) return Error{Status::unreachable, fmt::format("verbs: {}", reason)};
  if (settings.device.empty())
    return Error{Status::unreachable, "verbs: no interface of an RDMA device has an IP address"};
  return Error{
      Status::unreachable,
      fmt::format("verbs: STRIA_VERBS_DEVICE={} names no RDMA device, or address of one", settings.device)};
}

Result<void> Adapter::make_queues(const Settings& settings) {
  hw::VerbsAnswers answers;
  if (::ibv_query_device_ex(context, nullptr, &answers.device) != 0) return failed("ibv_query_device_ex");
  answers.transport = context->device->transport_type;
  traits = hw::traits_of(answers);
  ibv_port_attr port{};
  if (::ibv_query_port(context, listener->port_num, &port) != 0) return failed("ibv_query_port");
  // A slow device must move a request of this length before its peer would be given up as dead.
  constexpr std::uint32_t kMostMessage = 1u << 26;
  max_message = std::min(port.max_msg_sz == 0 ? kMostMessage : port.max_msg_sz, kMostMessage);

  // Receive buffers of one link (packets_beside_credits).
  const std::uint32_t receives = settings.credits + packets_beside_credits(traits.iwarp);
  max_links = std::min({settings.links, traits.max_completions / kSendDepth,
                        traits.max_completions / receives, traits.max_shared_receives / receives});
  if (max_links == 0)
    return Error{Status::unreachable,
                 fmt::format("verbs: {} has {} completions and {} shared receives, a link needs {} and {}",
                             name, traits.max_completions, traits.max_shared_receives,
                             std::max(kSendDepth, receives), receives)};
  pd = ::ibv_alloc_pd(context);
  if (pd == nullptr) return failed("ibv_alloc_pd");
  completions = ::ibv_create_comp_channel(context);
  if (completions == nullptr) return failed("ibv_create_comp_channel");
  ::fcntl(completions->fd, F_SETFL, ::fcntl(completions->fd, F_GETFL) | O_NONBLOCK);
  send_cq = ::ibv_create_cq(context, static_cast<int>(max_links * kSendDepth), nullptr, completions, 0);
  recv_cq = ::ibv_create_cq(context, static_cast<int>(max_links * receives), nullptr, completions, 0);
  if (send_cq == nullptr || recv_cq == nullptr) return failed("ibv_create_cq");
  ibv_srq_init_attr shared{};
  shared.attr.max_wr = max_links * receives;
  shared.attr.max_sge = 1;
  srq = ::ibv_create_srq(pd, &shared);
  if (srq == nullptr) return failed("ibv_create_srq");

  if (probe_queue_pairs()) return {};
  return failed("ibv_create_qp");
}

void Adapter::fill_address(Address& out) const noexcept {
  out.magic = kHelloMagic;
  out.version = kVersion;
  out.port = ::rdma_get_src_port(listener);
  if (local.ss_family == AF_INET) {
    out.family = 4;
    std::memcpy(out.ip, &reinterpret_cast<const sockaddr_in&>(local).sin_addr, 4);
  } else {
    out.family = 6;
    std::memcpy(out.ip, &reinterpret_cast<const sockaddr_in6&>(local).sin6_addr, 16);
  }
}

}  // namespace stria::verbs
