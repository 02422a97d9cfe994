// The configuration variables of the uct provider.
#pragma once

#include "base/variable.hpp"

namespace stria::uct {

inline constexpr Variable kVariables[] = {
    text_variable(Level::user, "STRIA_UCT_TRANSPORT", "",
                  "The UCX transport to use, by the name that ucx_info -d prints (tcp, posix, rc_verbs), or "
                  "transport/device, or several of these with commas between them, which all are used: "
                  "tcp/eth0,tcp/eth1. Hosts name the same transports in the same order. "
                  "Empty: the best network that no other provider of stria serves, such as dc_mlx5, and no "
                  "device of this provider where UCX has none such."),
    text_variable(
        Level::user, "STRIA_UCT_DEVICE", "",
        "The device of each transport that STRIA_UCT_TRANSPORT names without one, by the name that ucx_info "
        "-d prints, such as eth0. Empty: the first one that reaches other hosts, else the first one."),
    number_variable(Level::expert, "STRIA_UCT_CONNECT_MS", "120000", "milliseconds", {10, 3600000},
                    "Time that a peer on another host has to answer a connection; then its link ends. A peer "
                    "answers when it calls the library, so allow for its longest computation."),
    number_variable(Level::expert, "STRIA_UCT_JOIN_ENDPOINTS", "0", "", {0, 1},
                    "1: endpoints are joined pairwise, over a TCP connection that is made for it, also by a "
                    "transport that can be connected to by its address alone."),
};

}  // namespace stria::uct
