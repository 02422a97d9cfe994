// Makes queue pairs, and finds out by making some for trial what they can do: how much inline data they take,
// the builder API, and strided keys where the adapter's own library has them. The connection manager can make
// queue pairs only through libibverbs, so they are made here and given to it.
#include <algorithm>
#include <cerrno>

#include "hw/strided_keys.hpp"
#include "transport/verbs/adapter.hpp"

namespace stria::verbs {
namespace {

// Most inline bytes to ask for. More would make every work request in the queue longer.
constexpr std::uint32_t kMostInline = 256;
constexpr std::uint32_t kLeastInline = 32;

}  // namespace

/// The attributes of every queue pair of this adapter.
ibv_qp_init_attr_ex Adapter::queue_pair() const noexcept {
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = send_cq;
  attr.recv_cq = recv_cq;
  attr.srq = srq;
  attr.qp_type = IBV_QPT_RC;
  attr.cap.max_send_wr = kSendDepth;
  attr.cap.max_send_sge = std::clamp(traits.max_sge, 1u, 16u);
  attr.cap.max_inline_data = traits.inline_bytes;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  attr.pd = pd;
  if (builder) {
    attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE;
    if (traits.send_invalidate) attr.send_ops_flags |= IBV_QP_EX_WITH_SEND_WITH_INV;
    if (traits.atomics)
      attr.send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    if (traits.has_windows()) attr.send_ops_flags |= IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
  }
  return attr;
}

ibv_qp* Adapter::create(ibv_qp_init_attr_ex& attributes) const noexcept {
  return strided ? hw::create_strided_queue_pair(*strided, context, attributes)
                 : ::ibv_create_qp_ex(context, &attributes);
}

bool Adapter::make_queue_pair(rdma_cm_id& id) const noexcept {
  ibv_qp_init_attr_ex attr = queue_pair();
  ibv_qp* const made = create(attr);
  if (made == nullptr) return false;
  ibv_qp_attr first{};
  int mask = 0;
  first.qp_state = IBV_QPS_INIT;
  int error = ::rdma_init_qp_attr(&id, &first, &mask) == 0 ? 0 : errno;
  if (error == 0) error = ::ibv_modify_qp(made, &first, mask);
  if (error != 0) {
    ::ibv_destroy_qp(made);
    errno = error;
    return false;
  }
  id.qp = made;
  return true;
}

/// Makes a queue pair for trial, with or without the builder API, that takes as much inline data as possible,
/// and notes how much that is. False: none can be made.
bool Adapter::probe_queue_pair(bool with_builder) {
  builder = with_builder;
  for (std::uint32_t asked = kMostInline; asked >= kLeastInline; asked /= 2) {
    ibv_qp_init_attr_ex attr = queue_pair();
    attr.cap.max_inline_data = asked;
    ibv_qp* const made = create(attr);
    if (made == nullptr) continue;
    traits.inline_bytes = std::min(attr.cap.max_inline_data, kMostInline);
    ::ibv_destroy_qp(made);
    return true;
  }
  return false;
}

/// Finds the best kind of queue pair that can be made, which all links will have. False: none can be made.
bool Adapter::probe_queue_pairs() {
  const auto library = hw::loaded_strided_library();
  if (library && use_strided_keys(*library)) return true;
  if (probe_queue_pair(true) || probe_queue_pair(false)) return true;
  traits.inline_bytes = 0;
  ibv_qp_init_attr_ex attr = queue_pair();
  ibv_qp* const made = create(attr);
  if (made == nullptr) return false;
  ::ibv_destroy_qp(made);
  return true;
}

/// Strided keys need windows and messages that invalidate: a strided key is ended as a window is, and windows
/// serve memory that no strided key takes.
bool Adapter::use_strided_keys(const hw::StridedLibrary& library) {
  if (!traits.has_windows() || !traits.send_invalidate || !library.is_supported(context->device))
    return false;
  strided = library;
  if (probe_queue_pair(true)) {
    traits.strided = hw::strided_keys_of(traits.inline_bytes);
    if (traits.strided.entries > 0) {
      // Older kernels make no key whose consumer key may change, and none at all without DEVX.
      auto attributes = hw::strided_key_attributes(pd, static_cast<std::uint16_t>(traits.strided.entries));
      mlx5dv_mkey* const key = library.create_key(&attributes);
      if (key != nullptr) {
        static_cast<void>(library.destroy_key(key));
        return true;
      }
    }
  }
  strided.reset();
  traits.strided = {};
  return false;
}

}  // namespace stria::verbs
