// The provider's table.
#pragma once

#include "stria/provider.h"

namespace stria::uct {

const stria_provider_t& uct_provider() noexcept;

}  // namespace stria::uct
