// Finds a provider by name: first among the built-in tables that the caller passes, then as a shared library
// libstria_provider_NAME.so in the folders of STRIA_PROVIDER_PATH and in the installed folder.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "stria/provider.h"

namespace stria::transport {

/// The installed folder: seen from the library or program that holds this code, so that it moves with the
/// prefix; the configured one where nothing lies there. "" in a build that has none.
std::string_view installed_provider_folder() noexcept;

/// name      letters, digits, '_' and '-'
/// path      colon-separated folders, searched in order before the installed one; empty entries are skipped
/// builtins  tables compiled into the program; they win over files
/// errors    invalid (name, or a library that is not a usable provider: the file and what was wanted and
/// found are
///           named); unreachable (no such file: the folders searched are named)
/// threads   any; a library is loaded once and never unloaded, so the table lives as long as the process
Result<const stria_provider_t*> find_provider(std::string_view name, std::string_view path,
                                              std::span<const stria_provider_t* const> builtins);

/// Whether a table is complete and of this version; `origin` is named in the error.
Result<const stria_provider_t*> check_provider(const stria_provider_t* table, std::string_view name,
                                               std::string_view origin);

}  // namespace stria::transport
