// What the matching benchmark varies: which queue is deep, in which order it is taken, and what its receives
// name.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace stria::bench {

struct MatchCase {
  const char* name;
  bool unexpected;  ///< messages wait for their receives, not receives for their messages
  bool reversed;    ///< the last that waits is matched first
  bool any_source;  ///< all receives: no source is named
  bool any_tag;     ///< the window's receives: no tag is named
};

/// Receives of any tag would take the messages that lie before the window, so they are posted ahead alone;
/// and they are matched in their own order, whatever the order of the tags.
inline constexpr std::array<MatchCase, 9> kMatchCases = {{
    {"posted", false, false, false, false},
    {"posted-reversed", false, true, false, false},
    {"posted-any", false, false, true, false},
    {"posted-any-reversed", false, true, true, false},
    {"posted-any-tag", false, false, false, true},
    {"unexpected", true, false, false, false},
    {"unexpected-reversed", true, true, false, false},
    {"unexpected-any", true, false, true, false},
    {"unexpected-any-reversed", true, true, true, false},
}};

/// Receives, or messages, that lie before the measured window.
inline constexpr long kMostDepth = 1'000'000;
inline const std::vector<long> kUsualDepths = {0, 1, 10, 100, 1000, 10000, 100000};

/// Those of the names, in the order above; all without names.
inline std::vector<MatchCase> match_cases(const std::vector<std::string>& names) {
  std::vector<MatchCase> chosen;
  for (const MatchCase& one : kMatchCases) {
    bool wanted = names.empty();
    for (const std::string& name : names) wanted = wanted || name == one.name;
    if (wanted) chosen.push_back(one);
  }
  return chosen;
}

}  // namespace stria::bench
