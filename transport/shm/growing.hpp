// Cells that are read while they are written. The record that names such a cell is published when its first
// bytes are there; a word behind the cell, in a line of its own, says how many are, and the receiver copies
// what has come and waits for more. So a message costs little more than one copy where it would cost two.
//
//   sender    first bytes ── word ── record ── more bytes ── word ── … ── all bytes ── word
//   receiver                         record ── copies up to word ── … ── frees the cell
//
// Between near caches only: for far ones cells are written past the caches, in one go. A sender that dies, or
// is stopped, in the middle keeps the receiver in deliver(): it gives its core away, and looks whether the
// sender lives.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "stria/provider.h"
#include "transport/payload.hpp"
#include "transport/shm/attach.hpp"
#include "transport/shm/gather.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kGrowLeast = 4097;  // a shorter cell is published whole
inline constexpr std::uint32_t kGrowthStep = 4096;

/// Contiguous memory only: kernels that pack are slower by pieces.
inline bool may_grow(const transport::Payload& payload) noexcept {
  return payload.layout == nullptr && payload.length >= kGrowLeast;
}

/// Writes the payload, and calls `publish` once, when its first bytes are there.
template <class Publish>
void grow(const transport::Payload& payload, std::byte* cell, std::atomic<std::uint32_t>& word,
          Publish publish) noexcept {
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  for (std::uint32_t at = 0; at < bytes;) {
    const std::uint32_t part = std::min(kGrowthStep, bytes - at);
    gather(transport::slice(payload, at, part), cell + at);
    at += part;
    word.store(at, std::memory_order_release);
    if (at == part) publish();
  }
}

/// A packet out of such a cell, as the sink sees it.
class Growing {
 public:
  Growing(const stria_header_t& header, const std::byte* cell, std::uint32_t bytes,
          const std::atomic<std::uint32_t>& word, const Attached& sender) noexcept
      : arriving_{{&header, cell, bytes, STRIA_PACKET_ARRIVING}, &Growing::arrived},
        word_(&word),
        sender_(&sender) {}

  const stria_packet_t& packet() const noexcept { return arriving_.packet; }
  /// As stria_arriving_t says.
  std::uint32_t wait(std::uint32_t bytes) const noexcept;

 private:
  static std::uint32_t arrived(const stria_arriving_t* self, std::uint32_t bytes) noexcept {
    return reinterpret_cast<const Growing*>(self)->wait(bytes);
  }
  stria_arriving_t arriving_;  // first: the sink knows us by it
  const std::atomic<std::uint32_t>* word_;
  const Attached* sender_;
};

}  // namespace stria::shm
