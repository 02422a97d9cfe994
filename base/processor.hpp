// What the processor and its caches are, wherever that decides how bytes are copied. All of it is asked here,
// once in a process, and each answer can be given by a variable instead (docs/configuration.md). So a program
// can be run as if on another machine, which the tests do (tests/host).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/pacing.hpp"

namespace stria {

/// The widest vector instructions that copies use; each includes those before it.
enum class Vectors : std::uint8_t {
  portable,  ///< what every processor of this architecture has
  avx2,      ///< with BMI 1 and 2
  avx512,    ///< F, BW, VL and VBMI
};
const char* to_string(Vectors vectors) noexcept;

/// What a process uses that was told `wish` (a value of STRIA_VECTORS) on a processor that has `widest`. A
/// wish for more is lowered, with a warning.
Vectors choose_vectors(std::string_view wish, Vectors widest) noexcept;

/// Each field has the variable that decides it in place of the machine.
struct Processor {
  Vectors vectors = Vectors::portable;  ///< STRIA_VECTORS; never more than the processor has
  Pacing pacing = Pacing::few;          ///< STRIA_PACING; else few until learn_pacing() is called
  bool fast_strings = false;            ///< STRIA_STRINGS; else what the processor says (FSRM)
  std::int64_t first_cache_bytes = 0;   ///< STRIA_FIRST_CACHE; of a core, for data; 0: unknown
  std::int64_t last_cache_bytes = 0;    ///< STRIA_LAST_CACHE; 0: unknown
};

/// The answers. The first call finds them, and warns of a variable that asks for instructions which this
/// processor does not have; later calls return the same. Any thread may call it.
const Processor& processor() noexcept;

/// Takes what was measured (hw/machine.hpp) for processor().pacing, unless STRIA_PACING says otherwise. For
/// setup. Copies that another thread makes meanwhile are paced one way or the other.
void learn_pacing(Pacing measured) noexcept;

namespace detail {
extern Processor known_processor;
}
/// processor() for the data path: one load, without the question whether it was called. Before the first call
/// of processor() the answers are those of a plain Processor, with which every copy is right, but slower.
inline const Processor& known_processor() noexcept {
  return detail::known_processor;
}

}  // namespace stria
