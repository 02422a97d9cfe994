// A layout as text for people: what it is, and what will copy it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "datatype/layout.hpp"

namespace stria::datatype {

/// The innermost copy that one instance is packed by, and the name of the kernel table in use:
/// "loop over blocks of 8 bytes, paced (avx512)". Setup only: allocates.
std::string kernel_of(const Layout& layout);

/// For a layout that is copied part by part (a composite): the kernels of its parts, a line for each kind of
/// part, in the order of the first part of each kind: "3 parts: one copy". A kind that is itself a composite
/// is followed by the lines of its own parts, indented by two blanks, at most two levels deep. Of a composite
/// at most kShownKinds kinds are shown; one line more says how many parts and kinds are left out.
std::vector<std::string> kernels_of_parts(const Layout& layout);
inline constexpr std::size_t kShownKinds = 6;

/// Several lines, each ended by a line feed: the tree with its bounds; the size; the true extent; the kernel,
/// followed by the lines of kernels_of_parts(), indented by two blanks; the size of the wire descriptor.
std::string describe(const Layout& layout);

}  // namespace stria::datatype
