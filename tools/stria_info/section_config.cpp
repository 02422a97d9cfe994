// Configuration variables: value in force, where it came from, default, unit, what is allowed, meaning.
#include "base/format.hpp"
#include "tools/stria_info/section.hpp"

namespace stria::info {
namespace {

const char* kind_name(std::uint32_t kind) noexcept {
  switch (kind) {
    case STRIA_VARIABLE_TEXT:
      return "text";
    case STRIA_VARIABLE_CHOICE:
      return "choice";
    case STRIA_VARIABLE_NUMBER:
      return "number";
    case STRIA_VARIABLE_BYTES:
      return "size";
  }
  return "?";
}

bool is_for_users(const Variable& variable) noexcept {
  return variable.level == STRIA_CONFIG_USER;
}

std::string allowed_text(const Variable& variable) {
  if (variable.kind == STRIA_VARIABLE_TEXT) return "any text";
  if (variable.kind == STRIA_VARIABLE_CHOICE) return variable.choices;
  // The largest 64-bit number is no limit that anyone meant.
  if (variable.maximum == INT64_MAX) return fmt::format("{} or more", variable.minimum);
  return fmt::format("{} to {}", variable.minimum, variable.maximum);
}

/// Breaks `text` into lines of at most `width` characters, each after the first behind `indent` blanks.
std::string wrapped(std::string_view text, std::size_t width, int indent) {
  std::string out;
  std::size_t line = 0;
  while (!text.empty()) {
    const auto blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    if (line > 0 && line + 1 + word.size() > width) {
      out += fmt::format("\n{:{}}", "", indent);
      line = 0;
    }
    if (line > 0) out += ' ', ++line;
    out += word;
    line += word.size();
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  return out;
}

}  // namespace

Section config_section(const Config& config, const std::string& problem, Level level) {
  Section section{"config", "Configuration", "", Json::object()};
  if (!problem.empty()) {
    section.text += fmt::format("the environment is refused: {}\nbelow are the defaults\n\n", problem);
    section.json["problem"] = problem;
  }
  Json& variables = section.json["variables"] = Json::array();
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < config.size(); ++i) {
    const Variable& variable = config.variable(i);
    const VarValue& value = config.value(i);
    // What was set is of interest to whoever asks, whatever its level.
    if (level == Level::user && !is_for_users(variable) && value.origin == "default") {
      ++left_out;
      continue;
    }
    const auto shown = [](std::string_view text) {
      return text.empty() ? std::string("\"\"") : std::string(text);
    };
    section.text +=
        fmt::format("{:<26} = {:<10} from {}; default {}{}{}; {}\n    {}\n", variable.name, shown(value.text),
                    value.origin, shown(variable.default_value), *variable.unit == '\0' ? "" : ", in ",
                    variable.unit, allowed_text(variable), wrapped(variable.meaning, 100, 4));
    variables.push_back({{"name", variable.name},
                         {"value", value.text},
                         {"origin", value.origin},
                         {"default", variable.default_value},
                         {"kind", kind_name(variable.kind)},
                         {"level", is_for_users(variable) ? "user" : "expert"},
                         {"unit", variable.unit},
                         {"allowed", allowed_text(variable)},
                         {"meaning", variable.meaning}});
  }
  if (left_out > 0) section.text += fmt::format("{} more for experts: stria_info --config --all\n", left_out);
  return section;
}

}  // namespace stria::info
