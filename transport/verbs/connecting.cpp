// The steps of a connection on the connector's thread: resolving, asking, being asked, refusing, ending.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "transport/fingerprint.hpp"
#include "transport/verbs/connector.hpp"
#include "transport/verbs/device.hpp"
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

void Connector::begin(Connection& connection, const Address& address) {
  sockaddr_storage target = to_sockaddr(address);
  sockaddr_storage source = device_.adapter().local;
  if (source.ss_family == AF_INET)
    reinterpret_cast<sockaddr_in&>(source).sin_port = 0;
  else
    reinterpret_cast<sockaddr_in6&>(source).sin6_port = 0;
  const auto attempt = attempts_.find(connection.worker);
  const bool wanted = attempt != attempts_.end() && attempt->second.connection == &connection;
  if (!wanted) {  // the peer's own connection came first
    destroy(connection);
    return;
  }
  if (::rdma_create_id(device_.adapter().channel, &connection.id, &connection, RDMA_PS_TCP) != 0) {
    connection.id = nullptr;
    fail(connection, Attempt::State::failed,
         {Status::io_error, fmt::format("rdma_create_id: {}", std::strerror(errno))});
    return;
  }
  auto* const from = source.ss_family == target.ss_family ? reinterpret_cast<sockaddr*>(&source) : nullptr;
  if (::rdma_resolve_addr(connection.id, from, reinterpret_cast<sockaddr*>(&target), kResolveMs) != 0)
    fail(connection, Attempt::State::failed,
         {Status::unreachable, fmt::format("the address cannot be resolved: {}", std::strerror(errno))});
}

void Connector::resolved(Connection& connection) {
  if (connection.id->verbs != device_.adapter().context) {
    fail(connection, Attempt::State::failed,
         {Status::unreachable,
          fmt::format("the way to the peer does not leave by {}", device_.adapter().name)});
    return;
  }
  std::uint8_t timeout = device_.settings().ack_timeout;
  static_cast<void>(::rdma_set_option(connection.id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
                                      sizeof timeout));  // the system's own serves too
  if (::rdma_resolve_route(connection.id, kResolveMs) != 0)
    fail(connection, Attempt::State::failed,
         {Status::unreachable, fmt::format("no route: {}", std::strerror(errno))});
}

rdma_conn_param Connector::parameters(const Hello& hello) const noexcept {
  rdma_conn_param out{};
  out.private_data = &hello;
  out.private_data_len = sizeof hello;
  const auto reads =
      static_cast<std::uint8_t>(std::min<std::uint32_t>(device_.adapter().traits.max_reads, kMostReads));
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
          static_cast<std::uint16_t>(device_.settings().credits),
          worker_id_,
          connection.worker,
          transport::fingerprint(secret_, worker_id_, connection.worker),
          connection.link->number(),
          device_.settings().eager_bytes};
}

bool Connector::is_good(const Hello& hello, std::uint64_t from, Reason& reason) const noexcept {
  reason = Reason::version;
  if (hello.magic != kHelloMagic || hello.version != kVersion || hello.wire_version != wire::kVersion)
    return false;
  reason = Reason::other_worker;
  if (hello.to != worker_id_ || hello.from == 0 || (from != 0 && hello.from != from)) return false;
  reason = Reason::secret;
  if (hello.proof != transport::fingerprint(secret_, hello.from, worker_id_)) return false;
  reason = Reason::broken;
  return hello.credits > 0 && hello.eager_bytes > 0;
}

Result<void> Connector::make_link(Connection& connection) {
  auto link = device_.add_link(connection);
  if (!link) return std::move(link).error();
  const Adapter& adapter = device_.adapter();
  if (!adapter.make_queue_pair(*connection.id)) {
    device_.remove_link(**link);
    connection.link.reset();
    return Error{Status::io_error, fmt::format("no queue pair: {}", std::strerror(errno))};
  }
  (*link)->set_queue_pair(connection.id->qp, adapter.builder);
  return {};
}

