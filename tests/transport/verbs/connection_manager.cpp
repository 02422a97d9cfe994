#include "tests/transport/verbs/connection_manager.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "tests/transport/verbs/stand_in.hpp"

namespace stria::verbs::test {
namespace {

ConnectionManager* the_only_one = nullptr;

rdma_cm_event event_of(rdma_cm_event_type what, rdma_cm_id* id, const Hello* hello) {
  rdma_cm_event event{};
  event.event = what;
  event.id = id;
  event.param.conn.private_data = hello;
  event.param.conn.private_data_len = hello != nullptr ? sizeof *hello : 0;
  return event;
}

}  // namespace

ConnectionManager::ConnectionManager(ibv_context* context) : context_(context) {
  channel_.fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  the_only_one = this;
}
ConnectionManager::~ConnectionManager() {
  the_only_one = nullptr;
  ::close(channel_.fd);
}

rdma_cm_id* ConnectionManager::make_id() const {
  auto* const id = new rdma_cm_id{};
  id->verbs = context_;
  return id;
}

void ConnectionManager::say(rdma_cm_event_type what, rdma_cm_id* id, const Hello* hello) {
  const std::lock_guard lock(mutex_);
  events_.push_back(event_of(what, id, hello));
  const std::uint64_t one = 1;
  static_cast<void>(::write(channel_.fd, &one, sizeof one));
}

void ConnectionManager::go_on() {
  held_ = false;
  held_.notify_all();
}

struct ManagerCalls {
  static ConnectionManager& manager() { return *the_only_one; }
  static int next(rdma_cm_event** out) {
    ConnectionManager& self = manager();
    const std::lock_guard lock(self.mutex_);
    std::uint64_t count = 0;
    static_cast<void>(::read(self.channel_.fd, &count, sizeof count));
    if (self.events_.empty() && self.asked_ != nullptr && self.looks_++ == 1)
      self.events_.push_back(event_of(RDMA_CM_EVENT_ESTABLISHED, self.asked_, &self.answer_));
    if (self.events_.empty()) {
      errno = EAGAIN;
      return -1;
    }
    *out = new rdma_cm_event(self.events_.front());
    self.events_.pop_front();
    return 0;
  }
  static void ask(rdma_cm_id* id) {
    const std::lock_guard lock(manager().mutex_);
    manager().asked_ = id;
    manager().looks_ = 0;
  }
  static void destroy(rdma_cm_id* id) {
    ConnectionManager& self = manager();
    if (self.held_) {
      self.is_held_ = true;
      self.is_held_.notify_all();
      self.held_.wait(true);
    }
    delete id;
  }
};

}  // namespace stria::verbs::test

// ---- in place of librdmacm's -----------------------------------------------------------------------------

using stria::verbs::test::ManagerCalls;
extern "C" {
int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space) {
  *id = ManagerCalls::manager().make_id();
  (*id)->channel = channel;
  (*id)->context = context;
  return 0;
}
int rdma_destroy_id(rdma_cm_id* id) {
  ManagerCalls::destroy(id);
  return 0;
}
void rdma_destroy_qp(rdma_cm_id* id) {
  stria::verbs::test::StandIn::destroy(id->qp);
  id->qp = nullptr;
}
int rdma_resolve_addr(rdma_cm_id* id, sockaddr*, sockaddr*, int) {
  ManagerCalls::manager().say(RDMA_CM_EVENT_ADDR_RESOLVED, id);
  return 0;
}
int rdma_resolve_route(rdma_cm_id* id, int) {
  ManagerCalls::manager().say(RDMA_CM_EVENT_ROUTE_RESOLVED, id);
  return 0;
}
int rdma_connect(rdma_cm_id* id, rdma_conn_param*) {
  ManagerCalls::ask(id);
  return 0;
}
int rdma_accept(rdma_cm_id*, rdma_conn_param*) {
  return 0;
}
int rdma_reject(rdma_cm_id*, const void*, std::uint8_t) {
  return 0;
}
int rdma_disconnect(rdma_cm_id*) {
  return 0;
}
int rdma_set_option(rdma_cm_id*, int, int, void*, std::size_t) {
  return 0;
}
int rdma_init_qp_attr(rdma_cm_id*, ibv_qp_attr*, int*) {
  return 0;
}
int ibv_modify_qp(ibv_qp*, ibv_qp_attr*, int) {
  return 0;
}
int rdma_get_cm_event(rdma_event_channel*, rdma_cm_event** out) {
  return ManagerCalls::next(out);
}
int rdma_ack_cm_event(rdma_cm_event* event) {
  delete event;
  return 0;
}
void rdma_destroy_event_channel(rdma_event_channel*) {}
}
