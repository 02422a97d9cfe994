// A layout as text for people: what it is, and what will copy it.
#pragma once

#include <string>

#include "datatype/layout.hpp"

namespace stria::datatype {

/// The innermost copy that one instance is packed by, and the processor's table it is from:
/// "loop over blocks of 8 bytes, paced (avx512)". Setup only: allocates.
std::string kernel_of(const Layout& layout);

/// The tree with its bounds in the first line, then a line each for size, kernel and the wire descriptor.
/// Each line ends with a line feed.
std::string describe(const Layout& layout);

}  // namespace stria::datatype
