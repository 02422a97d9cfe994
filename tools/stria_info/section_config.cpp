// Configuration variables: value in force, where it came from, default, unit, what is allowed, meaning.
#include "base/format.hpp"
#include "tools/stria_info/section.hpp"

namespace stria::info {
namespace {

const char* kind_name(VarKind kind) noexcept {
  switch (kind) {
    case VarKind::text:
      return "text";
    case VarKind::choice:
      return "choice";
    case VarKind::number:
      return "number";
    case VarKind::bytes:
      return "size";
  }
  return "?";
}

std::string allowed_text(const VarSpec& spec) {
  if (spec.kind == VarKind::text) return "any text";
  if (spec.kind == VarKind::choice) return spec.choices;
  // The largest 64-bit number is no limit that anyone meant.
  if (spec.maximum == INT64_MAX) return fmt::format("{} or more", spec.minimum);
  return fmt::format("{} to {}", spec.minimum, spec.maximum);
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

Section config_section(const Config& config, const std::string& problem) {
  Section section{"config", "Configuration", "", Json::object()};
  if (!problem.empty()) {
    section.text += fmt::format("the environment is refused: {}\nbelow are the defaults\n\n", problem);
    section.json["problem"] = problem;
  }
  Json& variables = section.json["variables"] = Json::array();
  const auto table = config_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const VarSpec& spec = table[i];
    const VarValue& value = config.value(i);
    const auto shown = [](std::string_view text) {
      return text.empty() ? std::string("\"\"") : std::string(text);
    };
    section.text +=
        fmt::format("{:<26} = {:<10} from {}; default {}{}{}; {}\n    {}\n", spec.name, shown(value.text),
                    value.origin, shown(spec.default_value), *spec.unit == '\0' ? "" : ", in ", spec.unit,
                    allowed_text(spec), wrapped(spec.meaning, 100, 4));
    variables.push_back({{"name", spec.name},
                         {"value", value.text},
                         {"origin", value.origin},
                         {"default", spec.default_value},
                         {"kind", kind_name(spec.kind)},
                         {"unit", spec.unit},
                         {"allowed", allowed_text(spec)},
                         {"meaning", spec.meaning}});
  }
  return section;
}

}  // namespace stria::info
