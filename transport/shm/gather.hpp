// Payload into the memory that a peer reads: a record in its window, or a cell of ours.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "datatype/kernels/stream.hpp"
#include "datatype/pack.hpp"
#include "hw/pio.hpp"
#include "hw/string_copy.hpp"
#include "transport/payload.hpp"
#include "transport/shm/record.hpp"
#include "transport/shm/settings.hpp"
#include "transport/shm/store_speed.hpp"

namespace stria::shm {

/// By ordinary stores.
inline void gather(const transport::Payload& payload, std::byte* out) noexcept {
  if (payload.length > kFirstPayload && payload.layout != nullptr && !transport::has_long_blocks(payload))
    hw::prefetch_lines_to_write(out, static_cast<std::uint32_t>(payload.length));
  transport::pack(payload, out);
}

/// Past the caches; `out` is the start of a line. Small blocks are packed where the first-level cache keeps
/// them and stored from there in whole lines: a store that is less than a line takes as much room in the
/// processor's queue as one that is.
inline void stream(const transport::Payload& payload, std::byte* out) noexcept {
  constexpr std::int64_t kBounce = 4096, kLongBounce = 32768, kUnit = kLine;
  alignas(kLine) std::byte bounce[kLongBounce];
  const std::int64_t most = std::clamp(transport::turned_bytes(payload) & -kUnit, kBounce, kLongBounce);
  for (std::int64_t at = 0, part = 0; at < payload.length; at += part) {
    const std::byte* from = bounce;
    if (payload.layout == nullptr) {
      part = payload.length - at;
      from = transport::contiguous_begin(payload) + at;
    } else {
      part = std::min(most, payload.length - at);
      transport::pack(
          transport::slice(payload, static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(part)),
          bounce);
    }
    datatype::kernel::stream_run(reinterpret_cast<datatype::Address>(out + at),
                                 reinterpret_cast<datatype::Address>(from), part);
  }
  datatype::kernel::stream_end();
}

inline void store_run(std::byte* out, const std::byte* from, std::size_t bytes) noexcept {
  if (hw::strings_suit(out, from))
    hw::string_copy(out, from, bytes);
  else
    datatype::copy_bytes(out, from, bytes);
}
/// By the string instruction, run by run; those that it does not suit ordinarily.
inline void store_string(const transport::Payload& payload, std::byte* out) noexcept {
  if (payload.layout == nullptr)
    return store_run(out, transport::contiguous_begin(payload), static_cast<std::size_t>(payload.length));
  constexpr std::size_t kRuns = 16;
  std::array<struct iovec, kRuns> runs;
  std::int64_t covered = 0;
  for (std::int64_t at = 0; at < payload.length; at += covered) {
    const transport::Payload rest = transport::slice(payload, static_cast<std::uint64_t>(at),
                                                     static_cast<std::uint64_t>(payload.length - at));
    const std::size_t n = datatype::iovecs(transport::range_of(rest), runs.data(), kRuns, &covered);
    for (std::size_t i = 0; i < n; ++i) {
      store_run(out, static_cast<const std::byte*>(runs[i].iov_base), runs[i].iov_len);
      out += runs[i].iov_len;
    }
  }
}

/// The ways to write a payload to a cell, all of it or by pieces.
enum class Way : std::uint8_t { gather, stream, string };
inline void store(Way way, const transport::Payload& payload, std::byte* out) noexcept {
  switch (way) {
    case Way::gather:
      return gather(payload, out);
    case Way::stream:
      return stream(payload, out);
    case Way::string:
      return store_string(payload, out);
  }
}
inline constexpr std::uint32_t kPastLeast = 512;  // bytes, to a far peer: shorter ones ordinarily
// Bytes, while few cells go round: past the caches, to a near peer and to a far one.
inline constexpr std::uint32_t kFewLeast = 8192, kFarFewLeast = kStringLeast;

/// Bytes, while the receiver is behind, or they go in a row: through a cell, though the window would take
/// them.
inline constexpr std::uint32_t kStreamLeast = 2048;
inline constexpr std::uint64_t kStreamEarns = 65536;  // of these, 7 ms, before that asks for new cells

/// Stores past the caches do not ask for lines that the peer has, or had, and on most hosts the string
/// instruction does not either: `string_speed` knows. `far`: these lines come one by one from the peer's
/// cache, if they are asked for.
inline Way way_to_store(const transport::Payload& payload, bool far, const Settings& settings,
                        StoreSpeed& string_speed) noexcept {
  const std::uint32_t least = far ? settings.far_string_least : settings.near_string_least;
  if (payload.length >= least && transport::has_long_blocks(payload))
    return least > 0 && string_speed.is_slow() ? Way::stream : Way::string;
  return far ? Way::stream : Way::gather;
}

}  // namespace stria::shm
