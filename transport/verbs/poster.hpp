// Posts work requests to a queue pair: through the builder API (ibv_wr_*) where the device's library has it,
// through ibv_post_send elsewhere. One call of post() is one doorbell. Work requests and doorbells are
// counted, because tests assert what a message costs. A work request that fills a strided key is built by a
// call of the device's own library, among the calls of the builder API.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "hw/strided_library.hpp"

namespace stria::verbs {

struct Window;

/// What a device has done so far.
struct Counters {
  std::uint64_t work_requests = 0;
  std::uint64_t doorbells = 0;
  std::uint64_t credit_packets = 0;         ///< packets of credits alone
  std::uint64_t windows_bound = 0;          ///< windows bound and strided keys filled
  std::uint64_t strided_keys = 0;           ///< strided keys filled
  std::uint64_t closed_by_peer = 0;         ///< windows and strided keys that the peer's message invalidated
  std::uint64_t closed_here = 0;            ///< windows and strided keys that this side had to invalidate
  std::uint64_t registrations = 0;          ///< of memory of the application
  std::uint64_t registrations_met = 0;      ///< uses of memory that was registered already
  std::uint64_t registrations_gone = 0;     ///< registrations found useless, as their memory went away
  std::uint64_t registrations_evicted = 0;  ///< unused registrations that were dropped to make room
};

class Poster {
 public:
  /// `builder`: the queue pair was made with ibv_wr_* operations. `strided`: it was also made with the
  /// operations of this library for strided keys; else null.
  void use(ibv_qp* qp, bool builder, const hw::StridedLibrary* strided, Counters& counters) noexcept {
    qp_ = qp;
    extended_ = builder ? ::ibv_qp_to_qp_ex(qp) : nullptr;
    strided_ = extended_ != nullptr && strided != nullptr ? strided->extension_of(extended_) : nullptr;
    counters_ = &counters;
  }
  /// Posts `count` requests in this order, and may set their `next`. Inline data is one piece. The first
  /// requests may have the opcode kFill: requests[i] fills the strided key of windows[i]. Returns 0, or an
  /// errno value: then the queue pair is of no use any more, as some of the requests may have been posted.
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
