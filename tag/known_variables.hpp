// The list of the configuration variables: those of the rooms, of the built-in providers, and of the
// providers that STRIA_PROVIDERS names. A provider's library is loaded for its variables when it is named,
// and not because it lies in a folder: a process that does not use RDMA loads no library of it.
#pragma once

#include <span>
#include <string_view>

#include "base/config.hpp"
#include "stria/provider.h"

namespace stria::tag {

/// The variables of the rooms, of the built-in providers and of those that STRIA_PROVIDERS names, in the
/// order in which they are listed. A provider that cannot be loaded has no variables; opening a context says
/// why.
VariableGroups known_variables(std::span<const stria_provider_t* const> builtins);

/// The variables of known_variables(), and those of all other providers that lie in a folder of
/// STRIA_PROVIDER_PATH or in the installed one.
VariableGroups all_variables(std::span<const stria_provider_t* const> builtins);

/// Warns of variables in the environment that are not in `groups`. The variables of a provider that lies in a
/// folder and is not in use cause no warning: they wait for their provider.
void report_unknown(const VariableGroups& groups, std::span<const stria_provider_t* const> builtins);

}  // namespace stria::tag
