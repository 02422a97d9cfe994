// The composition root: the providers that are built into the library.
#pragma once

#include <span>

#include "stria/provider.h"

namespace stria::tag {

std::span<const stria_provider_t* const> builtin_providers() noexcept;

}  // namespace stria::tag
