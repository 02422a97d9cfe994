// The composition root: which providers are built in.
#pragma once

#include <span>

#include "stria/provider.h"

namespace stria::tag {

std::span<const stria_provider_t* const> builtin_providers() noexcept;

}  // namespace stria::tag
