#include "base/parse.hpp"

#include <charconv>
#include <limits>

#include "base/format.hpp"

namespace stria {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

bool is_choice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const auto bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    if (bar == std::string_view::npos) break;
    choices.remove_prefix(bar + 1);
  }
  return false;
}

Result<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return Error{Status::invalid, fmt::format("'{}' is not a whole number", text)};
  return value;
}

Error refuse(std::string_view name, std::string_view why) {
  return {Status::invalid, fmt::format("{}: {}", name, why)};
}

Result<void> check(const Variable& variable, std::string_view prefix) {
  if (variable.name == nullptr) return refuse("a variable", "it has no name");
  const std::string_view name = variable.name;
  if (!name.starts_with(prefix) || name.size() == prefix.size())
    return refuse(name, fmt::format("the name of a variable has to begin with '{}'", prefix));
  if (variable.default_value == nullptr || variable.unit == nullptr || variable.choices == nullptr ||
      variable.meaning == nullptr)
    return refuse(name, "its default_value, unit, choices or meaning is NULL");
  if (variable.kind > STRIA_VARIABLE_BYTES)
    return refuse(name, fmt::format("kind {} is unknown", variable.kind));
  if (variable.level > STRIA_CONFIG_EXPERT)
    return refuse(name, fmt::format("level {} is unknown", variable.level));
  auto value = parse_value(variable, variable.default_value, "default");
  if (!value) return Error{Status::invalid, "its default is not allowed: " + value.error().context};
  return {};
}

}  // namespace

Result<VarValue> parse_value(const Variable& variable, std::string_view text, std::string_view origin) {
  VarValue value{std::string(text), 0, std::string(origin)};
  if (variable.kind == STRIA_VARIABLE_TEXT) return value;
  if (variable.kind == STRIA_VARIABLE_CHOICE) {
    if (!is_choice(variable.choices, text))
      return Error{Status::invalid, fmt::format("{}='{}' is not one of {}; the default is {}", variable.name,
                                                text, variable.choices, variable.default_value)};
    return value;
  }
  auto number = variable.kind == STRIA_VARIABLE_BYTES ? parse_bytes(text) : parse_number(text);
  if (!number)
    return refuse(variable.name,
                  fmt::format("{}; the default is {}", number.error().context, variable.default_value));
  if (*number < variable.minimum || *number > variable.maximum)
    return Error{Status::invalid,
                 fmt::format("{}={} is outside [{}, {}]; the default is {}", variable.name, text,
                             variable.minimum, variable.maximum, variable.default_value)};
  value.number = *number;
  return value;
}

Result<void> check_variables(Variables variables, std::string_view prefix) {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (auto checked = check(variables[i], prefix); !checked) return checked;
    for (std::size_t before = 0; before < i; ++before)
      if (std::string_view(variables[i].name) == variables[before].name)
        return refuse(variables[i].name, "the name is listed twice");
  }
  return {};
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  const Error malformed{Status::invalid, fmt::format("'{}' is not a size such as 4096, 64K, 1M or 2G", text)};
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return malformed;
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (suffix.empty()) return value;
  if (suffix.size() > 1) return malformed;
  int shift = 0;
  switch (suffix[0]) {
    case 'k':
    case 'K':
      shift = 10;
      break;
    case 'm':
    case 'M':
      shift = 20;
      break;
    case 'g':
    case 'G':
      shift = 30;
      break;
    default:
      return malformed;
  }
  if (value > (kMax >> shift)) return malformed;
  return value << shift;
}

}  // namespace stria
