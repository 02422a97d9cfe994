// Finds a provider by name: first among the built-in tables that the caller passes, then as a shared library
// libstria_provider_NAME.so in the folders of STRIA_PROVIDER_PATH and in the installed folder.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "stria/provider.h"
#include "transport/hot_ops.hpp"

namespace stria::transport {

/// The folder of installed providers. It is looked for relative to the library or program that holds this
/// code, so that it moves with the prefix; if there is no such folder, it is the configured one. "" in a
/// build that has none.
std::string_view installed_provider_folder() noexcept;

/// A provider that may be used: its table is of this version and complete.
struct LoadedProvider {
  const stria_provider_t* table;  ///< lives as long as the process
  HotOps ops;                     ///< made of the table
};

/// Finds a provider, loads its library if it has one, and checks its table.
/// name      letters, digits, '_' and '-'
/// path      colon-separated folders, searched in order before the installed one; empty entries are skipped
/// builtins  tables compiled into the program; they win over files
/// errors    invalid (name, or a library that is not a usable provider: the text names the file, what was
///           wanted and what was found); unreachable (no such file: the text names the folders searched)
/// threads   any; a library is loaded once and never unloaded, so the table lives as long as the process
Result<std::unique_ptr<const LoadedProvider>> find_provider(
    std::string_view name, std::string_view path, std::span<const stria_provider_t* const> builtins);

/// Checks that a table is of this version, is complete in its core and in each group that it declares, and
/// has this name and sound variables. Errors: invalid; the text begins with `origin` and names what is wrong.
Result<std::unique_ptr<const LoadedProvider>> check_provider(const stria_provider_t& table,
                                                             std::string_view name, std::string_view origin);

}  // namespace stria::transport
