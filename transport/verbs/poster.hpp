// How work requests reach a queue pair: through the builder API (ibv_wr_*) where the device's library has it,
// through ibv_post_send elsewhere. One call is one doorbell; both are counted, as tests assert what a message
// costs. Those that fill a strided key have calls of the device's own library, beside the builder's.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "hw/strided_library.hpp"

namespace stria::verbs {

struct Window;

struct Counters {
  std::uint64_t work_requests = 0;
  std::uint64_t doorbells = 0;
  std::uint64_t credit_packets = 0;
  std::uint64_t windows_bound = 0;          ///< or strided keys filled
  std::uint64_t strided_keys = 0;           ///< those among them
  std::uint64_t closed_by_peer = 0;         ///< windows that a message invalidated
  std::uint64_t closed_here = 0;            ///< and those that had to be invalidated here
  std::uint64_t registrations = 0;          ///< of memory of the application
  std::uint64_t registrations_met = 0;      ///< found registered already
  std::uint64_t registrations_gone = 0;     ///< kept ones whose memory went away meanwhile
  std::uint64_t registrations_evicted = 0;  ///< kept ones that had to make room
};

class Poster {
 public:
  /// `builder`: the queue pair was made with ibv_wr_* operations; `strided`: and with those of strided keys.
  void use(ibv_qp* qp, bool builder, const hw::StridedLibrary* strided, Counters& counters) noexcept {
    qp_ = qp;
    extended_ = builder ? ::ibv_qp_to_qp_ex(qp) : nullptr;
    strided_ = extended_ != nullptr && strided != nullptr ? strided->extension_of(extended_) : nullptr;
    counters_ = &counters;
  }
  /// Posts `count` requests in this order; sets their `next`. Inline data is one piece. The first of them may
  /// be of the opcode kFill: requests[i] fills the strided key of windows[i]. 0, or an errno value: the queue
  /// pair is of no use any more then, as some of them may have been taken.
  int post(ibv_send_wr* requests, unsigned count, Window* const* windows) noexcept;
  static constexpr ibv_wr_opcode kFill = IBV_WR_DRIVER1;
  ibv_qp* queue_pair() const noexcept { return qp_; }

 private:
  void build(const ibv_send_wr& request) noexcept;
  void fill(const ibv_send_wr& request, Window& window) noexcept;
  ibv_qp* qp_ = nullptr;
  ibv_qp_ex* extended_ = nullptr;
  mlx5dv_qp_ex* strided_ = nullptr;
  Counters* counters_ = nullptr;
};

}  // namespace stria::verbs
