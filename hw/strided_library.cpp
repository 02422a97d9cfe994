#include "hw/strided_library.hpp"

#include <dlfcn.h>

namespace stria::hw {
namespace {

template <class Call>
bool find(void* library, const char* name, Call& call) noexcept {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

}  // namespace

std::optional<StridedLibrary> loaded_strided_library() noexcept {
  // libibverbs loads the library as a driver of another name; by its soname it is the same library.
  void* const library = ::dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  StridedLibrary out;
  const bool complete = find(library, "mlx5dv_is_supported", out.is_supported) &&
                        find(library, "mlx5dv_create_qp", out.create_qp) &&
                        find(library, "mlx5dv_qp_ex_from_ibv_qp_ex", out.extension_of) &&
                        find(library, "mlx5dv_create_mkey", out.create_key) &&
                        find(library, "mlx5dv_destroy_mkey", out.destroy_key);
  // The library stays loaded: libibverbs never lets go of a driver.
  ::dlclose(library);
  if (!complete) return std::nullopt;
  return out;
}

ibv_qp* create_strided_queue_pair(const StridedLibrary& library, ibv_context* context,
                                  ibv_qp_init_attr_ex& attributes) noexcept {
  mlx5dv_qp_init_attr more{};
  more.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
  more.send_ops_flags = MLX5DV_QP_EX_WITH_MR_INTERLEAVED | MLX5DV_QP_EX_WITH_MR_LIST;
  return library.create_qp(context, &attributes, &more);
}

}  // namespace stria::hw
