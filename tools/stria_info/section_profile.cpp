// The machine profile: what was measured of this host, where it is kept, how to renew it, and what each
// figure decides.
#include <utility>

#include "base/format.hpp"
#include "hw/machine/choices.hpp"
#include "hw/machine/figures.hpp"
#include "tools/stria_info/section.hpp"

namespace stria::info {
namespace {

std::string about(const hw::Profile& profile) {
  switch (profile.source) {
    case hw::Source::measured:
      return fmt::format("measured by this process, in {:.1f} ms", profile.took_ms);
    case hw::Source::kept:
      return "measured by an earlier process";
    case hw::Source::given:
      return "from the file that STRIA_MACHINE names";
    case hw::Source::defaults:
      break;
  }
  return "defaults: nothing was measured";
}

/// What decides: the figures, the default, or a variable that is set.
std::string origin_of(const hw::Decision& decision, const Config& config) {
  const VarValue* const set = *decision.variable == '\0' ? nullptr : config.find(decision.variable);
  if (set != nullptr && set->origin != "default" && set->text != "auto")
    return fmt::format("but {}={}", decision.variable, set->text);
  return decision.by_figures ? "measured" : "default";
}

}  // namespace

Section profile_section(const Config& config) {
  Section section{"machine", "Machine", "", Json::object()};
  const hw::Profile& profile = hw::machine_profile();
  const std::string kept = profile.path.empty() ? "not kept" : profile.path;
  section.text = fmt::format("{:<10} {}\n{:<10} {}\n", "figures", about(profile), "file", kept);
  if (!profile.remark.empty()) section.text += fmt::format("{:<10} {}\n", "remark", profile.remark);
  section.text +=
      fmt::format("{:<10} STRIA_MACHINE=measure stria_info --machine, or remove the file\n\n", "to renew");
  section.json = Json{{"source", hw::to_string(profile.source)},
                      {"file", profile.path},
                      {"remark", profile.remark},
                      {"took_ms", profile.took_ms}};
  Json& figures = section.json["figures"] = Json::array();
  hw::for_each_figure(
      profile.machine, [&](const std::string& name, const hw::FigureText& text, double value) {
        const bool is_near = name.starts_with("near."), is_far = name.starts_with("far.");
        const bool is_met =
            is_near ? profile.machine.near.line_ns > 0 : !is_far || profile.machine.far.line_ns > 0;
        const std::string shown = value > 0 ? fmt::format("{:.4g}", value) : "-";
        if (is_met)
          section.text += fmt::format("{:<18} {:>8} {:<7} {}\n", name, shown, text.unit, text.meaning);
        figures.push_back({{"name", name},
                           {"value", value > 0 ? Json(value) : Json()},
                           {"unit", text.unit},
                           {"origin", value > 0 ? hw::to_string(profile.source) : "not measured"},
                           {"meaning", text.meaning}});
      });
  for (const auto& [kind, pair] : {std::pair("near", &profile.machine.near), {"far", &profile.machine.far}})
    if (pair->line_ns == 0)
      section.text += fmt::format("{:<18} {:>8}         no two cores that are {} each other were measured\n",
                                  fmt::format("{}.…", kind), "-", *kind == 'n' ? "near" : "far from");
  section.text +=
      fmt::format("\nwhat they decide, where they differ by a factor of {} or more:\n", hw::kClearly);
  Json& decisions = section.json["decisions"] = Json::array();
  for (const hw::Decision& decision : hw::explain(profile.machine)) {
    const std::string origin = origin_of(decision, config);
    section.text +=
        fmt::format("{}: {} ({})\n    by {}\n", decision.what, decision.value, origin, decision.figures);
    decisions.push_back({{"what", decision.what},
                         {"value", decision.value},
                         {"origin", origin},
                         {"figures", decision.figures},
                         {"variable", decision.variable}});
  }
  return section;
}

}  // namespace stria::info
