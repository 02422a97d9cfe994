#include "transport/verbs/connector.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/format.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/quiet_thread.hpp"

namespace stria::verbs {
namespace {

void ring(int fd) noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(fd, &one, sizeof one));
}
void drain(int fd) noexcept {
  std::uint64_t count = 0;
  static_cast<void>(::read(fd, &count, sizeof count));
}

}  // namespace

Connector::Connector(Device& device, std::uint64_t worker_id, std::vector<std::byte> secret)
    : device_(device), worker_id_(worker_id), secret_(std::move(secret)) {}

Connector::~Connector() {
  stop();
  destroy_all();
}

Result<void> Connector::start() {
  wake_fd_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  news_fd_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_fd_ || !news_fd_)
    return Error{Status::io_error, fmt::format("verbs: eventfd: {}", std::strerror(errno))};
  try {
    thread_ = quiet_thread([this] { run(); });
  } catch (const std::system_error& error) {
    return Error{Status::io_error,
                 fmt::format("verbs: no thread for connections: {}", std::strerror(error.code().value()))};
  }
  return {};
}

void Connector::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
  for (auto& [key, connection] : connections_) {
    if (connection->id == nullptr || connection->link == nullptr) continue;
    ::rdma_disconnect(connection->id);
    ibv_qp_attr error{};
    error.qp_state = IBV_QPS_ERR;
    if (connection->id->qp != nullptr) ::ibv_modify_qp(connection->id->qp, &error, IBV_QP_STATE);
  }
}

void Connector::destroy_all() noexcept {
  while (!connections_.empty()) destroy(*connections_.begin()->first);
}

void Connector::wake() noexcept {
  ring(wake_fd_.get());
}
void Connector::silence() noexcept {
  drain(news_fd_.get());
}

void Connector::tell(News news) {
  news_.push_back(news);
  has_news_.store(true, std::memory_order_release);  // pairs with take_news
  ring(news_fd_.get());
}

bool Connector::take_news(std::vector<News>& out) noexcept {
  if (!has_news_.load(std::memory_order_acquire)) [[likely]]
    return false;
  const std::lock_guard lock(mutex_);
  has_news_.store(false, std::memory_order_relaxed);
  out.swap(news_);
  return !out.empty();
}

// ---- the worker's thread ---------------------------------------------------------------------------------

Result<Link*> Connector::connect(const Address& address) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(device_.settings().connect_ms);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (const auto live = live_.find(address.worker); live != live_.end()) {
      attempts_.erase(address.worker);
      return live->second->link.get();
    }
    const auto known = attempts_.find(address.worker);
    if (known == attempts_.end()) {
      auto made = std::make_unique<Connection>();
      Connection* const connection = made.get();
      connection->worker = address.worker;
      connection->asked = true;
      attempts_[address.worker] = {Attempt::State::pending, connection, {}};
      targets_[connection] = address;
      connections_[connection] = std::move(made);
      commands_.emplace_back(Command::connect, connection);
      wake();
    } else if (known->second.state == Attempt::State::failed) {
      Error error = std::move(known->second.error);
      attempts_.erase(known);
      return error;
    } else if (known->second.state == Attempt::State::busy) {
      const bool late = Clock::now() >= deadline;
      Error error = std::move(known->second.error);
      attempts_.erase(known);
      if (late) return error;
      changed_.wait_for(lock, std::chrono::milliseconds(5));
      continue;
    }
    if (changed_.wait_until(lock, deadline) == std::cv_status::no_timeout) continue;
    if (live_.count(address.worker) != 0) continue;
    const auto late = attempts_.find(address.worker);
    if (late == attempts_.end()) continue;
    if (late->second.state != Attempt::State::pending && late->second.state != Attempt::State::superseded)
      continue;
    Error error{Status::unreachable, fmt::format("no answer within {} ms (STRIA_VERBS_CONNECT_MS)",
                                                 device_.settings().connect_ms)};
    if (late->second.connection != nullptr) commands_.emplace_back(Command::dispose, late->second.connection);
    attempts_.erase(late);
    wake();
    return error;
  }
}

void Connector::disconnect(Link& link) noexcept try {
  const std::lock_guard lock(mutex_);
  commands_.emplace_back(Command::disconnect, link.connection());
  wake();
} catch (const std::bad_alloc&) {
  // The peer learns of it when it is spoken to.
}

void Connector::dispose(Link& link) noexcept try {
  const std::lock_guard lock(mutex_);
  commands_.emplace_back(Command::dispose, link.connection());
  wake();
} catch (const std::bad_alloc&) {
  // It stays until the device closes.
}

// ---- the connector's thread ------------------------------------------------------------------------------

void Connector::run() noexcept {
  for (;;) {
    pollfd fds[2] = {{device_.adapter().channel->fd, POLLIN, 0}, {wake_fd_.get(), POLLIN, 0}};
    ::poll(fds, 2, -1);
    if (fds[1].revents != 0) drain(wake_fd_.get());
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    try {
      for (Event event; next_event(event);) handle(event);
      for (std::size_t i = 0; i < commands_.size(); ++i) {
        const auto [command, connection] = commands_[i];
        if (connections_.count(connection) == 0) continue;
        if (command == Command::dispose)
          destroy(*connection);
        else if (command == Command::disconnect)
          break_off(*connection);
        else
          begin(*connection, targets_[connection]);
      }
      commands_.clear();
    } catch (const std::bad_alloc&) {
      device_.services().log(4, "verbs: out of memory while connecting");
    }
  }
}

/// Copied and acknowledged before it is looked at, so that its id may be destroyed meanwhile.
bool Connector::next_event(Event& out) noexcept {
  rdma_cm_event* event = nullptr;
  if (::rdma_get_cm_event(device_.adapter().channel, &event) != 0) return false;
  out.type = event->event;
  out.id = event->id;
  out.status = event->status;
  out.param = event->param.conn;
  out.data_bytes =
      static_cast<std::uint8_t>(std::min<std::size_t>(event->param.conn.private_data_len, sizeof out.data));
  if (event->param.conn.private_data == nullptr) out.data_bytes = 0;
  if (out.data_bytes > 0) std::memcpy(out.data, event->param.conn.private_data, out.data_bytes);
  ::rdma_ack_cm_event(event);
  return true;
}

void Connector::handle(const Event& event) {
  if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    welcome(event);
    return;
  }
  auto* const connection = static_cast<Connection*>(event.id->context);
  if (connections_.count(connection) == 0 || connection->id != event.id) return;
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      resolved(*connection);
      break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      request(*connection);
      break;
    case RDMA_CM_EVENT_ESTABLISHED:
      if (connection->asked) answered(*connection, event);
      break;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      ended(*connection, event);
      break;
    default:
      break;
  }
}

}  // namespace stria::verbs
