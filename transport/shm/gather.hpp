// Copies a payload into memory that a peer reads: a record in the peer's window or inbox, or a cell of this
// device. There are three ways to store it: ordinary stores, the string instruction, and non-temporal
// stores.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "datatype/kernels/nontemporal.hpp"
#include "datatype/pack.hpp"
#include "hw/pio.hpp"
#include "hw/string_copy.hpp"
#include "transport/payload.hpp"
#include "transport/shm/record.hpp"

namespace stria::shm {

/// Packs the payload to `out` by ordinary stores.
inline void gather(const transport::Payload& payload, std::byte* out) noexcept {
  if (payload.length > kFirstPayload && payload.layout != nullptr && !transport::has_long_blocks(payload))
    hw::prefetch_lines_to_write(out, static_cast<std::uint32_t>(payload.length));
  transport::pack(payload, out);
}

/// Packs the payload to `out`, the start of a line, by non-temporal stores. Memory with a layout is first
/// packed into a buffer in the first-level cache, and stored from there in whole lines: a store of less than
/// a line takes as much room in the processor's queue as one of a whole line.
inline void store_nontemporal(const transport::Payload& payload, std::byte* out) noexcept {
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
    datatype::kernel::nontemporal_run(reinterpret_cast<datatype::Address>(out + at),
                                      reinterpret_cast<datatype::Address>(from), part);
  }
  datatype::kernel::nontemporal_fence();
}

/// Copies one run by the string instruction, or ordinarily where the instruction is slow (strings_suit()).
inline void store_run(std::byte* out, const std::byte* from, std::size_t bytes) noexcept {
  if (hw::strings_suit(out, from))
    hw::string_copy(out, from, bytes);
  else
    datatype::copy_bytes(out, from, bytes);
}
/// Packs the payload to `out` by the string instruction, run by run.
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

/// The ways to write a payload, or a piece of it, to a cell: gather(), store_nontemporal(), store_string().
enum class Way : std::uint8_t { gather, nontemporal, string };
inline void store(Way way, const transport::Payload& payload, std::byte* out) noexcept {
  switch (way) {
    case Way::gather:
      return gather(payload, out);
    case Way::nontemporal:
      return store_nontemporal(payload, out);
    case Way::string:
      return store_string(payload, out);
  }
}

}  // namespace stria::shm
