#include "transport/loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

// Set by cmake/install.cmake: the folder as configured, and where it lies seen from the installed library and
// from an installed program.
#ifndef STRIA_PROVIDER_DIR
#define STRIA_PROVIDER_DIR ""
#define STRIA_PROVIDER_FROM_LIBRARY ""
#define STRIA_PROVIDER_FROM_PROGRAM ""
#endif

namespace stria::transport {
namespace {

bool is_name(std::string_view name) noexcept {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), allowed);
}

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

bool complete(const stria_hot_ops_t& ops) noexcept {
  return ops.pio_send != nullptr && ops.eager_send != nullptr && ops.send_invalidate != nullptr &&
         ops.fast_register != nullptr && ops.invalidate != nullptr && ops.get != nullptr &&
         ops.put != nullptr && ops.get_finish != nullptr && ops.progress != nullptr && ops.poll != nullptr &&
         ops.atomic != nullptr && ops.take != nullptr && ops.release != nullptr &&
         ops.kept_arrived != nullptr;
}
bool complete(const stria_provider_t& table) noexcept {
  return table.name != nullptr && table.description != nullptr && table.ops != nullptr &&
         table.open != nullptr && table.close != nullptr && table.capabilities != nullptr &&
         table.address != nullptr && table.connect != nullptr && table.link_limits != nullptr &&
         table.check != nullptr && table.event_fd != nullptr && table.arm != nullptr &&
         table.mem_alloc != nullptr && table.mem_free != nullptr;
}

Result<const stria_provider_t*> load(std::string_view name, const std::string& file) {
  // RTLD_NODELETE: links, layouts and completions may still point into the library when the process ends.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return refuse(file, fmt::format("cannot be loaded: {}", ::dlerror()));
  const void* symbol = ::dlsym(library, STRIA_PROVIDER_SYMBOL);
  if (symbol == nullptr)
    return refuse(file, "exports no symbol '" STRIA_PROVIDER_SYMBOL "'; it is not a provider");
  return check_provider(static_cast<const stria_provider_t*>(symbol), name, file);
}

/// The folder beside the library or program that holds this code, as a prefix may have been moved; else the
/// configured one.
std::string find_installed_folder() {
  namespace fs = std::filesystem;
  Dl_info info{};
  link_map* map = nullptr;
  static const char here = 0;
  if (::dladdr1(&here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr)
    return STRIA_PROVIDER_DIR;
  // A program's name there is what it was called by, which may be no path.
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

Result<const stria_provider_t*> check_provider(const stria_provider_t* table, std::string_view name,
                                               std::string_view origin) {
  // Version first: nothing behind it is where this header says when it differs.
  if (table->version != STRIA_PROVIDER_VERSION)
    return refuse(origin, fmt::format("provider contract version {} wanted, {} found", STRIA_PROVIDER_VERSION,
                                      table->version));
  if (table->size < sizeof(stria_provider_t))
    return refuse(origin, fmt::format("provider table of at least {} bytes wanted, {} found",
                                      sizeof(stria_provider_t), table->size));
  if (table->ops != nullptr && table->ops->version != STRIA_PROVIDER_VERSION)
    return refuse(origin, fmt::format("version {} of the operations table wanted, {} found",
                                      STRIA_PROVIDER_VERSION, table->ops->version));
  if (table->ops != nullptr && table->ops->size < sizeof(stria_hot_ops_t))
    return refuse(origin, fmt::format("operations table of at least {} bytes wanted, {} found",
                                      sizeof(stria_hot_ops_t), table->ops->size));
  if (!complete(*table) || !complete(*table->ops)) return refuse(origin, "its table has empty entries");
  if (name != table->name)
    return refuse(origin, fmt::format("provider '{}' wanted, '{}' found", name, table->name));
  return table;
}

Result<const stria_provider_t*> find_provider(std::string_view name, std::string_view path,
                                              std::span<const stria_provider_t* const> builtins) {
  if (!is_name(name)) return Error{Status::invalid, fmt::format("'{}' is not a name of a provider", name)};
  std::string known;
  for (const stria_provider_t* table : builtins) {
    if (name == table->name) return check_provider(table, name, "built in");
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
