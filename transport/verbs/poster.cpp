#include "transport/verbs/poster.hpp"

#include <algorithm>
#include <cstddef>

#include "transport/verbs/keys.hpp"

namespace stria::verbs {

/// Adds one request by the builder API, between ibv_wr_start and ibv_wr_complete.
void Poster::build(const ibv_send_wr& request) noexcept {
  extended_->wr_id = request.wr_id;
  // IBV_SEND_INLINE, too: rxe looks for it here; other libraries do not need it.
  extended_->wr_flags = request.send_flags;
  switch (request.opcode) {
    case IBV_WR_SEND:
      ::ibv_wr_send(extended_);
      break;
    case IBV_WR_SEND_WITH_INV:
      ::ibv_wr_send_inv(extended_, request.invalidate_rkey);
      break;
    case IBV_WR_RDMA_READ:
      ::ibv_wr_rdma_read(extended_, request.wr.rdma.rkey, request.wr.rdma.remote_addr);
      break;
    case IBV_WR_RDMA_WRITE:
      ::ibv_wr_rdma_write(extended_, request.wr.rdma.rkey, request.wr.rdma.remote_addr);
      break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      ::ibv_wr_atomic_fetch_add(extended_, request.wr.atomic.rkey, request.wr.atomic.remote_addr,
                                request.wr.atomic.compare_add);
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      ::ibv_wr_atomic_cmp_swp(extended_, request.wr.atomic.rkey, request.wr.atomic.remote_addr,
                              request.wr.atomic.compare_add, request.wr.atomic.swap);
      break;
    case IBV_WR_BIND_MW:
      ::ibv_wr_bind_mw(extended_, request.bind_mw.mw, request.bind_mw.rkey, &request.bind_mw.bind_info);
      return;
    case IBV_WR_LOCAL_INV:
      ::ibv_wr_local_inv(extended_, request.invalidate_rkey);
      return;
    default:
      return;
  }
  if ((request.send_flags & IBV_SEND_INLINE) != 0)
    ::ibv_wr_set_inline_data(extended_, reinterpret_cast<void*>(request.sg_list->addr),
                             request.sg_list->length);
  else if (request.num_sge == 1)
    ::ibv_wr_set_sge(extended_, request.sg_list->lkey, request.sg_list->addr, request.sg_list->length);
  else
    ::ibv_wr_set_sge_list(extended_, static_cast<std::size_t>(request.num_sge), request.sg_list);
}

/// Adds a request that fills a strided key, between ibv_wr_start and ibv_wr_complete.
void Poster::fill(const ibv_send_wr& request, Window& window) noexcept {
  extended_->wr_id = request.wr_id;
  extended_->wr_flags = request.send_flags | IBV_SEND_INLINE;
  hw::build_strided_key(strided_, *window.strided->mkey, window.rights, window.strided->pattern);
}

int Poster::post(ibv_send_wr* requests, unsigned count, Window* const* windows) noexcept {
  counters_->work_requests += count;
  ++counters_->doorbells;
  // With the builder API rxe of rdma-core 44 loses gather lists: all inline pieces, and of other pieces what
  // goes beyond the first. So requests with lists go by ibv_post_send, except where strided keys may be
  // filled: that has no other way, and such a library is not rxe's.
  const bool lists =
      strided_ == nullptr &&
      std::any_of(requests, requests + count, [](const ibv_send_wr& one) { return one.num_sge > 1; });
  if (extended_ != nullptr && !lists) {
    ::ibv_wr_start(extended_);
    for (unsigned i = 0; i < count; ++i)
      if (requests[i].opcode == kFill)
        fill(requests[i], *windows[i]);
      else
        build(requests[i]);
    return ::ibv_wr_complete(extended_);
  }
  for (unsigned i = 0; i < count; ++i) requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
  ibv_send_wr* refused = nullptr;
  return ::ibv_post_send(qp_, requests, &refused);
}

}  // namespace stria::verbs
