// The calls of an adapter's own library that make strided keys. rdma-core has no general calls for them, and
// a process on another adapter has no such library. So the library is looked for among those that the process
// has loaded, where libibverbs has put it when it met an adapter of that kind. Nothing is loaded here, and
// nothing linked. A test has calls of its own.
#pragma once

#include <infiniband/mlx5dv.h>

#include <optional>

namespace stria::hw {

struct StridedLibrary {
  bool (*is_supported)(ibv_device* device) = nullptr;  ///< whether the library drives the device
  ibv_qp* (*create_qp)(ibv_context* context, ibv_qp_init_attr_ex* attributes,
                       mlx5dv_qp_init_attr* more) = nullptr;
  mlx5dv_qp_ex* (*extension_of)(ibv_qp_ex* queue_pair) = nullptr;
  mlx5dv_mkey* (*create_key)(mlx5dv_mkey_init_attr* attributes) = nullptr;
  int (*destroy_key)(mlx5dv_mkey* key) = nullptr;
};

/// The calls of the library that the process has loaded. Nothing: no such library is loaded, or it is too old
/// to have all calls. For setup.
std::optional<StridedLibrary> loaded_strided_library() noexcept;

/// Creates a queue pair with the work requests that fill strided keys, beside those of `attributes`. Null:
/// errno says why.
ibv_qp* create_strided_queue_pair(const StridedLibrary& library, ibv_context* context,
                                  ibv_qp_init_attr_ex& attributes) noexcept;

}  // namespace stria::hw
