// The messages that two devices exchange while they connect, in the connection manager's private data: who
// the devices are, that they know the job's secret, and what a link can carry.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "transport/verbs/connection.hpp"
#include "transport/verbs/packets.hpp"

namespace stria::verbs {

class Handshake {
 public:
  struct Params {
    std::uint64_t worker_id;
    std::vector<std::byte> secret;
    std::uint16_t credits;      ///< packets that the peer may have in flight on a link
    std::uint32_t eager_bytes;  ///< payload bytes that a receive buffer of this side holds
    /// Most reads that the adapter serves, or has under way, at once on a queue pair.
    std::uint32_t max_reads;
  };
  explicit Handshake(Params params) noexcept : params_(std::move(params)) {}
  std::uint64_t worker_id() const noexcept { return params_.worker_id; }

  /// This side's Hello for the request of a connection, or for the answer.
  Hello hello_to(const Connection& connection) const noexcept;
  /// The connection parameters of a request or an answer. They point to `hello`, which has to outlive them.
  rdma_conn_param parameters(const Hello& hello) const noexcept;
  /// Reads and checks the Hello of a peer. `from`: the worker id that the peer must have; 0: any. False: the
  /// Hello is refused, for `reason`.
  bool read(const void* data, std::size_t bytes, std::uint64_t from, Hello& out,
            Reason& reason) const noexcept;

  /// The private data of a reject.
  static Refusal refusal(Reason reason) noexcept;
  /// What a peer's refusal means, for the log and for error texts.
  static std::string text_of(const Refusal& refusal);

 private:
  const Params params_;
};

}  // namespace stria::verbs
