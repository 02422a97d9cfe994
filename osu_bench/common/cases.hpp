// The shapes of the datatype benchmark: the communicated memory of programs, each with one parameter.
// README.md says what each name stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "osu_bench/common/recipe.hpp"

namespace stria::bench {

struct Case {
  std::string name;
  long parameter;  ///< what varies within the name
  Recipe sent;
  Recipe received;  ///< same signature as `sent`
};

struct Selection {
  std::vector<std::string> cases = {};  ///< "column", or with a parameter "column:512"; empty: all
  std::vector<long> parameters = {};    ///< empty: all
  std::size_t largest = 0;              ///< no cases of more bytes; 0: no limit
  std::uint64_t seed = 12345;  ///< of irregular lengths, gaps and lists: both ranks must have the same
};

std::vector<Case> datatype_cases(const Selection& selection);
/// Throws std::invalid_argument when the selection names a case that does not exist.
void check_cases(const Selection& selection);

}  // namespace stria::bench
