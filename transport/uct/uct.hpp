// The table of functions by which the library drives the uct provider.
#pragma once

#include "stria/provider.h"

namespace stria::uct {

const stria_provider_t& uct_provider() noexcept;

}  // namespace stria::uct
