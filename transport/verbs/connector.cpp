#include "transport/verbs/connector.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "base/format.hpp"
#include "base/signal_block.hpp"

namespace stria::verbs {
Connector::Connector(const Params& params, std::vector<std::byte> secret)
    : params_(params),
      handshake_({params.worker_id, std::move(secret), static_cast<std::uint16_t>(params.settings.credits),
                  params.settings.eager_bytes, params.adapter.traits.max_reads}),
      numbers_(params.adapter.max_links) {}

Connector::~Connector() {
  stop();
  destroy_all();
}

Result<void> Connector::start() {
  if (auto opened = mailbox_.open(); !opened) return opened;
  try {
    const SignalBlock quiet;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return Error{Status::io_error,
                 fmt::format("verbs: no thread for connections: {}", std::strerror(error.code().value()))};
  }
  return {};
}

void Connector::stop() noexcept {
  if (!thread_.joinable()) return;
  mailbox_.stop();
  thread_.join();
  for (auto& [key, connection] : connections_) {
    if (connection->id == nullptr || connection->id->qp == nullptr) continue;
    ::rdma_disconnect(connection->id);
    ibv_qp_attr error{};
    error.qp_state = IBV_QPS_ERR;
    ::ibv_modify_qp(connection->id->qp, &error, IBV_QP_STATE);
  }
}

void Connector::destroy_all() noexcept {
  while (!connections_.empty()) destroy(*connections_.begin()->first);
}

// ---- the worker's thread ---------------------------------------------------------------------------------

void Connector::connect(const Address& address) {
  mailbox_.post({Command::What::connect, nullptr, address});
}

void Connector::disconnect(Connection& connection) noexcept try {
  mailbox_.post({Command::What::disconnect, &connection, {}});
} catch (const std::bad_alloc&) {
  // The command is lost: the peer learns of the end when it is spoken to.
}

void Connector::dispose(Connection& connection) noexcept try {
  mailbox_.post({Command::What::dispose, &connection, {}});
} catch (const std::bad_alloc&) {
  // The command is lost: the connection stays until the device closes.
}

// ---- the connector's thread ------------------------------------------------------------------------------

/// Runs one step. A step that runs out of memory is logged, and the next ones run all the same.
template <class Step>
void Connector::guard(Step step) noexcept try {
  step();
} catch (const std::bad_alloc&) {
  params_.services.log(4, "verbs: out of memory while connecting");
}

void Connector::run() noexcept {
  std::vector<Command> commands;
  for (;;) {
    pollfd fds[2] = {{params_.adapter.channel->fd, POLLIN, 0}, {mailbox_.commands_fd(), POLLIN, 0}};
    ::poll(fds, 2, wait_ms());
    for (Event event; next_event(event);) guard([&] { handle(event); });
    if (!mailbox_.take_commands(commands)) return;
    for (const Command& command : commands) guard([&] { obey(command); });
    commands.clear();
    guard([&] { look_at_clock(); });
  }
}

/// Milliseconds until the next timer, for poll(); -1: there is no timer.
int Connector::wait_ms() const noexcept {
  if (timers_.empty()) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(timers_.begin()->first - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 3600000));
}

void Connector::obey(const Command& command) {
  if (command.what == Command::What::connect)
    begin(command.address);
  else if (command.what == Command::What::disconnect)
    break_off(*command.connection);
  else
    destroy(*command.connection);
}

/// Handles the timers that are due: gives up attempts that are past their deadline, and asks again for paused
/// ones. A timer may outlive its attempt. Then it finds no attempt, or a later one to the same worker, which
/// it may at most ask again for a little early.
void Connector::look_at_clock() {
  const Clock::time_point now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const std::uint64_t worker = timers_.begin()->second;
    timers_.erase(timers_.begin());
    const auto attempt = attempts_.find(worker);
    if (attempt == attempts_.end()) continue;
    if (attempt->second.deadline <= now)
      give_up(attempt,
              {Status::unreachable, attempt->second.why.empty()
                                        ? fmt::format("no answer within {} ms (STRIA_VERBS_CONNECT_MS)",
                                                      params_.settings.connect_ms)
                                        : attempt->second.why});
    else if (attempt->second.state == Attempt::State::paused)
      ask(attempt->second);
  }
}

/// Takes the next event of the connection manager. The event is copied and acknowledged here, so that
/// handle() may destroy the id that it is about. False: there is no event.
bool Connector::next_event(Event& out) noexcept {
  rdma_cm_event* event = nullptr;
  if (::rdma_get_cm_event(params_.adapter.channel, &event) != 0) return false;
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
