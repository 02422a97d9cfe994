// A layout as text for people: what it is, and what will copy it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "datatype/layout.hpp"

namespace stria::datatype {

/// The innermost copy that one instance is packed by, and the processor's table it is from:
/// "loop over blocks of 8 bytes, paced (avx512)". Setup only: allocates.
std::string kernel_of(const Layout& layout);

/// Where that is part by part: the kernels of the parts, a line for each kind, in the order of their first
/// parts: "3 parts: one copy". Kinds that are composites themselves have theirs in the lines that follow,
/// indented by two blanks. At most kShownKinds of a composite, and two levels; a last line says how many
/// more.
std::vector<std::string> kernels_of_parts(const Layout& layout);
inline constexpr std::size_t kShownKinds = 6;

/// The tree with its bounds in the first line, then a line each for size, kernel and the wire descriptor;
/// behind the kernel's, indented by two blanks, those of kernels_of_parts(). Each line ends with a line feed.
std::string describe(const Layout& layout);

}  // namespace stria::datatype