void Connector::request(Connection& connection) {
  if (auto made = make_link(connection); !made) {
    fail(connection, Attempt::State::failed, std::move(made).error());
    return;
  }
  const Hello hello = hello_to(connection);
  rdma_conn_param param = parameters(hello);
  if (::rdma_connect(connection.id, &param) == 0) return;
  if (errno == ECONNREFUSED)  // devices of iWARP that connect by TCP before the call returns
    fail(connection, Attempt::State::failed, {Status::peer_failed, kNobodyListens});
  else
    fail(connection, Attempt::State::failed,
         {Status::unreachable, fmt::format("rdma_connect: {}", std::strerror(errno))});
}

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
      device_.services().log(3, reason == Reason::secret
                                    ? "verbs: refused a connection without this job's secret"
                                    : "verbs: refused a connection of another version of stria");
    refuse(event.id, reason);
    return;
  }
  const bool self = hello.from == worker_id_;
  const auto attempt = attempts_.find(hello.from);
  const bool asked = attempt != attempts_.end() && attempt->second.state == Attempt::State::pending;
  if (!self && live_.count(hello.from) != 0) {
    refuse(event.id, Reason::busy);
    return;
  }
  if (!self && asked && hello.from > worker_id_) {
    refuse(event.id, Reason::yours_comes);
    return;
  }
  auto made = std::make_unique<Connection>();
  Connection& connection = *made;
  connection.id = event.id;
  connection.worker = hello.from;
  event.id->context = &connection;
  connections_[&connection] = std::move(made);
  if (auto link = make_link(connection); !link) {
    device_.services().log(
        3, fmt::format("verbs: a peer's connection is refused: {}", link.error().context).c_str());
    const Refusal refusal{kHelloMagic, kVersion, wire::kVersion, Reason::full, 0};
    ::rdma_reject(connection.id, &refusal, sizeof refusal);
    destroy(connection);
    return;
  }
  connection.link->set_peer(hello);
  if (self) {
    if (!asked || attempt->second.connection == nullptr || attempt->second.connection->link == nullptr) {
      destroy(connection);
      return;
    }
    attempt->second.connection->link->set_echo(*connection.link);
  } else if (asked) {  // ours gives way
    Connection* const ours = attempt->second.connection;
    attempt->second = {Attempt::State::superseded, nullptr, {}};
    if (ours != nullptr) destroy(*ours);
  }
  connection.up = true;
  device_.publish(*connection.link);
  // Before the answer: from then on packets may come by it.
  if (!self) {
    live_[hello.from] = &connection;
    tell({News::What::arrived, connection.link.get()});
  }
  const Hello answer = hello_to(connection);
  rdma_conn_param param = parameters(answer);
  param.responder_resources = std::min(param.responder_resources, event.param.initiator_depth);
  param.initiator_depth = std::min(param.initiator_depth, event.param.responder_resources);
  if (::rdma_accept(connection.id, &param) != 0) break_off(connection);
  changed_.notify_all();
}

void Connector::answered(Connection& connection, const Event& event) {
  const auto attempt = attempts_.find(connection.worker);
  if (attempt == attempts_.end() || attempt->second.connection != &connection) {  // nobody waits any more
    destroy(connection);
    return;
  }
  Hello hello{};
  if (event.data_bytes >= sizeof hello) std::memcpy(&hello, event.data, sizeof hello);
  Reason reason = Reason::broken;
  if (!is_good(hello, connection.worker, reason)) {
    fail(connection, Attempt::State::failed,
         {Status::unreachable, reason == Reason::secret ? "the peer has another job secret"
                                                        : "the peer's answer is none of this version"});
    return;
  }
  connection.link->set_peer(hello);
  connection.up = true;
  device_.publish(*connection.link);
  live_[connection.worker] = &connection;
  attempts_.erase(attempt);
  changed_.notify_all();
}

void Connector::ended(Connection& connection, const Event& event) {
  if (connection.up) {
    break_off(connection);
    return;
  }
  Attempt::State state = Attempt::State::failed;
  Status status = Status::unreachable;
  std::string why = fmt::format(
      "{}, {}", ::rdma_event_str(event.type),
      event.status < 0 ? std::strerror(-event.status) : fmt::format("status {}", event.status).c_str());
  Refusal refusal{};
  if (event.type == RDMA_CM_EVENT_REJECTED) {
    if (event.data_bytes >= sizeof refusal) std::memcpy(&refusal, event.data, sizeof refusal);
    if (refusal.magic == kHelloMagic) {
      why = text_of(refusal);
      if (refusal.reason == Reason::yours_comes) state = Attempt::State::superseded;
      if (refusal.reason == Reason::busy) state = Attempt::State::busy;
      if (refusal.reason == Reason::other_worker) status = Status::peer_failed;
    } else if (nobody_listens(event.status)) {
      why = kNobodyListens;
      status = Status::peer_failed;
    }
  }
  fail(connection, state, {status, why});
}

/// An attempt of ours came to nothing.
void Connector::fail(Connection& connection, Attempt::State state, Error error) {
  const auto attempt = attempts_.find(connection.worker);
  if (attempt != attempts_.end() && attempt->second.connection == &connection) {
    error.context = "verbs: " + error.context;
    attempt->second = {state, nullptr, std::move(error)};
  }
  destroy(connection);
  changed_.notify_all();
}

void Connector::break_off(Connection& connection) {
  if (connection.broken || connection.link == nullptr) return;
  connection.broken = true;
  ::rdma_disconnect(connection.id);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  if (connection.id->qp != nullptr) ::ibv_modify_qp(connection.id->qp, &error, IBV_QP_STATE);
  const auto live = live_.find(connection.worker);
  if (live != live_.end() && live->second == &connection) live_.erase(live);
  tell({News::What::broken, connection.link.get()});
  changed_.notify_all();
}

void Connector::destroy(Connection& connection) noexcept {
  if (connection.id != nullptr) {
    if (connection.id->qp != nullptr) ::rdma_destroy_qp(connection.id);
    ::rdma_destroy_id(connection.id);
  }
  const auto live = live_.find(connection.worker);
  if (live != live_.end() && live->second == &connection) live_.erase(live);
  if (connection.link != nullptr) device_.remove_link(*connection.link);
  for (auto& [command, about] : commands_)
    if (about == &connection) about = nullptr;
  targets_.erase(&connection);
  connections_.erase(&connection);
}

}  // namespace stria::verbs
