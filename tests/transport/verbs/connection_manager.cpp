#include "tests/transport/verbs/connection_manager.hpp"

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/transport/verbs/stand_in.hpp"

namespace stria::verbs::test {
namespace {

ConnectionManager* the_only_one = nullptr;

}  // namespace

ConnectionManager::ConnectionManager() {
  the_only_one = this;
}
ConnectionManager::~ConnectionManager() {
  the_only_one = nullptr;
  for (auto& [port, host] : hosts_) ::close(host->channel.fd);
  for (auto& host : gone_) ::close(host->channel.fd);
}

void ConnectionManager::add_host(std::uint16_t port, Adapter& adapter) {
  const std::lock_guard lock(mutex_);
  auto host = std::make_unique<Host>();
  host->channel.fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  host->context = adapter.context;
  adapter.channel = &host->channel;
  adapter.local.ss_family = AF_INET;
  hosts_[port] = std::move(host);
}

void ConnectionManager::remove_host(std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  gone_.push_back(std::move(hosts_.at(port)));
  hosts_.erase(port);
}

Address ConnectionManager::address_of(std::uint16_t port, std::uint64_t worker) {
  Address out{};
  out.magic = kHelloMagic;
  out.version = kVersion;
  out.family = 4;
  out.port = htons(port);
  out.worker = worker;
  return out;
}

void ConnectionManager::silence(std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  silent_.insert(port);
}

void ConnectionManager::hide(std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  hidden_.insert(port);
}

ConnectionManager::Id& ConnectionManager::add_id(Host& host) {
  auto made = std::make_unique<Id>();
  Id& id = *made;
  id.host = &host;
  id.base.verbs = host.context;
  id.base.channel = &host.channel;
  ids_[&id.base] = std::move(made);
  return id;
}

rdma_cm_id* ConnectionManager::make_id(std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  return &add_id(*hosts_.at(port)).base;
}

void ConnectionManager::tell(Id& id, rdma_cm_event_type what, const void* data, std::size_t bytes,
                             int status) {
  Event& told = id.host->events.emplace_back();
  told.event.event = what;
  told.event.id = &id.base;
  told.event.status = status;
  const auto* const from = static_cast<const std::byte*>(data);
  if (bytes > 0) told.data.assign(from, from + bytes);
  const std::uint64_t one = 1;
  static_cast<void>(::write(id.host->channel.fd, &one, sizeof one));
}

void ConnectionManager::say(rdma_cm_event_type what, rdma_cm_id* id, const Hello* hello) {
  const std::lock_guard lock(mutex_);
  tell(of(id), what, hello, hello != nullptr ? sizeof *hello : 0);
}

std::vector<rdma_cm_id*> ConnectionManager::asked(std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  std::vector<rdma_cm_id*> out;
  for (const auto& [base, id] : ids_)
    if (id->host == hosts_.at(port).get() && id->asked && id->other == nullptr) out.push_back(base);
  return out;
}

void ConnectionManager::go_on() {
  held_ = false;
  held_.notify_all();
}

/// What the provider would call.
struct ManagerCalls {
  using Id = ConnectionManager::Id;
  static ConnectionManager& manager() { return *the_only_one; }
  static Id& of(rdma_cm_id* id) { return ConnectionManager::of(id); }

