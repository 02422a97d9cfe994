// The configuration variables of the shm provider. docs/notebook/shm.md has the measurements behind the
// defaults.
#pragma once

#include "base/variable.hpp"

namespace stria::shm {

inline constexpr Variable kVariables[] = {
    number_variable(Level::expert, "STRIA_SHM_WINDOWS", "32", "", {0, 4096},
                    "PIO windows a worker gives to its peers; the others use its shared inbox."),
    bytes_variable(
        Level::expert, "STRIA_SHM_WINDOW_BYTES", "16K", {4096, 1 << 24},
        "Size of one PIO window, a power of two; one that stays in the first-level cache is faster."),
    choice_variable(Level::expert, "STRIA_SHM_SHORT_LAPS", "auto", "auto|on|off",
                    "Whether half of a PIO window is left alone while its receiver keeps up. Auto: where two "
                    "whole windows fill the first-level cache."),
    bytes_variable(Level::expert, "STRIA_SHM_PIO_MTU", "3K", {0, 1 << 20},
                   "Longest message the PIO window takes, in bytes of payload; where a quarter of the window "
                   "is less, that is taken."),
    number_variable(Level::expert, "STRIA_SHM_INBOX_SLOTS", "1024", "", {16, 1 << 20},
                    "Slots of the inbox shared by peers without a window, a power of two."),
    number_variable(Level::expert, "STRIA_SHM_CELLS", "128", "", {8, 1 << 16},
                    "Cells a worker packs buffered messages and pipeline fragments into."),
    bytes_variable(Level::expert, "STRIA_SHM_CELL_BYTES", "32K", {4096, (1 << 24) - 64}, "Size of one cell."),
    number_variable(Level::expert, "STRIA_SHM_LONG_CELLS", "16", "", {0, 1 << 15},
                    "Cells for buffered messages that are longer than an ordinary one."),
    bytes_variable(Level::expert, "STRIA_SHM_LONG_CELL_BYTES", "256K", {0, (1 << 24) - 64},
                   "Size of one long cell. Not longer than an ordinary cell: there are no long cells."),
    choice_variable(
        Level::user, "STRIA_SHM_HUGE_PAGES", "auto", "auto|start|used|off",
        "When cells become huge pages, where the kernel (6.1 and later) gives them on demand. Auto: ordinary "
        "ones at the start, 2 MiB of each process, and long ones, 2 MiB more, when a few messages went "
        "through them. Start: both at the start. Used: both after some messages."),
    choice_variable(
        Level::expert, "STRIA_SHM_DISTANCE", "auto", "auto|near|far",
        "Whether peers share this process's last-level cache; what goes to far ones is written in "
        "ways that do not fetch their lines. Auto: as the system tells; in virtual machines, as "
        "measured. Both again each STRIA_LIVENESS_MS."),
    choice_variable(
        Level::expert, "STRIA_SHM_STRINGS", "auto", "auto|on|off",
        "Whether contiguous bytes are stored to cells by the processor's string instruction. "
        "Auto: where that is fast (STRIA_STRINGS); from 2 KiB on, to near peers from where it was "
        "measured to keep up with vectors, and to far peers where it was measured to keep up with stores "
        "past the caches (STRIA_MACHINE). On: at any length."),
    choice_variable(Level::user, "STRIA_SHM_CMA", "auto", "auto|off",
                    "Cross-memory attach: probed for each peer, or never used."),
    choice_variable(Level::expert, "STRIA_SHM_ATTACH", "auto", "auto|proc|socket",
                    "How a peer's memory is attached: through /proc, by a descriptor passed over a unix "
                    "socket, or the first that works."),
    number_variable(Level::expert, "STRIA_SHM_MAX_PEERS", "4096", "", {2, 1 << 20},
                    "Peers that can attach to one worker."),
    number_variable(Level::expert, "STRIA_SHM_KEYS", "16384", "", {64, 1 << 24},
                    "Slots of a worker's key table."),
};

}  // namespace stria::shm
