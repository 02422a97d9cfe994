// Opening a context: configuration, providers, the job's secret.
#include <unistd.h>

#include <cstring>
#include <new>

#include "base/format.hpp"
#include "base/log.hpp"
#include "tag/objects.hpp"

namespace stria::tag {
namespace {

/// Processes of one user share it when the application gives none: it keeps strangers out, the kernel checks
/// the rest.
std::vector<std::byte> default_secret() {
  const std::string text = fmt::format("stria uid {}", ::getuid());
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

}  // namespace

Result<std::unique_ptr<Context>> open_context(const stria_context_params_t* params,
                                              std::span<const stria_provider_t* const> builtins) {
  auto config = Config::from_environment();
  if (!config) return std::move(config).error();
  auto context = std::make_unique<Context>();
  context->config = *std::move(config);
  log::set_level(log::level_of(context->config.text(Var::log)));
  std::string_view names = context->config.text(Var::providers);
  while (!names.empty()) {
    const auto comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 1);
    if (name.empty()) continue;
    auto provider = transport::find_provider(name, context->config.text(Var::provider_path), builtins);
    if (!provider) return std::move(provider).error();
    context->providers.push_back(*std::move(provider));
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
