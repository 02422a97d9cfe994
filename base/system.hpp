// Which system, and which part of it, this process runs in. For addresses by which a peer finds out whether
// it is on the same host.
#pragma once

#include <cstdint>
#include <string>

namespace stria {

/// A hash of the running kernel's id, which a restart changes; 0: not known.
std::uint64_t running_system() noexcept;
/// The namespace of the calling thread of a kind that /proc/thread-self/ns names, such as "net"; 0: not
/// known.
std::uint32_t namespace_of(const char* kind) noexcept;
/// When a process started, in clock ticks since the system did; 0: not known.
std::uint64_t start_of_process(std::uint32_t pid) noexcept;
/// The name of this host; empty: not known.
std::string host_name();
/// Random, never 0. Not a secret: without getrandom() it is made from process id and time.
std::uint64_t random_word() noexcept;

}  // namespace stria
