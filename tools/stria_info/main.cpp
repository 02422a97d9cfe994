// stria_info: what this stria is, what it can do here, and what it would do and why.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/format.hpp"
#include "tag/api/builtins.hpp"
#include "tag/known_variables.hpp"
#include "tools/stria_info/section.hpp"

namespace stria::info {
namespace {

struct Wishes {
  bool version = false;
  bool providers = false;
  bool topology = false;
  bool machine = false;
  bool config = false;
  bool all_variables = false;
  bool schemes = false;
  bool json = false;
  bool no_io = false;
  std::vector<std::string> layouts;
  std::string into;
  bool none() const {
    return !(version || providers || topology || machine || config || schemes) && layouts.empty();
  }
};

void declare(CLI::App& app, Wishes& wishes) {
  app.add_flag("-V,--version", wishes.version,
               "versions of the library, the provider contract and the wire format");
  app.add_flag("-p,--providers", wishes.providers, "providers, their devices and every capability");
  app.add_flag("-t,--topology", wishes.topology,
               "cores, caches, memory, binding, devices, and what is near what");
  app.add_flag("-m,--machine", wishes.machine,
               "what was measured of this machine, where it is kept, and what each figure decides");
  app.add_flag("-c,--config", wishes.config,
               "configuration variables for users: value, origin, default, unit, what is allowed, meaning");
  app.add_flag("-a,--all", wishes.all_variables, "with the configuration: the variables for experts, too");
  CLI::Option* const schemes =
      app.add_flag("-s,--schemes", wishes.schemes, "which way messages go, by size and layout, and why");
  app.add_option("-l,--layout", wishes.layouts,
                 "describe a layout expression (may be repeated); with --schemes: the layouts to show")
      ->type_name("EXPRESSION");
  app.add_option("-i,--into", wishes.into,
                 "with --schemes: the receiver's layout, where it is another one than the sender's")
      ->type_name("EXPRESSION")
      ->needs(schemes);
  app.add_flag("-j,--json", wishes.json, "one JSON object instead of text");
  app.add_flag("--no-io", wishes.no_io, "leave the I/O buses out of the topology");
  app.footer(std::string("Without a choice, everything is shown.\n\n") + kLayoutHelp +
             "\nThe same matrix by rows, column after column, goes transposed to a receiver who takes it row "
             "by row:\n"
             "  --schemes --layout 'vector(2K, 1, 8, vector(2K, 1, 2K*8, double))' --into 'bytes(2K*2K*8)'");
}

void print(std::FILE* to, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), to);
}

int print(const std::vector<Section>& sections, bool json) {
  if (json) {
    Json all = Json::object();
    for (const Section& section : sections) all[section.key] = section.json;
    std::puts(all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    const char* gap = "";
    for (const Section& section : sections) {
      print(stdout,
            fmt::format("{}{}\n{:-<{}}\n{}", gap, section.title, "", section.title.size(), section.text));
      gap = "\n";
    }
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

/// Appends what the expression says. False: it says nothing, and what is wrong was printed.
bool add_layout(const std::string& expression, std::vector<NamedLayout>& to) {
  auto layout = parse_layout(expression);
  if (layout)
    to.push_back({expression, *std::move(layout)});
  else
    print(stderr, fmt::format("stria_info: {}\n", layout.error().context));
  return layout.has_value();
}

int run(const Wishes& wishes) {
  std::vector<NamedLayout> layouts, into;
  for (const std::string& expression : wishes.layouts)
    if (!add_layout(expression, layouts)) return 2;
  if (!wishes.into.empty() && !add_layout(wishes.into, into)) return 2;
  const bool all = wishes.none();
  std::string problem;
  const VariableGroups variables = tag::all_variables(tag::builtin_providers());
  Config config(variables);
  if (auto read = Config::from_environment(variables)) {
    config = *std::move(read);
  } else {
    problem = read.error().context;
  }
  tag::report_unknown(variables, tag::builtin_providers());
  std::vector<Device> devices;
  if (all || wishes.providers || wishes.schemes) devices = look_for_devices(config);

  std::vector<Section> sections;
  if (all || wishes.version) sections.push_back(version_section());
  if (all || wishes.providers) {
    sections.push_back(devices_section(devices));
    sections.push_back(rdma_section());
  }
  if (all || wishes.topology) sections.push_back(topology_section(!wishes.no_io));
  if (all || wishes.machine) sections.push_back(profile_section(config));
  if (all || wishes.config)
    sections.push_back(config_section(config, problem, wishes.all_variables ? Level::expert : Level::user));
  if (!layouts.empty()) sections.push_back(layout_section(layouts));
  if (all || wishes.schemes)
    sections.push_back(schemes_section(config, devices, layouts.empty() ? usual_layouts() : layouts,
                                       into.empty() ? nullptr : &into.front()));
  const int printed = print(sections, wishes.json);
  if (problem.empty()) return printed;
  print(stderr, fmt::format("stria_info: {}\n", problem));
  return 1;
}

}  // namespace
}  // namespace stria::info

int main(int argc, char** argv) {
  try {
    CLI::App app{"stria_info: versions, providers, topology, configuration, and which way messages go."};
    stria::info::Wishes wishes;
    stria::info::declare(app, wishes);
    CLI11_PARSE(app, argc, argv);
    return stria::info::run(wishes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stria_info: %s\n", error.what());
    return 1;
  }
}
