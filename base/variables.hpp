// The variables of base/: the log, and what is taken from the processor (base/processor.hpp), which is read
// once in a process.
#pragma once

#include "base/variable.hpp"

namespace stria {

inline constexpr Variable kBaseVariables[] = {
    choice_variable(Level::user, "STRIA_LOG", "warn", "trace|debug|info|warn|error|off",
                    "How much is written to stderr."),
    text_variable(
        Level::user, "STRIA_MACHINE", "auto",
        "The source of this machine's figures, by which stria decides how to copy bytes. auto: the file "
        "of an earlier process or, if there is none, a measurement of some milliseconds, which is saved to "
        "such a file. measure: a new measurement, which replaces the file, unless a process that started at "
        "the same "
        "time has made one. defaults: built-in choices, safe "
        "on any machine. A path, with a '/' in it: that file. Read once in a process, before its first "
        "context."),
    choice_variable(Level::expert, "STRIA_VECTORS", "auto", "auto|portable|avx2|avx512",
                    "The widest vector instructions for copies. Auto: the widest that the processor has. If "
                    "it lacks those named, its widest are used, with a warning. Read once in a process, "
                    "before its first context or layout."),
    choice_variable(
        Level::expert, "STRIA_PACING", "auto", "auto|off|few|many",
        "How many stores are put between the elements of columns whose lines crowd in few sets of "
        "the cache, so that fewer misses are under way. Auto: what was measured to be fastest "
        "(STRIA_MACHINE), else few. Read once in a process, before its first context or layout."),
    choice_variable(Level::expert, "STRIA_STRINGS", "auto", "auto|on|off",
                    "Whether the processor's string instruction is taken for fast, so that long contiguous "
                    "copies are made by it. Auto: what the processor says. Read once in a process, before "
                    "its first context or layout."),
    bytes_variable(Level::expert, "STRIA_FIRST_CACHE", "0", {0, 1 << 30},
                   "Size of a core's first-level data cache. A provider whose windows fill half of it may "
                   "use half of each "
                   "while the receiver keeps up. 0: what the system says. Read once in a process, before its "
                   "first context or layout."),
    bytes_variable(Level::expert, "STRIA_LAST_CACHE", "0", {},
                   "Size of the last-level cache. Messages that are longer than a quarter of it (at least "
                   "2M, at most 8M) are packed and unpacked past the caches. 0: what the system says. Read "
                   "once in a process, before its first context or layout."),
};

}  // namespace stria
