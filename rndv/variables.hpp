// The configuration variables of large messages (rndv/options.hpp has their values).
#pragma once

#include "base/variable.hpp"

namespace stria::rndv {

inline constexpr Variable kVariables[] = {
    choice_variable(
        Level::user, "STRIA_RNDV_SCHEME", "auto", "auto|get|both|pipeline",
        "How rendezvous data moves: chosen by the cost model, or forced where the path allows it. Both: by "
        "both sides between memories of stria_mem_alloc(), as get elsewhere."),
    bytes_variable(Level::expert, "STRIA_RNDV_FRAGMENT", "32K", {1024, 1 << 30},
                   "Longest fragment of the packed pipeline; by default the cost model takes shorter ones. "
                   "Set: all have this size, unless the provider's are shorter."),
    bytes_variable(Level::expert, "STRIA_RNDV_PULL_SLICE", "4M", {4096, 1 << 30},
                   "A get within a host moves at most this much before other traffic is looked after."),
    number_variable(Level::expert, "STRIA_RNDV_PATIENCE", "5", "microseconds", {0, 30000},
                    "A receiver of the packed pipeline waits so long for a fragment before it reads a part "
                    "of the message itself, where it can."),
    choice_variable(
        Level::expert, "STRIA_RNDV_FLOWS", "auto", "auto|on|off",
        "Whether what goes through memory that both sides share flows between far caches, so that long "
        "messages go there by fragments, too. Auto: where that was measured to be faster (STRIA_MACHINE)."),
    choice_variable(
        Level::expert, "STRIA_RNDV_SHARE", "auto", "auto|on|off",
        "Whether both sides may copy a part of a message each, between memories of stria_mem_alloc(). Auto: "
        "yes, but not in MPI jobs with more ranks than cores, where one waits for the other's turn."),
    bytes_variable(
        Level::expert, "STRIA_RNDV_RAILS", "1M", {4096, std::int64_t{1} << 56},
        "Messages of this length or longer that are packed or got are divided among all links to the peer, "
        "where its provider has several devices."),
    bytes_variable(
        Level::expert, "STRIA_RNDV_PIECE", "512K", {4096, 1 << 30},
        "Longest piece of a divided message that one link is asked for, or reads, at a time. Shorter "
        "pieces spread better over links of different speed, longer ones need fewer requests."),
};

}  // namespace stria::rndv
