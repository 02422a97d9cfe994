// Owns objects that UCX hands out and wants back: each is released by the function of UCX that belongs to it.
#pragma once

#include <uct/api/uct.h>

namespace stria::uct {

template <class T, void (*kRelease)(T)>
struct Released {
  explicit Released(T of) noexcept : value(of) {}
  ~Released() {
    if (value != nullptr) kRelease(value);
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  T value;
};

inline void release_config(void* config) {
  uct_config_release(config);
}
using UctConfig = Released<void*, release_config>;

}  // namespace stria::uct
