// What rdma-core says of a device, in the words of this tree: a pure translation of recorded attributes, so
// that it is tested without a device. Code that drives a device asks these traits, and neither its name nor
// its vendor.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "hw/capabilities.hpp"
#include "hw/descriptor_encoders.hpp"

namespace stria::hw {

/// Strided keys made by a work request (mlx5: UMR), as far as the device's own library tells of them.
struct StridedKeys {
  std::uint32_t entries = 0;  ///< of one key; 0: the device has none
  InterleavedLimits interleaved;
  SgLimits list;
};

/// What was asked of a device.
struct VerbsAnswers {
  ibv_device_attr_ex device{};
  ibv_transport_type transport = IBV_TRANSPORT_IB;
  std::uint32_t inline_bytes = 0;  ///< of a queue pair that was made
  StridedKeys strided;
};

struct VerbsTraits {
  /// iWARP: the memory that a read fills needs the right of remote writes, the side that connected speaks
  /// first, there is no receiver-not-ready, and a refused access ends the connection without a word.
  bool iwarp = false;
  bool window_1 = false;    ///< memory windows bound by a call
  bool window_2a = false;   ///< bound by a work request, for every queue pair of the protection domain
  bool window_2b = false;   ///< bound by a work request, to one queue pair
  bool zero_based = false;  ///< windows whose remote addresses begin at 0
  bool local_invalidate = false;
  bool send_invalidate = false;
  bool atomics = false;
  bool masked_atomics = false;
  bool xrc = false;
  bool loopback_blocking = false;
  bool on_demand_paging = false;
  /// When what was posted before a bind is lost, the bind is done again with it, and breaks the queue pair
  /// (rxe): a bind has to wait until all before it is acknowledged.
  bool repeats_binds = false;
  std::uint32_t inline_bytes = 0;
  std::uint32_t max_sge = 0;       ///< of sends and writes
  std::uint32_t max_read_sge = 0;  ///< pieces of local memory that one read fills
  std::uint32_t max_reads = 0;     ///< under way at a time, of one queue pair
  std::uint32_t max_windows = 0;
  /// Of one window. No call tells it: libmlx5 refuses to post a longer one, which would end the connection.
  std::uint64_t max_window_bytes = std::uint64_t{1} << 31;
  std::uint32_t max_send_queue = 0;  ///< work requests of one queue pair
  std::uint32_t max_shared_receives = 0;
  std::uint32_t max_completions = 0;
  StridedKeys strided;

  /// A key is made and ended in the data path.
  bool has_windows() const noexcept { return (window_2a || window_2b) && max_windows > 0; }
};

VerbsTraits traits_of(const VerbsAnswers& answers) noexcept;

/// The STRIA_CAP_* bits that a device with these traits can back. Which of them a provider states is its own
/// affair: it may use less.
std::uint64_t capability_bits_of(const VerbsTraits& traits) noexcept;

/// One line a limit, for people.
std::string to_text(const VerbsTraits& traits);

}  // namespace stria::hw
