// What goes over a connection once it is up: records one behind the other, each a head and its payload.
#pragma once

#include <cstdint>

#include "transport/contract.hpp"

namespace stria::tcp {

struct RecordHead {
  std::uint32_t bytes = 0;  ///< of the payload
  std::uint32_t reserved = 0;
  transport::Header header{};
};
static_assert(sizeof(RecordHead) == 24);

/// What is read beyond the record that is wanted. Longer payloads go from the socket straight to the memory
/// that the sink names, but for this much of them.
inline constexpr std::size_t kReadAhead = 16384;

/// A buffer has room for the longest record and what is read ahead.
constexpr std::size_t buffer_bytes(std::uint32_t eager_max) noexcept {
  return sizeof(RecordHead) + eager_max + kReadAhead;
}

/// Runs of memory in one system call.
inline constexpr std::size_t kRunsMost = 64;
/// Below this mean run, bytes are packed before they are sent, and unpacked after they came.
inline constexpr std::uint32_t kGatheredRun = 512;
inline constexpr std::uint32_t kScatteredRun = 256;

}  // namespace stria::tcp
