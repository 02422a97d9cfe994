// fmt::format() for errors and log lines. Code that is linked into stria includes this header and never
// <fmt/format.h>: this one only declares fmt, which takes a tenth of the time to compile. base/format.cpp is
// the one source that holds fmt's implementation, so that no library of fmt is loaded with stria, and no
// other copy of fmt in the process is called.
//
// Linked in are fmt::format() and what is declared below. Use of another function of fmt (print, join,
// format_to) ends in an undefined reference; compose the text here instead.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <span>

namespace stria {

/// Writes the text, without a zero byte, to the beginning of `to`, and cuts what does not fit. Returns the
/// number of bytes written. Allocates nothing; throws only what fmt throws for a wrong format string.
std::size_t vformat_into(std::span<char> to, fmt::string_view format, fmt::format_args args);

template <class... Args>
std::size_t format_into(std::span<char> to, fmt::format_string<Args...> format, Args&&... args) {
  return vformat_into(to, format, fmt::make_format_args(args...));
}

}  // namespace stria
