// The table of the tcp provider.
#pragma once

#include "stria/provider.h"

namespace stria::tcp {

const stria_provider_t& tcp_provider() noexcept;

}  // namespace stria::tcp
