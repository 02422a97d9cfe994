// The provider's table, and what tests ask of its devices.
#pragma once

#include "stria/provider.h"
#include "transport/verbs/poster.hpp"

namespace stria::verbs {

const stria_provider_t& verbs_provider() noexcept;

/// Of a device that this provider opened: what was posted so far.
const Counters& counters_of(stria_device_t* device) noexcept;

}  // namespace stria::verbs
