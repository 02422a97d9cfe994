// The implementation of fmt, private to whatever links base/: compiled here from fmt's headers, with
// hidden symbols.
#include "base/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#ifndef FMT_HEADER_ONLY
#error "FMT_HEADER_ONLY is not defined: base/CMakeLists.txt defines it for this file"
#endif

namespace stria {
namespace {

// A header-only function is emitted only where it is used, and the other sources refer to this one.
[[gnu::used]] constexpr std::string (*kFormat)(fmt::string_view, fmt::format_args) = &fmt::vformat;

}  // namespace

std::size_t vformat_into(std::span<char> to, fmt::string_view format, fmt::format_args args) {
  const auto end = fmt::vformat_to_n(to.data(), to.size(), format, args);
  return std::min(end.size, to.size());
}

}  // namespace stria
