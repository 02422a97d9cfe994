// The calls of an adapter's own library that make strided keys. rdma-core has no general ones, and a process
// on another adapter has no such library: it is looked for among what the process has loaded, where
// libibverbs put it when it met an adapter of its kind. Nothing is loaded here, and nothing linked. A test
// has calls of its own.
#pragma once

#include <infiniband/mlx5dv.h>

#include <optional>

namespace stria::hw {

struct StridedLibrary {
  bool (*is_supported)(ibv_device* device) = nullptr;  ///< the device is one of this library
  ibv_qp* (*create_qp)(ibv_context* context, ibv_qp_init_attr_ex* attributes,
                       mlx5dv_qp_init_attr* more) = nullptr;
  mlx5dv_qp_ex* (*extension_of)(ibv_qp_ex* queue_pair) = nullptr;
  mlx5dv_mkey* (*create_key)(mlx5dv_mkey_init_attr* attributes) = nullptr;
  int (*destroy_key)(mlx5dv_mkey* key) = nullptr;
};

/// Nothing: no such library is loaded, or it is too old to have all of them. Setup cost.
std::optional<StridedLibrary> loaded_strided_library() noexcept;

/// A queue pair with the work requests that fill strided keys, beside those of `attributes`; null: errno.
ibv_qp* create_strided_queue_pair(const StridedLibrary& library, ibv_context* context,
                                  ibv_qp_init_attr_ex& attributes) noexcept;

}  // namespace stria::hw
