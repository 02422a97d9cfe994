// Provider `fake`: devices of one process joined by a seeded scheduler that delays, reorders, refuses and
// kills as the contract allows. The test bed of everything above; control.hpp drives it.
#pragma once

#include "stria/provider.h"

namespace stria::fake {

/// The table. Lives as long as the process.
const stria_provider_t& fake_provider() noexcept;

}  // namespace stria::fake
