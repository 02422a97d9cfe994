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

/// What two cores cost each other. 0: not measured.
struct Pair {
  double round_trip_ns = 0;  ///< a word goes there and back
  double line_ns = 0;        ///< a line that the other core wrote, one of many
  double vectors_4k_ns = 0, strings_4k_ns = 0, past_4k_ns = 0;     ///< 4 KiB stored to lines the other has
  double vectors_16k_ns = 0, strings_16k_ns = 0, past_16k_ns = 0;  ///< 16 KiB
  double take_vectors_ns = 0, take_strings_ns = 0;  ///< 64 KiB that the other wrote, copied out
  double cells_us_per_kib = 0;   ///< one core copies into shared memory while the other copies out of it
  double attach_us_per_kib = 0;  ///< one core copies through the kernel what the other wrote
};

/// What was measured. 0: not measured.
struct Machine {
  double column_plain_ns = 0, column_few_ns = 0,
         column_many_ns = 0;                      ///< an element stored to a page of its own
  double own_vectors_ns = 0, own_strings_ns = 0;  ///< 64 KiB of its own copied by a core
  double attach_start_us = 0;                     ///< process_vm_readv of a page of this process
  Pair near;  ///< of two cores whose lines take less than kFarLineNs (hw/line_time.hpp)
  Pair far;   ///< and of two whose lines take longer
};

/// What the figures decide. The values here are the defaults.
struct Choices {
  Pacing pacing = Pacing::few;
  /// Up to so many bytes vectors store clearly faster than the string instruction to what a near core has: 0,
  /// 4096 or 16384.
  std::uint32_t near_vectors_up_to = 0;
  bool own_strings = true;    ///< the string instruction suits long copies within a process
  bool long_strings = false;  ///< and long copies out of what another core wrote
  /// The string instruction suits stores to what a far core has. Else these are made past the caches, which
  /// fetches no line on any processor.
  bool far_strings = false;
  /// So do vectors, for messages so short that a way without them would cost more than it gains.
  bool far_vectors = false;
  bool flows = false;          ///< storing to far cores keeps up with their taking
  double attach_start_us = 0;  ///< of a copy through the kernel; 0: what the cost model says
  double attach_factor = 1;    ///< its time for each byte, to the cost model's
};

Choices choices_of(const Machine& machine) noexcept;

/// Where a profile comes from.
enum class Source : std::uint8_t {
  defaults,  ///< nothing was measured: STRIA_MACHINE says so, or another process was at it for too long
  measured,  ///< by this process
  kept,      ///< by an earlier process: the file of this host
  given,     ///< a file that STRIA_MACHINE names
};
const char* to_string(Source source) noexcept;

struct Profile {
  Machine machine;
  Choices choices;
  Source source = Source::defaults;
  std::string path;    ///< of the file it was read from or written to; "": none
  std::string remark;  ///< why it is not kept, or not measured; "": nothing to say
  double took_ms = 0;  ///< what asking for it took this process
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
