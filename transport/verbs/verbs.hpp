// The table of the verbs provider, and what tests ask of its devices.
#pragma once

#include "stria/provider.h"
#include "transport/verbs/poster.hpp"

namespace stria::verbs {

const stria_provider_t& verbs_provider() noexcept;

/// The counters of a device that this provider opened.
const Counters& counters_of(stria_device_t* device) noexcept;

}  // namespace stria::verbs
