// Which providers there are: the names that STRIA_PROVIDERS lists, the libraries that lie in provider
// folders, and how the names of a provider's variables begin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

/// "STRIA_SHM_" for the provider shm: how the names of its variables begin.
std::string variable_prefix(std::string_view provider);

}  // namespace stria::transport
