#include "tag/known_variables.hpp"

#include <algorithm>
#include <string>

#include "base/variables.hpp"
#include "rndv/variables.hpp"
#include "tag/variables.hpp"
#include "transport/loader.hpp"
#include "transport/providers.hpp"
#include "transport/variables.hpp"

namespace stria::tag {
namespace {

using Tables = std::span<const stria_provider_t* const>;

/// The variables that decide which providers there are. All of them are texts, so no value of them is
/// malformed.
Config provider_choice() {
  auto config = Config::from_environment({transport::kVariables});
  return config ? *std::move(config) : Config({transport::kVariables});
}

void add(VariableGroups& groups, const stria_provider_t& provider) {
  const Variables variables(provider.variables, provider.variable_count);
  const auto is_there = [&](Variables group) { return group.data() == variables.data(); };
  if (!variables.empty() && std::ranges::none_of(groups, is_there)) groups.push_back(variables);
}

void add(VariableGroups& groups, std::string_view name, std::string_view path, Tables builtins) {
  if (const auto found = transport::find_provider(name, path, builtins)) add(groups, *(*found)->table);
}

}  // namespace

VariableGroups known_variables(Tables builtins) {
  VariableGroups groups = {kBaseVariables, transport::kVariables, kVariables, rndv::kVariables};
  for (const stria_provider_t* provider : builtins) add(groups, provider->name, "", builtins);
  const Config choice = provider_choice();
  const std::string& path = choice.text("STRIA_PROVIDER_PATH");
  for (const auto& chosen : transport::chosen_providers(choice.text("STRIA_PROVIDERS"), path, builtins))
    add(groups, chosen.name, path, builtins);
  return groups;
}

VariableGroups all_variables(Tables builtins) {
  VariableGroups groups = known_variables(builtins);
  const std::string path = provider_choice().text("STRIA_PROVIDER_PATH");
  for (const transport::ProviderFile& file : transport::provider_files(path))
    add(groups, file.name, path, builtins);
  return groups;
}

void report_unknown(const VariableGroups& groups, Tables builtins) {
  const auto lists = [&](const std::string& prefix) {
    return std::ranges::any_of(groups, [&](Variables group) {
      return !group.empty() && std::string_view(group.front().name).starts_with(prefix);
    });
  };
  // Of a provider in a folder that is not in use only the prefix of its variables is known.
  report_unknown_variables(groups, [&](std::string_view name) {
    const Config choice = provider_choice();
    const std::string& path = choice.text("STRIA_PROVIDER_PATH");
    const auto used = transport::chosen_providers(choice.text("STRIA_PROVIDERS"), path, builtins);
    return std::ranges::any_of(transport::provider_files(path), [&](const transport::ProviderFile& file) {
      const std::string prefix = transport::variable_prefix(file.name);
      return name.starts_with(prefix) && !lists(prefix) &&
             std::ranges::find(used, file.name, &transport::ChosenProvider::name) == used.end();
    });
  });
}

}  // namespace stria::tag
