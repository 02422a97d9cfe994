// The variables of the fake provider.
#pragma once

#include "base/variable.hpp"

namespace stria::fake {

inline constexpr Variable kVariables[] = {
    number_variable(Level::expert, "STRIA_FAKE_SEED", "1", "", {}, "Seed of the fake provider's scheduler."),
    number_variable(Level::expert, "STRIA_FAKE_DELAY", "4", "steps", {0, 1 << 20},
                    "Longest delay of a packet in the fake provider, in progress steps."),
    number_variable(Level::expert, "STRIA_FAKE_QUEUE", "16", "packets", {1, 1 << 20},
                    "Packets a link of the fake provider holds before it answers no resource."),
};

}  // namespace stria::fake
