// How the connector asks a peer for a connection, and handles what follows: an answer, a refusal, or nothing.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "transport/verbs/connector.hpp"

namespace stria::verbs {
namespace {

constexpr int kResolveMs = 2000;

constexpr const char* kNobodyListens = "the peer is gone: no process listens at its address";

/// Whether a connection manager rejected a request because no process listens at the address: the reason
/// "invalid service id" of InfiniBand, or a refused connection of iWARP.
bool nobody_listens(int reject_status) noexcept {
  constexpr int kInvalidServiceId = 8;  // IBTA, reject reasons of the communication manager
  return reject_status == kInvalidServiceId || reject_status == -ECONNREFUSED;
}

sockaddr_storage to_sockaddr(const Address& address) noexcept {
  sockaddr_storage out{};
  if (address.family == 4) {
    auto& in = reinterpret_cast<sockaddr_in&>(out);
    in.sin_family = AF_INET;
    in.sin_port = address.port;
    std::memcpy(&in.sin_addr, address.ip, 4);
  } else {
    auto& in = reinterpret_cast<sockaddr_in6&>(out);
    in.sin6_family = AF_INET6;
    in.sin6_port = address.port;
    std::memcpy(&in.sin6_addr, address.ip, 16);
  }
  return out;
}

}  // namespace

/// Handles a command `connect`: begins an attempt.
void Connector::begin(const Address& address) {
  // A connection that the peer asked for is up: the worker has the news of it, or will take it.
  if (live_.count(address.worker) != 0) return;
  Attempt& attempt = attempts_[address.worker];
  attempt.address = address;
  attempt.deadline = Clock::now() + std::chrono::milliseconds(params_.settings.connect_ms);
  timers_.emplace(attempt.deadline, address.worker);
  ask(attempt);
}

/// Begins a connection of this side for an attempt: resolves the address.
void Connector::ask(Attempt& attempt) {
  sockaddr_storage target = to_sockaddr(attempt.address);
  sockaddr_storage source = params_.adapter.local;
  if (source.ss_family == AF_INET)
    reinterpret_cast<sockaddr_in&>(source).sin_port = 0;
  else
    reinterpret_cast<sockaddr_in6&>(source).sin6_port = 0;
  auto made = std::make_unique<Connection>();
  Connection& connection = *made;
  connection.worker = attempt.address.worker;
  connection.asked = true;
  connections_[&connection] = std::move(made);
  attempt.state = Attempt::State::asking;
  attempt.connection = &connection;
  if (::rdma_create_id(params_.adapter.channel, &connection.id, &connection, RDMA_PS_TCP) != 0) {
    connection.id = nullptr;
    fail(connection, {Status::io_error, fmt::format("rdma_create_id: {}", std::strerror(errno))});
    return;
  }
  auto* const from = source.ss_family == target.ss_family ? reinterpret_cast<sockaddr*>(&source) : nullptr;
  if (::rdma_resolve_addr(connection.id, from, reinterpret_cast<sockaddr*>(&target), kResolveMs) != 0)
    fail(connection,
         {Status::unreachable, fmt::format("the address cannot be resolved: {}", std::strerror(errno))});
}

/// The address is resolved: resolves the route, if it leaves by this adapter.
void Connector::resolved(Connection& connection) {
  if (connection.id->verbs != params_.adapter.context) {
    fail(connection, {Status::unreachable,
                      fmt::format("the way to the peer does not leave by {}", params_.adapter.name)});
    return;
  }
  std::uint8_t timeout = params_.settings.ack_timeout;
  // If the option is refused, the connection has the timeout of the system, which serves, too.
  static_cast<void>(
      ::rdma_set_option(connection.id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof timeout));
  if (::rdma_resolve_route(connection.id, kResolveMs) != 0)
    fail(connection, {Status::unreachable, fmt::format("no route: {}", std::strerror(errno))});
}

/// Gives a connection a number and a queue pair, after buffers for the peer's packets are posted.
Result<void> Connector::make_queue_pair(Connection& connection) {
  const auto number = numbers_.take();
  if (!number)
    return Error{Status::unreachable,
                 fmt::format("all {} links are in use (STRIA_VERBS_LINKS)", numbers_.most())};
  connection.number = *number;
  connection.has_number = true;
  if (auto provided = params_.receives.provide_for(numbers_.in_use()); !provided)
    return std::move(provided).error();
  if (!params_.adapter.make_queue_pair(*connection.id))
    return Error{Status::io_error, fmt::format("no queue pair: {}", std::strerror(errno))};
  return {};
}

/// The route is resolved: sends the connection request.
void Connector::request(Connection& connection) {
  if (auto made = make_queue_pair(connection); !made) {
    fail(connection, std::move(made).error());
    return;
  }
  const Hello hello = handshake_.hello_to(connection);
  rdma_conn_param param = handshake_.parameters(hello);
  if (::rdma_connect(connection.id, &param) == 0) return;
  // iWARP devices connect by TCP before the call returns.
  const int error = errno;
  std::string why = fmt::format("rdma_connect: {}", std::strerror(error));
  const auto attempt = attempt_of(connection);
  if (error == EADDRINUSE && attempt != attempts_.end())  // an ordinary socket has the port: another one
    pause(attempt->second, std::move(why));
  else if (error == ECONNREFUSED)
    fail(connection, {Status::peer_failed, kNobodyListens});
  else
    fail(connection, {Status::unreachable, std::move(why)});
}

/// The peer accepted a connection that this side asked for.
void Connector::answered(Connection& connection, const Event& event) {
  if (connection.told) return;
  if (attempt_of(connection) == attempts_.end()) {  // the attempt has been given up
    destroy(connection);
    return;
  }
  Reason reason{};
  if (!handshake_.read(event.data, event.data_bytes, connection.worker, connection.peer, reason)) {
    fail(connection,
         {Status::unreachable, reason == Reason::secret ? "the peer has another job secret"
                                                        : "the peer's answer is none of this version"});
    return;
  }
  up(connection);
}

/// A connection ended, or did not come about.
void Connector::ended(Connection& connection, const Event& event) {
  if (connection.told) {
    break_off(connection);
    return;
  }
  Refusal refusal{};
  if (event.type == RDMA_CM_EVENT_REJECTED && event.data_bytes >= sizeof refusal)
    std::memcpy(&refusal, event.data, sizeof refusal);
  if (refusal.magic == kHelloMagic)
    refused(connection, refusal);
  else if (event.type == RDMA_CM_EVENT_REJECTED && nobody_listens(event.status))
    fail(connection, {Status::peer_failed, kNobodyListens});
  else
    fail(connection, {Status::unreachable,
                      fmt::format("{}, {}", ::rdma_event_str(event.type),
                                  event.status < 0 ? std::strerror(-event.status)
                                                   : fmt::format("status {}", event.status).c_str())});
}

/// The peer refused a connection that this side asked for. The attempt goes on when the peer's own request is
/// to come, or when the peer has to let go of an earlier connection first; else it fails.
void Connector::refused(Connection& connection, const Refusal& refusal) {
  const auto attempt = attempt_of(connection);
  const bool may_come = refusal.reason == Reason::yours_comes || refusal.reason == Reason::busy;
  if (attempt == attempts_.end() || !may_come) {
    fail(connection, {refusal.reason == Reason::other_worker ? Status::peer_failed : Status::unreachable,
                      Handshake::text_of(refusal)});
    return;
  }
  if (refusal.reason == Reason::busy) {
    pause(attempt->second, Handshake::text_of(refusal));
    return;
  }
  attempt->second.why = Handshake::text_of(refusal);
  attempt->second.connection = nullptr;
  attempt->second.state = Attempt::State::awaited;
  destroy(connection);
}

/// Destroys the connection of an attempt, which asks by a new one in a moment; `why` is its error if its time
/// ends before.
void Connector::pause(Attempt& attempt, std::string why) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  Connection& connection = *attempt.connection;
  attempt.why = std::move(why);
  attempt.connection = nullptr;
  attempt.state = Attempt::State::paused;
  timers_.emplace(Clock::now() + kPause, connection.worker);
  destroy(connection);
}

/// The attempt that asks by this connection; end(): there is none.
Connector::Attempts::iterator Connector::attempt_of(const Connection& connection) noexcept {
  const auto attempt = attempts_.find(connection.worker);
  return attempt != attempts_.end() && attempt->second.connection == &connection ? attempt : attempts_.end();
}

/// A connection that this side asked for came to nothing: destroys it, and fails its attempt.
void Connector::fail(Connection& connection, Error error) {
  const auto attempt = attempt_of(connection);
  if (attempt != attempts_.end())
    give_up(attempt, std::move(error));
  else
    destroy(connection);
}

/// Ends an attempt without a connection, and tells the worker why.
void Connector::give_up(Attempts::iterator attempt, Error error) {
  const std::uint64_t worker = attempt->first;
  if (attempt->second.connection != nullptr) destroy(*attempt->second.connection);
  attempts_.erase(attempt);
  mailbox_.report({News::What::failed, nullptr, worker, std::move(error)});
}

}  // namespace stria::verbs
