#include "base/config.hpp"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "base/format.hpp"
#include "base/log.hpp"
#include "base/parse.hpp"

namespace stria {
namespace {

struct Override {
  std::string name, value, origin;
};
/// What the process was told, and what it has read once and for all, by name.
struct Said {
  std::mutex mutex;
  std::vector<Override> overrides;
  std::map<std::string, VarValue, std::less<>> read_once;
};
Said& said() {
  static auto* all = new Said;
  return *all;
}

/// With the mutex held.
Result<Config> take_snapshot(const VariableGroups& groups) {
  Config config(groups);
  for (std::size_t i = 0; i < config.size(); ++i) {
    const char* const name = config.variable(i).name;
    const char* const text = std::getenv(name);
    if (text == nullptr) continue;
    if (auto done = config.set(name, text, "environment"); !done) return std::move(done).error();
  }
  for (const Override& entry : said().overrides) {
    if (config.find(entry.name) == nullptr) continue;
    if (auto done = config.set(entry.name, entry.value, entry.origin); !done) return std::move(done).error();
  }
  return config;
}

bool is_in(const VariableGroups& groups, std::string_view name) noexcept {
  for (const Variables group : groups)
    for (const Variable& variable : group)
      if (name == variable.name) return true;
  return false;
}

}  // namespace

Config::Config(const VariableGroups& groups) {
  for (const Variables group : groups)
    for (const Variable& variable : group) {
      auto value = parse_value(variable, variable.default_value, "default");
      STRIA_CHECK(value.has_value(), "a default does not parse");
      entries_.push_back({&variable, *std::move(value)});
    }
}

const VarValue* Config::find(std::string_view name) const noexcept {
  for (const Entry& entry : entries_)
    if (name == entry.variable->name) return &entry.value;
  return nullptr;
}

const VarValue& Config::value(std::string_view name) const noexcept {
  const VarValue* const found = find(name);
  STRIA_CHECK(found != nullptr, "a variable is read that is in no list");
  return *found;
}

Result<void> Config::set(std::string_view name, std::string_view value, std::string_view origin) {
  for (Entry& entry : entries_) {
    if (name != entry.variable->name) continue;
    auto parsed = parse_value(*entry.variable, value, origin);
    if (!parsed) return std::move(parsed).error();
    entry.value = *std::move(parsed);
    return {};
  }
  return Error{Status::invalid, fmt::format("no variable is called '{}'; those of a provider are known when "
                                            "STRIA_PROVIDERS names it",
                                            name)};
}

Result<Config> Config::from_environment(const VariableGroups& groups) {
  const std::lock_guard lock(said().mutex);
  return take_snapshot(groups);
}

void report_unknown_variables(const VariableGroups& groups,
                              const std::function<bool(std::string_view name)>& is_elsewhere) {
  static std::once_flag reported;
  std::call_once(reported, [&] {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view line = *entry;
      if (!line.starts_with("STRIA_") || line.starts_with("STRIA_TEST_") || line.starts_with("STRIA_LAB_"))
        continue;
      const auto name = line.substr(0, line.find('='));
      if (!is_in(groups, name) && !is_elsewhere(name))
        log::warn("{} is set but is no variable of stria; 'stria_info --config --all' lists them", name);
    }
  });
}

Result<VarValue> read_once(const Variable& variable) {
  const std::lock_guard lock(said().mutex);
  auto config = take_snapshot({Variables(&variable, 1)});
  if (!config) return std::move(config).error();
  return said().read_once.insert_or_assign(variable.name, config->value(std::size_t{0})).first->second;
}

Result<void> set_config_override(const VariableGroups& groups, std::string_view name, std::string_view value,
                                 std::string_view origin) {
  Config scratch(groups);
  auto checked = scratch.set(name, value, origin);
  if (!checked) return checked;
  const std::lock_guard lock(said().mutex);
  if (const auto read = said().read_once.find(name); read != said().read_once.end()) {
    const VarValue& wanted = scratch.value(name);
    if (wanted.text != read->second.text || wanted.number != read->second.number)
      return Error{Status::invalid,
                   fmt::format("{}={}: this process has read the variable already, as {}; set it before the "
                               "first context or layout, or in the environment",
                               name, value, read->second.text)};
  }
  said().overrides.push_back({std::string(name), std::string(value), std::string(origin)});
  return {};
}

}  // namespace stria
