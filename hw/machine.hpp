// The machine profile: what copies, lines and system calls cost on this host, and what that decides. It is
// measured once per host and user, in some milliseconds, and kept in a file (docs/machine.md).
//
// Measured figures (Machine) say nothing to the rest of the library: it asks for the choices that follow from
// them (Choices). What was not measured, or does not differ clearly from its alternative, leaves the choice
// that is safe on any processor. No choice changes what arrives, so ranks of one job may have different ones.
#pragma once

#include <cstdint>
#include <string>

#include "base/pacing.hpp"

namespace stria::hw {

/// What two cores cost each other. 0: not measured. Stores go to lines that the other core has: by vectors,
/// by the string instruction (hw/string_copy.hpp), or by non-temporal stores.
struct CorePair {
  double round_trip_ns = 0;  ///< a word goes there and back
  double line_ns = 0;        ///< a line that the other core wrote, one of many
  double vectors_4k_ns = 0, strings_4k_ns = 0, nontemporal_4k_ns = 0;     ///< 4 KiB stored
  double vectors_16k_ns = 0, strings_16k_ns = 0, nontemporal_16k_ns = 0;  ///< 16 KiB stored
  double take_vectors_ns = 0, take_strings_ns = 0;  ///< 64 KiB copied out of what the other core wrote
  double cells_us_per_kib = 0;   ///< one core copies into shared memory while the other copies out of it
  double attach_us_per_kib = 0;  ///< one core copies through the kernel what the other wrote
};

/// What was measured. 0: not measured.
struct Machine {
  double column_plain_ns = 0, column_few_ns = 0,
         column_many_ns = 0;                      ///< an element stored to a page of its own
  double own_vectors_ns = 0, own_strings_ns = 0;  ///< 64 KiB of its own copied by a core
  double attach_start_us = 0;                     ///< process_vm_readv of a page of this process
  CorePair near;  ///< two cores whose lines take less than kFarLineNs (hw/line_time.hpp)
  CorePair far;   ///< two cores whose lines take longer
};

/// What the figures decide. The values here are the defaults.
struct Choices {
  Pacing pacing = Pacing::few;
  /// Longest store, in bytes, to lines that a near core has, that is clearly faster by vectors than by the
  /// string instruction: 0, 4096 or 16384.
  std::uint32_t near_vectors_up_to = 0;
  bool own_strings = true;    ///< the string instruction suits long copies within a process
  bool long_strings = false;  ///< the string instruction suits long copies out of what another core wrote
  /// The string instruction suits stores to lines that a far core has. Else these are non-temporal stores,
  /// which fetch no line on any processor.
  bool far_strings = false;
  /// Vectors suit stores of short messages to lines that a far core has: other ways to store cost such a
  /// message more than they gain.
  bool far_vectors = false;
  bool flows = false;          ///< storing to far cores keeps up with their taking
  double attach_start_us = 0;  ///< start of a copy through the kernel; 0: what the cost model says
  double attach_factor = 1;  ///< time of a copy through the kernel for each byte, divided by the cost model's
};

/// The choices that follow from the figures.
Choices choices_of(const Machine& machine) noexcept;

/// Where a profile comes from.
enum class Source : std::uint8_t {
  defaults,  ///< nothing was measured: STRIA_MACHINE says so, or another process measured for too long
  measured,  ///< by this process
  kept,      ///< by an earlier process: the file of this host
  given,     ///< a file that STRIA_MACHINE names
};
const char* to_string(Source source) noexcept;

struct Profile {
  Machine machine;
  Choices choices;
  Source source = Source::defaults;
  std::string path;    ///< of the file that it was read from or written to; "": none
  std::string remark;  ///< why the profile is not kept, or not measured; "": nothing to say
  double took_ms = 0;  ///< how long this process took to obtain it
};

/// The profile of this process. The first call reads or measures it, as STRIA_MACHINE says, in at most some
/// 10 ms; later calls return the same. Any thread may call it; for setup.
const Profile& machine_profile() noexcept;

namespace detail {
extern Choices known_choices;
}
/// The choices of machine_profile() for the data path: plain loads. Before its first call they are the
/// defaults.
inline const Choices& choices() noexcept {
  return detail::known_choices;
}

}  // namespace stria::hw
