#include "transport/providers.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "transport/loader.hpp"

namespace stria::transport {
namespace {

constexpr std::string_view kBegin = "libstria_provider_";
constexpr std::string_view kEnd = ".so";

/// A character of a provider's name as it stands in the names of its variables.
char in_variable_name(char c) noexcept {
  if (c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  return c == '-' ? '_' : c;
}

/// Whether the kernel has an adapter for RDMA. Without one, the library of the provider verbs and the
/// libraries that it needs need not be loaded.
bool has_adapter() {
  std::error_code ignored;
  return std::filesystem::directory_iterator("/sys/class/infiniband", ignored) !=
         std::filesystem::directory_iterator();
}

}  // namespace

std::vector<std::string> split_list(std::string_view list, char separator) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const auto at = list.find(separator);
    if (at != 0) parts.emplace_back(list.substr(0, at));
    if (at == std::string_view::npos) break;
    list.remove_prefix(at + 1);
  }
  return parts;
}

std::vector<ProviderFile> provider_files(std::string_view path) {
  std::vector<std::string> folders = split_list(path, ':');
  if (!installed_provider_folder().empty()) folders.emplace_back(installed_provider_folder());
  std::vector<ProviderFile> files;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    std::vector<ProviderFile> here;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename();
      if (name.size() <= kBegin.size() + kEnd.size() || !name.starts_with(kBegin) || !name.ends_with(kEnd))
        continue;
      here.push_back({name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size()), entry.path()});
    }
    std::ranges::sort(here, {}, &ProviderFile::name);
    for (ProviderFile& file : here)
      if (std::ranges::find(files, file.name, &ProviderFile::name) == files.end())
        files.push_back(std::move(file));
  }
  return files;
}

std::vector<ChosenProvider> chosen_providers(std::string_view list,
                                             const std::function<bool(std::string_view name)>& is_there) {
  std::vector<ChosenProvider> chosen;
  for (const std::string& part : split_list(list, ',')) {
    if (part != "auto") {
      chosen.push_back({part});
      continue;
    }
    for (const char* const name : {"shm", "verbs", "tcp"})
      if (std::ranges::find(chosen, name, &ChosenProvider::name) == chosen.end() && is_there(name))
        chosen.push_back({name, true});
  }
  return chosen;
}

std::vector<ChosenProvider> chosen_providers(std::string_view list, std::string_view path,
                                             std::span<const stria_provider_t* const> builtins) {
  return chosen_providers(list, [&](std::string_view name) {
    if (name == "verbs" && !has_adapter()) return false;
    if (std::ranges::any_of(builtins, [&](const auto* table) { return table->name == name; })) return true;
    const std::vector<ProviderFile> files = provider_files(path);
    return std::ranges::find(files, name, &ProviderFile::name) != files.end();
  });
}

std::string variable_prefix(std::string_view provider) {
  std::string prefix = "STRIA_";
  for (const char c : provider) prefix += in_variable_name(c);
  return prefix + '_';
}

}  // namespace stria::transport
