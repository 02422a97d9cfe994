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
  std::uint32_t entries = 0;  ///< most entries of one key; 0: the device has no strided keys
  InterleavedLimits interleaved;
  SgLimits list;
};

/// What rdma-core has answered about a device.
struct VerbsAnswers {
  ibv_device_attr_ex device{};
  ibv_transport_type transport = IBV_TRANSPORT_IB;
  std::uint32_t inline_bytes = 0;  ///< most inline data of a queue pair, in bytes
  StridedKeys strided;
};

/// What a device can do, and its limits.
struct VerbsTraits {
  /// The device is of iWARP: the memory that a read fills needs the right of remote writes, the side that
  /// connected speaks first, there is no receiver-not-ready, and a refused access ends the connection without
  /// a word.
  bool iwarp = false;
  bool window_1 = false;  ///< memory windows bound by a call
  /// Memory windows bound by a work request, for every queue pair of the protection domain.
  bool window_2a = false;
  bool window_2b = false;   ///< memory windows bound by a work request, to one queue pair
  bool zero_based = false;  ///< windows whose remote addresses begin at 0
  bool local_invalidate = false;
  bool send_invalidate = false;
  bool atomics = false;
  bool masked_atomics = false;
  bool xrc = false;
  bool loopback_blocking = false;
  bool on_demand_paging = false;
  /// When a request before a bind is lost, the device performs the bind once more together with that request,
  /// which breaks the queue pair (rxe): a bind has to wait until all before it is acknowledged.
  bool repeats_binds = false;
  std::uint32_t inline_bytes = 0;
  std::uint32_t max_sge = 0;       ///< pieces of local memory that one send or write takes
  std::uint32_t max_read_sge = 0;  ///< pieces of local memory that one read fills
  std::uint32_t max_reads = 0;     ///< reads of one queue pair that are under way at a time
  std::uint32_t max_windows = 0;
  /// Most bytes of one window. No call tells it: libmlx5 refuses to post a longer window, which would end the
  /// connection.
  std::uint64_t max_window_bytes = std::uint64_t{1} << 31;
  std::uint32_t max_send_queue = 0;  ///< work requests of one queue pair
  std::uint32_t max_shared_receives = 0;
  std::uint32_t max_completions = 0;
  StridedKeys strided;

  /// Whether keys are made and ended in the data path, by windows.
  bool has_windows() const noexcept { return (window_2a || window_2b) && max_windows > 0; }
};

VerbsTraits traits_of(const VerbsAnswers& answers) noexcept;

/// The STRIA_CAP_* bits that a device with these traits can back. A provider may state fewer of them.
std::uint64_t capability_bits_of(const VerbsTraits& traits) noexcept;

/// For people: one line a limit.
std::string to_text(const VerbsTraits& traits);

}  // namespace stria::hw
