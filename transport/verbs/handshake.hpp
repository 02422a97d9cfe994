// What two devices say to each other while they connect, in the connection manager's private data: who they
// are, that they know the job's secret, and what a link can carry.
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
    std::uint16_t credits;
    std::uint32_t eager_bytes;
    std::uint32_t max_reads;  ///< that the adapter serves, or has under way, at once
  };
  explicit Handshake(Params params) noexcept : params_(std::move(params)) {}
  std::uint64_t worker_id() const noexcept { return params_.worker_id; }

  Hello hello_to(const Connection& connection) const noexcept;
  /// How the connection manager is to connect, with that to say.
  rdma_conn_param parameters(const Hello& hello) const noexcept;
  /// Reads what a peer said. `from`: the worker that it has to be of, or 0. False: `reason`.
  bool read(const void* data, std::size_t bytes, std::uint64_t from, Hello& out,
            Reason& reason) const noexcept;

  static Refusal refusal(Reason reason) noexcept;
  static std::string text_of(const Refusal& refusal);

 private:
  const Params params_;
};

}  // namespace stria::verbs
