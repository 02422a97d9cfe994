// What stria_last_error() and stria_last_error_status() of a thread answer: a text, and the status that it
// explains. The function that decides a refusal sets the text. A text counts for one status only, so that it
// is never taken for the reason of another answer.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/status.hpp"

namespace stria::tag {

/// Bytes of the longest text, with its terminating zero; a longer text is cut.
inline constexpr std::size_t kLastErrorBytes = 1024;

/// Sets the text, for a status that the function of stria.h will answer and name by claim_last_error().
/// Allocates nothing.
void set_last_error(std::string_view text) noexcept;
/// Sets the text and the status that it explains. Allocates nothing.
void set_last_error(Status status, std::string_view text) noexcept;
/// Makes the text that was set without a status since the last claim the reason of `status`. False: there is
/// no such text.
bool claim_last_error(Status status) noexcept;
const char* last_error() noexcept;
/// ok: nothing failed yet in this thread, or the text is not claimed.
Status last_error_status() noexcept;

/// A provider's message without the provider's name and a colon at its beginning, for a text that names the
/// provider itself.
constexpr std::string_view without_name(std::string_view message, std::string_view provider) noexcept {
  if (!message.starts_with(provider) || message.substr(provider.size(), 2) != ": ") return message;
  return message.substr(provider.size() + 2);
}

/// Sets a text that is made from arguments. Allocates nothing, so that it serves where memory is out, too.
template <class... Args>
[[gnu::cold]] void format_last_error(Status status, fmt::format_string<Args...> format,
                                     Args&&... args) noexcept {
  try {
    char text[kLastErrorBytes];
    set_last_error(status, {text, format_into(text, format, std::forward<Args>(args)...)});
  } catch (...) {  // a format was checked when it was compiled; the status tells the rest
    set_last_error(status, "the call was refused");
  }
}

}  // namespace stria::tag
