// The configuration variables of a worker (tag/settings.hpp has their values).
#pragma once

#include "base/variable.hpp"

namespace stria::tag {

inline constexpr Variable kVariables[] = {
    bytes_variable(Level::user, "STRIA_EAGER_LIMIT", "256K", {},
                   "Messages up to this size travel with their match header; a provider may lower it. Unless "
                   "it is set, 128K for what is packed, and for far peers where fragments do not flow "
                   "(STRIA_RNDV_FLOWS)."),
    choice_variable(Level::expert, "STRIA_SELF_COPY", "on", "on|off",
                    "Whether a worker's message to itself whose receive waits is copied there at once. Off: "
                    "it goes as to any other peer."),
    bytes_variable(
        Level::user, "STRIA_UNEXPECTED_BUDGET", "64M", {.minimum = 1 << 20},
        "Memory of the buffers that a worker keeps for messages without a posted receive. Beyond it, "
        "peers must announce their messages (rendezvous)."),
    number_variable(
        Level::expert, "STRIA_CLOSE_TIMEOUT_MS", "5000", "milliseconds", {},
        "How long closing a worker waits for sends under way, and for peers that have not answered yet."),
    number_variable(Level::expert, "STRIA_LIVENESS_MS", "500", "milliseconds", {1, 3600000},
                    "How often peers with work outstanding are checked for being alive."),
    number_variable(Level::expert, "STRIA_WAIT_SPIN_US", "50", "microseconds", {0, 1000000},
                    "How long a sleeping wait polls before it gives the core away."),
};

}  // namespace stria::tag
