// How strided copies are paced: by stores between the elements that let fewer cache misses begin
// (datatype/kernels/strided.hpp).
#pragma once

#include <cstdint>

namespace stria {

enum class Pacing : std::uint8_t {
  off,   ///< no stores between the elements
  few,   ///< up to 5, where a core holds some 70 stores that are under way
  many,  ///< up to 10, where it holds more
};
constexpr const char* to_string(Pacing pacing) noexcept {
  return pacing == Pacing::many ? "many" : pacing == Pacing::few ? "few" : "off";
}

}  // namespace stria
