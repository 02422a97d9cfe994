// How work requests reach a queue pair: through the builder API (ibv_wr_*) where the device's library has it,
// through ibv_post_send elsewhere. One call is one doorbell; both are counted, as tests assert what a message
// costs.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace stria::verbs {

struct Counters {
  std::uint64_t work_requests = 0;
  std::uint64_t doorbells = 0;
  std::uint64_t credit_packets = 0;
  std::uint64_t windows_bound = 0;
  std::uint64_t closed_by_peer = 0;         ///< windows that a message invalidated
  std::uint64_t closed_here = 0;            ///< and those that had to be invalidated here
  std::uint64_t registrations = 0;          ///< of memory of the application
  std::uint64_t registrations_met = 0;      ///< found registered already
  std::uint64_t registrations_gone = 0;     ///< kept ones whose memory went away meanwhile
  std::uint64_t registrations_evicted = 0;  ///< kept ones that had to make room
};

class Poster {
 public:
  /// `builder`: the queue pair was made with ibv_wr_* operations.
  void use(ibv_qp* qp, bool builder, Counters& counters) noexcept {
    qp_ = qp;
    extended_ = builder ? ::ibv_qp_to_qp_ex(qp) : nullptr;
    counters_ = &counters;
  }
  /// Posts `count` requests in this order; sets their `next`. Inline data is one piece. 0, or an errno value:
  /// the queue pair is of no use any more then, as some of them may have been taken.
  int post(ibv_send_wr* requests, unsigned count) noexcept;
  ibv_qp* queue_pair() const noexcept { return qp_; }

 private:
  void build(const ibv_send_wr& request) noexcept;
  ibv_qp* qp_ = nullptr;
  ibv_qp_ex* extended_ = nullptr;
  Counters* counters_ = nullptr;
};

}  // namespace stria::verbs
