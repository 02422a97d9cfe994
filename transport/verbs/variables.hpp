// The variables of the verbs provider.
#pragma once

#include "base/variable.hpp"

namespace stria::verbs {

inline constexpr Variable kVariables[] = {
    text_variable(
        Level::user, "STRIA_VERBS_DEVICE", "",
        "The RDMA device to use, by its name or by the IP address of its interface, or several with "
        "commas between them, which all are used; empty: the first that has an address and an "
        "active port."),
    number_variable(Level::user, "STRIA_VERBS_LINKS", "256", "", {1, 1 << 16},
                    "Peers that a worker can be connected to; the completion queues are made for so many."),
    number_variable(
        Level::expert, "STRIA_VERBS_CREDITS", "32", "", {4, 4096},
        "Messages that a peer may have under way to this worker; as many buffers are posted for it."),
    bytes_variable(Level::expert, "STRIA_VERBS_EAGER_BYTES", "8K", {256, 1 << 20},
                   "Size of a buffer for one buffered message, both sides alike."),
    number_variable(Level::expert, "STRIA_VERBS_SEND_BUFFERS", "256", "", {8, 1 << 16},
                    "Buffers a worker packs messages into, for all peers together."),
    number_variable(
        Level::expert, "STRIA_VERBS_KEYS", "1024", "", {8, 1 << 20},
        "Keys of a worker that can be valid at one time, each a memory window, a strided key or a region."),
    number_variable(Level::expert, "STRIA_VERBS_ACK_TIMEOUT", "18", "", {8, 31},
                    "A packet without an answer is sent again after 4 us times two to this power, six times; "
                    "then its peer is given up."),
    number_variable(Level::expert, "STRIA_VERBS_CONNECT_MS", "10000", "milliseconds", {10, 3600000},
                    "Time that a peer has to answer a connection; then its link ends."),
    bytes_variable(Level::expert, "STRIA_VERBS_CACHE_BYTES", "1G", {},
                   "Memory that stays registered between messages, if memory hooks or the kernel report when "
                   "it is freed. "
                   "0: none stays registered."),
    choice_variable(Level::expert, "STRIA_VERBS_MEMORY_WATCH", "auto", "auto|hooks|userfaultfd",
                    "Who tells that registered memory goes away: hooks of the application, as Open MPI has "
                    "them, or the kernel; auto: hooks where there are, else the kernel."),
};

}  // namespace stria::verbs
