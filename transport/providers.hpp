// Which providers there are: the names that STRIA_PROVIDERS lists, the libraries that lie in provider
// folders, and how the names of a provider's variables begin.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stria/provider.h"

namespace stria::transport {

/// The parts of a list, without the empty ones: of STRIA_PROVIDERS by ',', of STRIA_PROVIDER_PATH by ':'.
std::vector<std::string> split_list(std::string_view list, char separator);

struct ProviderFile {
  std::string name;  ///< of the provider: NAME of libstria_provider_NAME.so
  std::string path;
};
/// Provider libraries in the folders of `path` and in the installed one, those that find_provider() would
/// take. Loads none.
std::vector<ProviderFile> provider_files(std::string_view path);

/// One of the providers that STRIA_PROVIDERS lists.
struct ChosenProvider {
  std::string name;
  bool by_auto = false;  ///< the user has not named it: where it cannot be opened it is left out quietly
};
/// Those of `list`, in its order. "auto" stands for shm, verbs and tcp, those of them that are there.
std::vector<ChosenProvider> chosen_providers(std::string_view list,
                                             const std::function<bool(std::string_view name)>& is_there);
/// The same, where a provider is there that is among `builtins`, or in a folder of `path` or the installed
/// one; verbs only on a host with an adapter. Loads none.
std::vector<ChosenProvider> chosen_providers(std::string_view list, std::string_view path,
                                             std::span<const stria_provider_t* const> builtins);

/// "STRIA_SHM_" for the provider shm: how the names of its variables begin.
std::string variable_prefix(std::string_view provider);

}  // namespace stria::transport
