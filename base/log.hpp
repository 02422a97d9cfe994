// The log: one line a message on stderr, "stria[pid] warning: …". The level is STRIA_LOG (error, warn, info,
// debug, trace, off; default warn). For setup, errors and other cold paths: a message that goes its usual way
// logs nothing.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/format.hpp"

namespace stria::log {

enum class Level : int { trace, debug, info, warn, error, off };

/// The level of this name; warn for a name that is none.
Level level_of(std::string_view name) noexcept;
/// The level in force: the environment's STRIA_LOG; from the first context on, the level of the context that
/// was opened last.
Level level() noexcept;
void set_level(Level level) noexcept;
/// Writes one line. Thread safe.
void write(Level level, std::string_view text) noexcept;

template <class... Args>
[[gnu::cold]] void print(Level at, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (at < level()) return;
  try {
    write(at, fmt::format(format, std::forward<Args>(args)...));
  } catch (...) {
    write(at, "(a message that could not be formatted)");
  }
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) noexcept {
  print(Level::error, format, std::forward<Args>(args)...);
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) noexcept {
  print(Level::warn, format, std::forward<Args>(args)...);
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) noexcept {
  print(Level::info, format, std::forward<Args>(args)...);
}
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) noexcept {
  print(Level::debug, format, std::forward<Args>(args)...);
}

/// Counts something that others can repeat at will, and says when it is worth a line: the first four times,
/// then each time the count has doubled. So the lines stay few, and the last one tells how often it was at
/// least.
class Repeated {
 public:
  [[gnu::cold]] bool is_worth_a_line() noexcept {
    ++count_;
    return count_ <= 4 || std::has_single_bit(count_);
  }
  std::uint64_t count() const noexcept { return count_; }

 private:
  std::uint64_t count_ = 0;
};

}  // namespace stria::log
