// The steps of a connection on the connector's thread: resolving, asking, being asked, refusing, ending.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "transport/fingerprint.hpp"
#include "transport/verbs/connector.hpp"
#include "transport/wire.hpp"

namespace stria::verbs {
namespace {

constexpr int kResolveMs = 2000;
constexpr std::uint8_t kMostReads = 16;
constexpr std::uint8_t kRetries = 6;          // of three bits; 7 has no end with rxe
constexpr std::uint8_t kRetriesNotReady = 7;  // without end

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

std::string text_of(const Refusal& refusal) {
  switch (refusal.reason) {
    case Reason::version:
      return fmt::format("the peer's verbs provider has version {} and wire version {}, this has {} and {}",
                         refusal.version, refusal.wire_version, kVersion, wire::kVersion);
    case Reason::secret:
      return "the peer has another job secret";
    case Reason::other_worker:
      return "another worker has the peer's address now: it is gone";
    case Reason::full:
      return "the peer has no room for another link (STRIA_VERBS_LINKS, or memory for its buffers)";
    case Reason::yours_comes:
      return "the peer connects itself, and its connection did not come";
    case Reason::busy:
      return "the peer did not let go of an earlier connection";
    case Reason::broken:
      break;
  }
  return "the peer could not accept";
}

}  // namespace

// ---- asking ----------------------------------------------------------------------------------------------

void Connector::begin(const Address& address) {
  // One that the peer asked for is up: the worker is told of it, or will be.
  if (live_.count(address.worker) != 0) return;
  Attempt& attempt = attempts_[address.worker];
  attempt.address = address;
  attempt.deadline = Clock::now() + std::chrono::milliseconds(params_.settings.connect_ms);
  timers_.emplace(attempt.deadline, address.worker);
  ask(attempt);
}

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

void Connector::resolved(Connection& connection) {
  if (connection.id->verbs != params_.adapter.context) {
    fail(connection, {Status::unreachable,
                      fmt::format("the way to the peer does not leave by {}", params_.adapter.name)});
    return;
  }
  std::uint8_t timeout = params_.settings.ack_timeout;
  static_cast<void>(::rdma_set_option(connection.id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
                                      sizeof timeout));  // the system's own serves too
  if (::rdma_resolve_route(connection.id, kResolveMs) != 0)
    fail(connection, {Status::unreachable, fmt::format("no route: {}", std::strerror(errno))});
}

rdma_conn_param Connector::parameters(const Hello& hello) const noexcept {
  rdma_conn_param out{};
  out.private_data = &hello;
  out.private_data_len = sizeof hello;
  const auto reads =
      static_cast<std::uint8_t>(std::min<std::uint32_t>(params_.adapter.traits.max_reads, kMostReads));
  out.responder_resources = reads;
  out.initiator_depth = reads;
  out.retry_count = kRetries;
  out.rnr_retry_count = kRetriesNotReady;
  return out;
}

Hello Connector::hello_to(const Connection& connection) const noexcept {
  return {kHelloMagic,
          kVersion,
          wire::kVersion,
          static_cast<std::uint16_t>(params_.settings.credits),
          params_.worker_id,
          connection.worker,
          transport::fingerprint(params_.secret, params_.worker_id, connection.worker),
          connection.number.number,
          params_.settings.eager_bytes};
}

bool Connector::is_good(const Hello& hello, std::uint64_t from, Reason& reason) const noexcept {
  reason = Reason::version;
  if (hello.magic != kHelloMagic || hello.version != kVersion || hello.wire_version != wire::kVersion)
    return false;
  reason = Reason::other_worker;
  if (hello.to != params_.worker_id || hello.from == 0 || (from != 0 && hello.from != from)) return false;
  reason = Reason::secret;
  if (hello.proof != transport::fingerprint(params_.secret, hello.from, params_.worker_id)) return false;
  reason = Reason::broken;
  return hello.credits > 0 && hello.eager_bytes > 0;
}

/// With buffers posted for the peer's packets.
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

void Connector::request(Connection& connection) {
  if (auto made = make_queue_pair(connection); !made) {
    fail(connection, std::move(made).error());
    return;
  }
  const Hello hello = hello_to(connection);
  rdma_conn_param param = parameters(hello);
  if (::rdma_connect(connection.id, &param) == 0) return;
  if (errno == ECONNREFUSED)  // devices of iWARP that connect by TCP before the call returns
    fail(connection, {Status::peer_failed, kNobodyListens});
  else
    fail(connection, {Status::unreachable, fmt::format("rdma_connect: {}", std::strerror(errno))});
}

void Connector::answered(Connection& connection, const Event& event) {
  if (connection.told) return;
  if (attempt_of(connection) == attempts_.end()) {  // nobody waits any more
    destroy(connection);
    return;
  }
  Hello hello{};
  if (event.data_bytes >= sizeof hello) std::memcpy(&hello, event.data, sizeof hello);
  Reason reason = Reason::broken;
  if (!is_good(hello, connection.worker, reason)) {
    fail(connection,
         {Status::unreachable, reason == Reason::secret ? "the peer has another job secret"
                                                        : "the peer's answer is none of this version"});
    return;
  }
  connection.peer = hello;
  up(connection);
}

// ---- being asked -----------------------------------------------------------------------------------------

void Connector::refuse(rdma_cm_id* id, Reason reason) noexcept {
  const Refusal refusal{kHelloMagic, kVersion, wire::kVersion, reason, 0};
  ::rdma_reject(id, &refusal, sizeof refusal);
  ::rdma_destroy_id(id);
}

void Connector::welcome(const Event& event) {
  Hello hello{};
  if (event.data_bytes >= sizeof hello) std::memcpy(&hello, event.data, sizeof hello);
  Reason reason = Reason::broken;
  if (!is_good(hello, 0, reason)) {
    if (reason == Reason::secret || reason == Reason::version)
      params_.services.log(3, reason == Reason::secret
                                  ? "verbs: refused a connection without this job's secret"
                                  : "verbs: refused a connection of another version of stria");
    refuse(event.id, reason);
    return;
  }
  const bool self = hello.from == params_.worker_id;
  const auto attempt = attempts_.find(hello.from);
  const bool asks = attempt != attempts_.end() && attempt->second.state == Attempt::State::asking;
  if (self && !asks) {  // the end that asked is gone
    refuse(event.id, Reason::broken);
    return;
  }
  if (!self && live_.count(hello.from) != 0) {
    refuse(event.id, Reason::busy);
    return;
  }
  if (asks && hello.from > params_.worker_id) {
    refuse(event.id, Reason::yours_comes);
    return;
  }
  auto made = std::make_unique<Connection>();
  Connection& connection = *made;
  connection.id = event.id;
  connection.worker = hello.from;
  connection.peer = hello;
  event.id->context = &connection;
  connections_[&connection] = std::move(made);
  if (auto queue_pair = make_queue_pair(connection); !queue_pair) {
    params_.services.log(
        3, fmt::format("verbs: a peer's connection is refused: {}", queue_pair.error().context).c_str());
    const Refusal refusal{kHelloMagic, kVersion, wire::kVersion, Reason::full, 0};
    ::rdma_reject(connection.id, &refusal, sizeof refusal);
    destroy(connection);
    return;
  }
  if (asks && !self) destroy(*attempt->second.connection);  // ours gives way
  // Before the answer: from then on packets may come by it.
  up(connection);
  const Hello answer = hello_to(connection);
  rdma_conn_param param = parameters(answer);
  param.responder_resources = std::min(param.responder_resources, event.param.initiator_depth);
  param.initiator_depth = std::min(param.initiator_depth, event.param.responder_resources);
  if (::rdma_accept(connection.id, &param) != 0) break_off(connection);
}

/// It is the worker's from here on. The accepting end of a connection to ourselves is no answer to the
/// attempt: the asking end is.
void Connector::up(Connection& connection) {
  connection.told = true;
  const bool is_answer = connection.asked || connection.worker != params_.worker_id;
  if (is_answer) {
    live_[connection.worker] = &connection;
    attempts_.erase(connection.worker);
  }
  tell({News::What::up, &connection, connection.worker, {}});
}

// ---- ending ----------------------------------------------------------------------------------------------

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

void Connector::refused(Connection& connection, const Refusal& refusal) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  const auto attempt = attempt_of(connection);
  const bool may_come = refusal.reason == Reason::yours_comes || refusal.reason == Reason::busy;
  if (attempt == attempts_.end() || !may_come) {
    fail(connection, {refusal.reason == Reason::other_worker ? Status::peer_failed : Status::unreachable,
                      text_of(refusal)});
    return;
  }
  Attempt& waits = attempt->second;
  waits.why = text_of(refusal);
  waits.connection = nullptr;
  waits.state = refusal.reason == Reason::busy ? Attempt::State::paused : Attempt::State::awaited;
  if (waits.state == Attempt::State::paused) timers_.emplace(Clock::now() + kPause, connection.worker);
  destroy(connection);
}

