// Configuration: the values of variables, as a snapshot that a context takes when it opens. Which variables
// there are is told by the caller (variable.hpp): base/ has a list of its own only. Values come from the
// default, the environment (STRIA_*), or an override such as an MCA parameter, each of which wins over those
// before it, and remember where they came from.
//
// Variables are looked up by name, which is for setup alone: what runs per message reads plain members that
// were filled then.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/variable.hpp"

namespace stria {

/// A value with its origin.
struct VarValue {
  std::string text;
  std::int64_t number = 0;  ///< of numbers and sizes
  std::string origin;       ///< "default", "environment", …
};

/// A snapshot of the values of some variables. Immutable once a context holds it, so any thread may read it.
class Config {
 public:
  /// No variables.
  Config() = default;
  /// All defaults.
  explicit Config(const VariableGroups& groups);
  /// Defaults, then the environment, then overrides: what a command line says in so many words wins over what
  /// was left in the environment. A malformed value is an error that names the variable, the value and what
  /// is allowed. Overrides of variables that are in no group are left out.
  static Result<Config> from_environment(const VariableGroups& groups);

  /// Parses and sets. Errors: unknown name, malformed value.
  Result<void> set(std::string_view name, std::string_view value, std::string_view origin);

  /// By place, in the order of the groups.
  std::size_t size() const noexcept { return entries_.size(); }
  const Variable& variable(std::size_t index) const noexcept { return *entries_[index].variable; }
  const VarValue& value(std::size_t index) const noexcept { return entries_[index].value; }

  /// By name. Null: there is no such variable.
  const VarValue* find(std::string_view name) const noexcept;
  /// By the name of a variable that is in the groups.
  const VarValue& value(std::string_view name) const noexcept;
  std::int64_t number(std::string_view name) const noexcept { return value(name).number; }
  const std::string& text(std::string_view name) const noexcept { return value(name).text; }
  /// It has not its default: what is chosen by measurement otherwise has to be as its value says.
  bool is_given(std::string_view name) const noexcept { return value(name).origin != "default"; }

 private:
  struct Entry {
    const Variable* variable;
    VarValue value;
  };
  std::vector<Entry> entries_;
};

/// Writes one warning for each STRIA_* variable of the environment that is in no group, once in a process.
/// Not for those that `is_elsewhere` says yes to, and not for names that are left to tests (STRIA_TEST_*) and
/// to the laboratory (STRIA_LAB_*).
void report_unknown_variables(const VariableGroups& groups,
                              const std::function<bool(std::string_view name)>& is_elsewhere);

/// Overrides for snapshots taken afterwards (MCA parameters, stria_config_set). Thread safe. Errors: a name
/// that is in no group, malformed value; another value for a variable that the process has read once and for
/// all.
Result<void> set_config_override(const VariableGroups& groups, std::string_view name, std::string_view value,
                                 std::string_view origin);

/// The value of a variable that decides something once in a process (base/processor.hpp): override, else
/// environment, else default. Error: malformed. From then on set_config_override() refuses another value for
/// it. Thread safe.
Result<VarValue> read_once(const Variable& variable);

/// "64K", "1M", "2g", "4096" -> bytes; nothing else. Empty Result value means malformed.
Result<std::int64_t> parse_bytes(std::string_view text);

}  // namespace stria
