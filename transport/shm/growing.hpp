// Growing cells: the receiver reads a cell while the sender writes it. The sender writes the payload in steps
// (cell_plan.hpp). After the first step it publishes the record, which names the cell and the length of a
// step. Then the growth word, which lies behind the cell in a line of its own, says how many bytes are there;
// the receiver copies these and waits for more. So a message takes little longer than one copy, instead of
// two.
//
//   sender    first step ── record ── more bytes ── word ── … ── all bytes ── word
//   receiver                record ── copies the first step ── copies up to word ── … ── frees the cell
//
// The growth word also has the number of the cell's use. So nothing has to be stored to the word, and its
// line need not change hands, before the record. When the sender stands still in the middle, the receiver
// waits some microseconds and then leaves the record in the window; the packet is delivered again when the
// growth word says that all of the payload is there, or when the sender is gone. No other packet waits: this
// sender has sent none behind the record, as it is in the middle of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/assert.hpp"
#include "stria/provider.h"
#include "transport/payload.hpp"
#include "transport/shm/gather.hpp"
#include "transport/shm/record.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

/// The growth word: bytes that are there in the lower half, the number of the cell's use in the upper half.
constexpr std::uint64_t growth_of(std::uint32_t use, std::uint32_t bytes) noexcept {
  return bytes | (std::uint64_t{use} << 32);
}
/// How many bytes of use `use` are there, by the growth word; 0: the word is of another use.
constexpr std::uint32_t grown_bytes(std::uint64_t word, std::uint32_t use) noexcept {
  return word >> 32 == use ? static_cast<std::uint32_t>(word) : 0;
}

/// How a cell grows in one use of it. Two registers.
struct Growth {
  std::atomic<std::uint64_t>* word;  ///< the growth word of the cell
  std::uint32_t use;                 ///< number of the cell's use
  std::uint32_t step;  ///< bytes that are written before the record, and between two stores of the word
};

/// Writes the payload to the cell in steps. Calls `publish` once, after the first step, and stores the
/// growth word after each further step.
template <class Publish>
void grow(const transport::Payload& payload, std::byte* cell, Growth growth, Way way,
          Publish publish) noexcept {
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  STRIA_ASSERT(growth.step > 0 && growth.step < bytes, "what grows has a first and a second step");
  for (std::uint32_t at = 0; at < bytes;) {
    const std::uint32_t part = std::min(growth.step, bytes - at);
    store(way, transport::slice(payload, at, part), cell + at);
    at += part;
    if (at == part)
      publish();
    else
      growth.word->store(growth_of(growth.use, at), std::memory_order_release);
  }
}

/// Waits some microseconds at most until `bytes` bytes of a growing cell are there; does not wait for 0
/// bytes. Returns how many are there by the growth word: at most `all`, whatever the peer wrote.
std::uint32_t wait_grown(const std::atomic<std::uint64_t>& word, std::uint32_t use, std::uint32_t bytes,
                         std::uint32_t all) noexcept;

/// A packet in a growing cell, as the sink sees it.
class Growing {
 public:
  /// STRIA_PACKET_ARRIVING is added to `packet.buffered`. `growth.word` is only read.
  /// is_over: the sender of the packet writes nothing any more.
  Growing(const stria_packet_t& packet, Growth growth, bool is_over) noexcept
      : arriving_{packet, &Growing::arrived},
        first_(std::min(growth.step, packet.bytes)),
        use_(growth.use),
        is_over_(is_over),
        word_(growth.word) {
    arriving_.packet.buffered |= STRIA_PACKET_ARRIVING;
    __builtin_prefetch(word_);
  }

  const stria_packet_t& packet() const noexcept { return arriving_.packet; }
  /// Implements stria_arriving_t::arrived: waits a little for `bytes` bytes, and returns how many are there;
  /// 0: the sender is gone, and the rest will not come.
  std::uint32_t wait(std::uint32_t bytes) const noexcept {
    if (bytes <= first_) return first_;
    const std::uint32_t there = wait_grown(*word_, use_, bytes, arriving_.packet.bytes);
    return there >= bytes ? there : is_over_ ? 0 : std::max(there, first_);
  }
  /// Whether there is nothing to wait for: all of the payload is there, or its sender is gone.
  bool is_done() const noexcept {
    return is_over_ || wait_grown(*word_, use_, 0, arriving_.packet.bytes) == arriving_.packet.bytes;
  }

 private:
  static std::uint32_t arrived(const stria_arriving_t* self, std::uint32_t bytes) noexcept {
    return reinterpret_cast<const Growing*>(self)->wait(bytes);
  }

  stria_arriving_t arriving_;  // first member: arrived() finds the object by its address
  std::uint32_t first_;        // bytes of the first step, which is there from the start
  std::uint32_t use_;
  bool is_over_;
  const std::atomic<std::uint64_t>* word_;
};

}  // namespace stria::shm
