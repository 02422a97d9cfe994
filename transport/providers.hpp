// Finds out which providers there are: the names that STRIA_PROVIDERS lists, and the libraries in the folders
// of providers. Also says how the names of a provider's variables begin.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stria/provider.h"

namespace stria::transport {

/// Splits a list into its parts, without the empty ones. STRIA_PROVIDERS separates by ',', and
/// STRIA_PROVIDER_PATH by ':'.
std::vector<std::string> split_list(std::string_view list, char separator);

/// The library of a provider.
struct ProviderFile {
  std::string name;  ///< of the provider: NAME of libstria_provider_NAME.so
  std::string path;
};
/// The provider libraries in the folders of `path` and in the installed folder; of several with one name the
/// one that find_provider() would load. Loads none.
std::vector<ProviderFile> provider_files(std::string_view path);

/// One of the providers that STRIA_PROVIDERS lists.
struct ChosenProvider {
  std::string name;
  bool by_auto = false;  ///< "auto" chose it, not the user: if it cannot be opened, it is left out quietly
};
/// The providers that `list` names, in this order. "auto" stands for those of shm, verbs and tcp that
/// is_there() accepts and that are not chosen yet.
std::vector<ChosenProvider> chosen_providers(std::string_view list,
                                             const std::function<bool(std::string_view name)>& is_there);
/// The providers that `list` names, in this order. "auto" stands for those of shm, verbs and tcp that are
/// among `builtins`, in a folder of `path` or in the installed folder; verbs only on a host with an adapter.
/// Loads none.
std::vector<ChosenProvider> chosen_providers(std::string_view list, std::string_view path,
                                             std::span<const stria_provider_t* const> builtins);

/// How the names of a provider's variables begin: "STRIA_SHM_" for the provider shm.
std::string variable_prefix(std::string_view provider);

}  // namespace stria::transport
