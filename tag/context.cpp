// Opening a context: configuration, providers, the job's secret.
#include <unistd.h>

#include <cstring>
#include <new>

#include "base/format.hpp"
#include "base/log.hpp"
#include "hw/machine.hpp"
#include "tag/known_variables.hpp"
#include "tag/objects.hpp"
#include "transport/loader.hpp"
#include "transport/providers.hpp"

namespace stria::tag {
namespace {

/// The secret of a job to which the application gives none: it is the same for all processes of one user. It
/// keeps strangers out; the kernel checks the rest.
std::vector<std::byte> default_secret() {
  const std::string text = fmt::format("stria uid {}", ::getuid());
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

}  // namespace

Result<std::unique_ptr<Context>> open_context(const stria_context_params_t* params,
                                              std::span<const stria_provider_t* const> builtins) {
  const VariableGroups variables = known_variables(builtins);
  auto config = Config::from_environment(variables);
  if (!config) return std::move(config).error();
  auto context = std::make_unique<Context>();
  context->config = *std::move(config);
  log::set_level(log::level_of(context->config.text("STRIA_LOG")));
  // Measured at the first use on this host; settings, devices and layouts decide by it.
  hw::machine_profile();
  context->settings = read_settings(context->config);
  report_unknown(variables, builtins);
  const std::string& path = context->config.text("STRIA_PROVIDER_PATH");
  for (const auto& [name, by_auto] :
       transport::chosen_providers(context->config.text("STRIA_PROVIDERS"), path, builtins)) {
    auto provider = transport::find_provider(name, path, builtins);
    if (!provider && by_auto) {
      log::info("provider {} is not used: {}", name, provider.error().context);
      continue;
    }
    if (!provider) return std::move(provider).error();
    if (context->providers.size() == STRIA_DEVICES_MAX)
      return Error{Status::invalid,
                   fmt::format("STRIA_PROVIDERS: '{}' is one provider too many, the limit is {}", name,
                               STRIA_DEVICES_MAX)};
    context->providers.push_back(*std::move(provider));
    context->by_auto.push_back(by_auto);
  }
  if (context->providers.empty()) return Error{Status::invalid, "STRIA_PROVIDERS names no provider"};
  if (params != nullptr && params->job_secret != nullptr) {
    const auto* bytes = static_cast<const std::byte*>(params->job_secret);
    context->job_secret.assign(bytes, bytes + params->job_secret_bytes);
  } else {
    context->job_secret = default_secret();
  }
  if (params != nullptr && params->name != nullptr) context->name = params->name;
  return context;
}

}  // namespace stria::tag
