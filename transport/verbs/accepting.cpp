// How the connector answers a peer that asks for a connection; and the later life of any connection, also of
// one that this side asked for: it is up and the worker is told, it ends, and it is destroyed when the worker
// gives it back.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "transport/verbs/connector.hpp"

namespace stria::verbs {

/// Rejects a request, and destroys its id.
void Connector::refuse(rdma_cm_id* id, Reason reason) noexcept {
  const Refusal refusal = Handshake::refusal(reason);
  ::rdma_reject(id, &refusal, sizeof refusal);
  ::rdma_destroy_id(id);
}

/// Accepts or refuses the connection request of a peer.
void Connector::welcome(const Event& event) {
  Hello hello;
  Reason reason{};
  if (!handshake_.read(event.data, event.data_bytes, 0, hello, reason)) {
    if (reason == Reason::secret || reason == Reason::version)
      params_.services.log(3, reason == Reason::secret
                                  ? "verbs: refused a connection without this job's secret"
                                  : "verbs: refused a connection of another version of stria");
    refuse(event.id, reason);
    return;
  }
  const bool self = hello.from == handshake_.worker_id();
  const auto attempt = attempts_.find(hello.from);
  const bool asks = attempt != attempts_.end() && attempt->second.state == Attempt::State::asking;
  if (self && !asks) {  // our own request: it has been given up
    refuse(event.id, Reason::broken);
    return;
  }
  if (!self && live_.count(hello.from) != 0) {
    refuse(event.id, Reason::busy);
    return;
  }
  if (asks && hello.from > handshake_.worker_id()) {
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
    const Refusal refusal = Handshake::refusal(Reason::full);
    ::rdma_reject(connection.id, &refusal, sizeof refusal);
    destroy(connection);
    return;
  }
  if (asks && !self) destroy(*attempt->second.connection);  // our request gives way to the peer's
  // The worker is told before the answer goes: from then on packets may come by the connection.
  up(connection);
  const Hello answer = handshake_.hello_to(connection);
  rdma_conn_param param = handshake_.parameters(answer);
  param.responder_resources = std::min(param.responder_resources, event.param.initiator_depth);
  param.initiator_depth = std::min(param.initiator_depth, event.param.responder_resources);
  if (::rdma_accept(connection.id, &param) != 0) break_off(connection);
}

/// Tells the worker that the connection is up. The worker owns it from here on. This is also the answer to an
/// attempt to that worker, unless it is the accepting end of a connection to ourselves: there the asking end
/// is the answer.
void Connector::up(Connection& connection) {
  connection.told = true;
  const bool is_answer = connection.asked || connection.worker != handshake_.worker_id();
  if (is_answer) {
    live_[connection.worker] = &connection;
    attempts_.erase(connection.worker);
  }
  mailbox_.report({News::What::up, &connection, connection.worker, {}});
}

/// Ends a connection that the worker was told of: disconnects, puts the queue pair into error, and tells the
/// worker. Does nothing when that has been done.
void Connector::break_off(Connection& connection) {
  if (connection.broken) return;
  connection.broken = true;
  ::rdma_disconnect(connection.id);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  if (connection.id->qp != nullptr) ::ibv_modify_qp(connection.id->qp, &error, IBV_QP_STATE);
  mailbox_.report({News::What::broken, &connection, connection.worker, {}});
}

/// Destroys a connection and its queue pair, and frees its number.
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
