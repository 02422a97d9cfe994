#include "transport/loader.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/variable.hpp"
#include "transport/group_rows.hpp"
#include "transport/providers.hpp"

// Set by cmake/install.cmake: the configured folder of providers, and its path relative to the folder of the
// installed library, and of an installed program.
#ifndef STRIA_PROVIDER_DIR
#define STRIA_PROVIDER_DIR ""
#define STRIA_PROVIDER_FROM_LIBRARY ""
#define STRIA_PROVIDER_FROM_PROGRAM ""
#endif

namespace stria::transport {
namespace {

/// Whether `name` may be the name of a provider.
bool is_name(std::string_view name) noexcept {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), allowed);
}

/// The folders to search: those of `path`, then the installed one.
std::vector<std::string> folders(std::string_view path) {
  std::vector<std::string> list;
  while (!path.empty()) {
    const auto colon = path.find(':');
    const auto folder = path.substr(0, colon);
    if (!folder.empty()) list.emplace_back(folder);
    if (colon == std::string_view::npos) break;
    path.remove_prefix(colon + 1);
  }
  if (!installed_provider_folder().empty()) list.emplace_back(installed_provider_folder());
  return list;
}

Error refuse(std::string_view origin, std::string text) {
  return {Status::invalid, fmt::format("{}: {}", origin, text)};
}

Result<std::unique_ptr<const LoadedProvider>> load(std::string_view name, const std::string& file) {
  // RTLD_NODELETE: links, layouts and completions may still point into the library when the process ends.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return refuse(file, fmt::format("cannot be loaded: {}", ::dlerror()));
  const void* symbol = ::dlsym(library, STRIA_PROVIDER_SYMBOL);
  if (symbol == nullptr)
    return refuse(file, "exports no symbol '" STRIA_PROVIDER_SYMBOL
                        "': it is not a provider, or one for another version of the provider contract");
  return check_provider(*static_cast<const stria_provider_t*>(symbol), name, file);
}

/// Looks for the folder of providers relative to the library or program that holds this code, as a prefix may
/// have been moved; returns the configured one if it is not there.
std::string find_installed_folder() {
  namespace fs = std::filesystem;
  Dl_info info{};
  link_map* map = nullptr;
  static const char here = 0;
  if (::dladdr1(&here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr)
    return STRIA_PROVIDER_DIR;
  // The link map has no name for the program itself, and what the program was called by may be no path.
  const bool is_program = map->l_name == nullptr || *map->l_name == '\0';
  std::error_code problem;
  const fs::path self = fs::canonical(is_program ? "/proc/self/exe" : map->l_name, problem);
  if (problem) return STRIA_PROVIDER_DIR;
  const fs::path from_here = is_program ? STRIA_PROVIDER_FROM_PROGRAM : STRIA_PROVIDER_FROM_LIBRARY;
  const fs::path folder = (self.parent_path() / from_here).lexically_normal();
  return fs::is_directory(folder, problem) ? folder.string() : STRIA_PROVIDER_DIR;
}

}  // namespace

std::string_view installed_provider_folder() noexcept {
  try {
    static const std::string folder = find_installed_folder();
    return folder;
  } catch (const std::exception&) {
    return STRIA_PROVIDER_DIR;
  }
}

Result<std::unique_ptr<const LoadedProvider>> check_provider(const stria_provider_t& table,
                                                             std::string_view name, std::string_view origin) {
  // The version is checked first: a table of another version may have its other members elsewhere.
  if (table.version != STRIA_PROVIDER_VERSION)
    return refuse(
        origin, fmt::format("it has version {} of the provider contract, this library has version {}; build "
                            "the provider against this library's stria/provider.h",
                            table.version, STRIA_PROVIDER_VERSION));
  if (table.size < sizeof(stria_provider_t))
    return refuse(origin, fmt::format("provider table of at least {} bytes wanted, {} found",
                                      sizeof(stria_provider_t), table.size));
  if (table.name == nullptr || table.description == nullptr)
    return refuse(origin, "its table has no name or no description");
  if (name != table.name)
    return refuse(origin, fmt::format("provider '{}' wanted, '{}' found", name, table.name));
  const auto wrong = [&](const auto& text) {
    return refuse(origin, fmt::format("provider '{}': {}", table.name, text));
  };
  if (const char* missing = missing_function(&table, core_functions()))
    return wrong(fmt::format("the core lacks {}", missing));
  for (const GroupRow& row : group_rows()) {
    const void* group = group_of(table, row);
    if (group == nullptr) continue;
    std::uint32_t size = 0;  // the first member of every group
    std::memcpy(&size, group, sizeof size);
    if (size < row.bytes)
      return wrong(fmt::format("group {} has {} bytes, {} are wanted", row.name, size, row.bytes));
    if (const char* missing = missing_function(group, row.functions))
      return wrong(fmt::format("group {} lacks {}", row.name, missing));
    for (const GroupRow& other : group_rows())
      if (std::string_view(row.needs) == other.name && group_of(table, other) == nullptr)
        return wrong(fmt::format("group {} needs group {}", row.name, other.name));
  }
  if (table.variable_count > 0 && table.variables == nullptr)
    return wrong(fmt::format("{} variables are announced, but there is no list", table.variable_count));
  if (auto checked = check_variables({table.variables, table.variable_count}, variable_prefix(name));
      !checked)
    return refuse(origin, checked.error().context);
  return std::make_unique<const LoadedProvider>(LoadedProvider{&table, flatten(table)});
}

Result<std::unique_ptr<const LoadedProvider>> find_provider(
    std::string_view name, std::string_view path, std::span<const stria_provider_t* const> builtins) {
  if (!is_name(name)) return Error{Status::invalid, fmt::format("'{}' is not a name of a provider", name)};
  std::string known;
  for (const stria_provider_t* table : builtins) {
    if (name == table->name) return check_provider(*table, name, "built in");
    known += fmt::format("{}{}", known.empty() ? "" : ", ", table->name);
  }
  std::string searched;
  for (const std::string& folder : folders(path)) {
    const std::string file = fmt::format("{}/libstria_provider_{}.so", folder, name);
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0) return load(name, file);
    searched += fmt::format("{}{}", searched.empty() ? "" : ":", folder);
  }
  return Error{Status::unreachable,
               fmt::format("no provider '{}': built in are [{}], and libstria_provider_{}.so is not in [{}]",
                           name, known, name, searched)};
}

}  // namespace stria::transport