  static int create(rdma_event_channel* channel, rdma_cm_id** out, void* context) {
    ConnectionManager& self = manager();
    const std::lock_guard lock(self.mutex_);
    for (auto& [port, host] : self.hosts_)
      if (&host->channel == channel) {
        *out = &self.add_id(*host).base;
        (*out)->context = context;
        return 0;
      }
    errno = ENODEV;
    return -1;
  }
  static void destroy(rdma_cm_id* base) {
    ConnectionManager& self = manager();
    if (self.held_) {
      self.is_held_ = true;
      self.is_held_.notify_all();
      self.held_.wait(true);
    }
    const std::lock_guard lock(self.mutex_);
    Id& id = of(base);
    std::erase_if(id.host->events, [&](const auto& one) { return one.event.id == base; });
    if (id.other != nullptr) {
      id.other->other = nullptr;
      self.tell(*id.other, id.established ? RDMA_CM_EVENT_DISCONNECTED : RDMA_CM_EVENT_REJECTED);
    }
    self.ids_.erase(base);
  }
  static void resolve_address(rdma_cm_id* base, const sockaddr* to) {
    ConnectionManager& self = manager();
    const std::lock_guard lock(self.mutex_);
    of(base).to = ntohs(reinterpret_cast<const sockaddr_in*>(to)->sin_port);
    if (self.hidden_.count(of(base).to) == 0) self.tell(of(base), RDMA_CM_EVENT_ADDR_RESOLVED);
  }
  static void resolve_route(rdma_cm_id* base) {
    const std::lock_guard lock(manager().mutex_);
    manager().tell(of(base), RDMA_CM_EVENT_ROUTE_RESOLVED);
  }
  static int connect(rdma_cm_id* base, const rdma_conn_param& param) {
    ConnectionManager& self = manager();
    if (self.ports_taken_ > 0) {
      --self.ports_taken_;
      errno = EADDRINUSE;
      return -1;
    }
    request(self, base, param);
    return 0;
  }
  static void request(ConnectionManager& self, rdma_cm_id* base, const rdma_conn_param& param) {
    constexpr int kInvalidServiceId = 8;
    const std::lock_guard lock(self.mutex_);
    Id& id = of(base);
    id.asked = true;
    if (self.silent_.count(id.to) != 0) return;
    const auto host = self.hosts_.find(id.to);
    if (host == self.hosts_.end()) {
      self.tell(id, RDMA_CM_EVENT_REJECTED, nullptr, 0, kInvalidServiceId);
      return;
    }
    Id& other = self.add_id(*host->second);
    other.other = &id;
    id.other = &other;
    self.tell(other, RDMA_CM_EVENT_CONNECT_REQUEST, param.private_data, param.private_data_len);
  }
  static void accept(rdma_cm_id* base, const rdma_conn_param& param) {
    ConnectionManager& self = manager();
    const std::lock_guard lock(self.mutex_);
    Id& id = of(base);
    if (id.other == nullptr) return;  // it went; of which the event is on its way
    StandIn::join(*reinterpret_cast<StandInQueuePair*>(base->qp),
                  *reinterpret_cast<StandInQueuePair*>(id.other->base.qp));
    id.established = id.other->established = true;
    self.tell(id, RDMA_CM_EVENT_ESTABLISHED);
    self.tell(*id.other, RDMA_CM_EVENT_ESTABLISHED, param.private_data, param.private_data_len);
  }
  static void reject(rdma_cm_id* base, const void* data, std::uint8_t bytes) {
    constexpr int kConsumer = 28;
    ConnectionManager& self = manager();
    const std::lock_guard lock(self.mutex_);
    Id* const other = of(base).other;
    if (other == nullptr) return;
    other->other = of(base).other = nullptr;
    self.tell(*other, RDMA_CM_EVENT_REJECTED, data, bytes, kConsumer);
  }
  static void disconnect(rdma_cm_id* base) {
    ConnectionManager& self = manager();
    const std::lock_guard lock(self.mutex_);
    Id* const other = of(base).other;
    if (other != nullptr && other->established) self.tell(*other, RDMA_CM_EVENT_DISCONNECTED);
  }
  static int next(rdma_event_channel* channel, rdma_cm_event** out) {
    ConnectionManager& self = manager();
    const std::lock_guard lock(self.mutex_);
    for (auto& [port, host] : self.hosts_) {
      if (&host->channel != channel || host->events.empty()) continue;
      auto* const taken = new ConnectionManager::Event(std::move(host->events.front()));
      host->events.pop_front();
      taken->event.param.conn.private_data = taken->data.empty() ? nullptr : taken->data.data();
      taken->event.param.conn.private_data_len = static_cast<std::uint8_t>(taken->data.size());
      *out = &taken->event;
      return 0;
    }
    std::uint64_t count = 0;
    static_cast<void>(::read(channel->fd, &count, sizeof count));
    errno = EAGAIN;
    return -1;
  }
  static void acknowledge(rdma_cm_event* event) {
    static_assert(offsetof(ConnectionManager::Event, event) == 0);
    delete reinterpret_cast<ConnectionManager::Event*>(event);
  }
};

}  // namespace stria::verbs::test

// ---- in place of librdmacm's -----------------------------------------------------------------------------

using stria::verbs::test::ManagerCalls;
extern "C" {
int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space) {
  return ManagerCalls::create(channel, id, context);
}
int rdma_destroy_id(rdma_cm_id* id) {
  ManagerCalls::destroy(id);
  return 0;
}
void rdma_destroy_qp(rdma_cm_id* id) {
  stria::verbs::test::StandIn::destroy(id->qp);
  id->qp = nullptr;
}
int rdma_resolve_addr(rdma_cm_id* id, sockaddr*, sockaddr* to, int) {
  ManagerCalls::resolve_address(id, to);
  return 0;
}
int rdma_resolve_route(rdma_cm_id* id, int) {
  ManagerCalls::resolve_route(id);
  return 0;
}
int rdma_connect(rdma_cm_id* id, rdma_conn_param* param) {
  return ManagerCalls::connect(id, *param);
}
int rdma_accept(rdma_cm_id* id, rdma_conn_param* param) {
  ManagerCalls::accept(id, *param);
  return 0;
}
int rdma_reject(rdma_cm_id* id, const void* data, std::uint8_t bytes) {
  ManagerCalls::reject(id, data, bytes);
  return 0;
}
int rdma_disconnect(rdma_cm_id* id) {
  ManagerCalls::disconnect(id);
  return 0;
}
int rdma_set_option(rdma_cm_id*, int, int, void*, std::size_t) {
  return 0;
}
int rdma_init_qp_attr(rdma_cm_id*, ibv_qp_attr*, int*) {
  return 0;
}
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int) {
  if (attributes->qp_state == IBV_QPS_ERR) stria::verbs::test::StandIn::break_off(qp);
  return 0;
}
int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** out) {
  return ManagerCalls::next(channel, out);
}
int rdma_ack_cm_event(rdma_cm_event* event) {
  ManagerCalls::acknowledge(event);
  return 0;
}
void rdma_destroy_event_channel(rdma_event_channel*) {}
}