Connector::Attempts::iterator Connector::attempt_of(const Connection& connection) noexcept {
  const auto attempt = attempts_.find(connection.worker);
  return attempt != attempts_.end() && attempt->second.connection == &connection ? attempt : attempts_.end();
}

/// A connection of ours came to nothing, and so did its attempt.
void Connector::fail(Connection& connection, Error error) {
  const auto attempt = attempt_of(connection);
  if (attempt != attempts_.end())
    give_up(attempt, std::move(error));
  else
    destroy(connection);
}

void Connector::give_up(Attempts::iterator attempt, Error error) {
  const std::uint64_t worker = attempt->first;
  if (attempt->second.connection != nullptr) destroy(*attempt->second.connection);
  attempts_.erase(attempt);
  tell({News::What::failed, nullptr, worker, std::move(error)});
}

/// Of a connection that the worker was told of.
void Connector::break_off(Connection& connection) {
  if (connection.broken) return;
  connection.broken = true;
  ::rdma_disconnect(connection.id);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  if (connection.id->qp != nullptr) ::ibv_modify_qp(connection.id->qp, &error, IBV_QP_STATE);
  tell({News::What::broken, &connection, connection.worker, {}});
}

void Connector::destroy(Connection& connection) noexcept {
  if (connection.id != nullptr) {
    if (connection.id->qp != nullptr) ::rdma_destroy_qp(connection.id);
    ::rdma_destroy_id(connection.id);
  }
  const auto live = live_.find(connection.worker);
  if (live != live_.end() && live->second == &connection) live_.erase(live);
  if (connection.has_number) numbers_.give(connection.number);
  connections_.erase(&connection);
}

}  // namespace stria::verbs
