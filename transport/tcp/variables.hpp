// The configuration variables of the tcp provider.
#pragma once

#include "base/variable.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

inline constexpr Variable kVariables[] = {
    text_variable(Level::user, "STRIA_TCP_INTERFACES", "",
                  "The network interfaces that peers may use: names and networks with commas between them, "
                  "such as eth0,10.0.0.0/8; those behind a ! are left out: !docker0. Empty: all that are up, "
                  "but the loopback one, which serves where there is no other."),
    text_variable(Level::user, "STRIA_TCP_PORTS", "",
                  "The ports to listen on, such as 40000-40100, for hosts behind a firewall. Each process "
                  "takes one of them. Empty: any that the system gives."),
    choice_variable(
        Level::expert, "STRIA_TCP_ENGINE", "auto", "auto|uring|epoll",
        "How a device without traffic learns that something has come, and who moves long messages. "
        "uring: through memory that the device shares with the kernel (io_uring), at each call and for "
        "almost nothing, and the kernel moves them also while the application computes; epoll: by a "
        "system call now and then, and long messages move while the application calls. auto takes uring "
        "where the kernel has and allows it."),
    number_variable(Level::expert, "STRIA_TCP_CONNECT_MS", "120000", "milliseconds", {10, 3600000},
                    "Time that a peer has to answer a connection; then its link ends. A peer answers when it "
                    "calls the library, so allow for its longest computation."),
    number_variable(
        Level::user, "STRIA_TCP_SILENT_MS", "30000", "milliseconds", {100, 3600000},
        "Time after which a host is given up whose system acknowledges nothing: it lost its power, or the "
        "network between. A process that computes or is stopped is not silent."),
    choice_variable(
        Level::expert, "STRIA_TCP_RETAIN", "on", "on|off",
        "Whether packets are copied until the peer's system has acknowledged them, so that a connection "
        "which "
        "is reset can be made anew at any time. Without it only one on which nothing was under way can, and "
        "the others end their link; streams of packets of 8 to 64 KiB cost the sender up to a sixth less."),
    bytes_variable(Level::expert, "STRIA_TCP_EAGER_BYTES", "64K", {1024, 65536},
                   "Longest payload of one packet. Longer messages are announced first."),
    number_variable(
        Level::expert, "STRIA_TCP_BULK_CONNECTIONS", "1", "", {1, kLanesMost},
        "Connections to a peer, beside the first, over which long messages are read from its "
        "memory; so many for each interface that is in one network with the peer and about as fast "
        "as the one that the peer was reached by. They are made when such a message comes, and "
        "closed when the process has no descriptor left and nobody uses them."),
};

}  // namespace stria::tcp
