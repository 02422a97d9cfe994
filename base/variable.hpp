// Descriptions of configuration variables, as the rooms and the built-in providers write them: each has one
// constant array in a file variables.hpp of its own. The composition root (tag/known_variables.hpp) puts the
// arrays together.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "stria/variable.h"

namespace stria {

using Variable = stria_variable_t;
using Variables = std::span<const Variable>;
/// Arrays in the order in which they are listed. The arrays outlive what refers to them.
using VariableGroups = std::vector<Variables>;

/// The audience of a variable: `user` runs programs over stria, `expert` tunes or tests stria.
enum class Level : std::uint32_t { user = STRIA_CONFIG_USER, expert = STRIA_CONFIG_EXPERT };

/// What a number may be, both ends included.
struct Range {
  std::int64_t minimum = 0;
  std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
};

constexpr Variable text_variable(Level level, const char* name, const char* by_default, const char* meaning) {
  return {name, STRIA_VARIABLE_TEXT, static_cast<std::uint32_t>(level), by_default, "", "", 0, 0, meaning};
}
constexpr Variable choice_variable(Level level, const char* name, const char* by_default, const char* choices,
                                   const char* meaning) {
  return {name,   STRIA_VARIABLE_CHOICE, static_cast<std::uint32_t>(level), by_default, "", choices, 0, 0,
          meaning};
}
/// Six parameters: the entries of a variables.hpp are read as lines of a table.
constexpr Variable number_variable(Level level, const char* name, const char* by_default, const char* unit,
                                   Range range, const char* meaning) {
  return {name,
          STRIA_VARIABLE_NUMBER,
          static_cast<std::uint32_t>(level),
          by_default,
          unit,
          "",
          range.minimum,
          range.maximum,
          meaning};
}
constexpr Variable bytes_variable(Level level, const char* name, const char* by_default, Range range,
                                  const char* meaning) {
  return {name,
          STRIA_VARIABLE_BYTES,
          static_cast<std::uint32_t>(level),
          by_default,
          "bytes",
          "",
          range.minimum,
          range.maximum,
          meaning};
}

/// Whether descriptions from outside can be relied upon: no text is missing, each name begins with `prefix`
/// and occurs once, kind and level are known, each default is an allowed value. The error names the variable.
Result<void> check_variables(Variables variables, std::string_view prefix);

}  // namespace stria
