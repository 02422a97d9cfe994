// The inbox: one ring of 64-byte slots for each device. Every peer says hello in it, and peers without a
// window send their records through it.
//
//   slot   | state 8 | control 8 | header 16 | payload, up to 32 bytes |
//   state  phase 2 | peer slot 22 | lap 40     lap = ticket / slots, so zero bytes are an empty ring
//
// Tickets count the slots of all laps: slot = ticket modulo slots. Producers are many, and each may die at
// any instruction. So a producer claims a slot by its state, not by the head: it changes (lap, free) to
// (lap, me, claimed). Any producer that finds the slot at the head claimed moves the head forward. When the
// record is written, its producer publishes it as (lap, me, ready). The consumer frees the slot as (lap + 1,
// free).
//
// A slot that stays claimed names its claimant; when the claimant's process is gone, the consumer passes
// over the slot. When a peer goes away, slots of other peers, claimed but not yet published, may stand
// before its records. The consumer then takes these records out of turn, and strikes their slots: (lap,
// nobody, ready).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/shm/record.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kInboxPayload = kLine - 8 - kRecordHeader;
static_assert(kInboxPayload >= STRIA_SMALL_PAYLOAD, "a small payload needs no cell");

enum class InboxPhase : std::uint64_t { free = 0, claimed = 1, ready = 2 };
constexpr std::uint64_t inbox_state(InboxPhase phase, std::uint32_t peer, std::uint64_t lap) noexcept {
  return static_cast<std::uint64_t>(phase) | (std::uint64_t{peer} << 2) | (lap << 24);
}
constexpr InboxPhase inbox_phase(std::uint64_t state) noexcept {
  return static_cast<InboxPhase>(state & 3);
}
constexpr std::uint32_t inbox_peer(std::uint64_t state) noexcept {
  return static_cast<std::uint32_t>(state >> 2) & ((1u << 22) - 1);
}
constexpr std::uint64_t inbox_lap(std::uint64_t state) noexcept {
  return state >> 24;
}

inline constexpr std::uint32_t kInboxNobody = (1u << 22) - 1;  // the peer slot in a struck inbox slot

struct alignas(kCacheLine) InboxSlot {
  std::atomic<std::uint64_t> state;
  std::uint64_t control;
  std::byte bytes[kLine - 16];  // header, payload
};
static_assert(sizeof(InboxSlot) == kLine);

/// A producer's end of the ring. `me` is the number of its peer slot. Private memory, one thread.
class InboxSender {
 public:
  InboxSender() = default;
  InboxSender(const SegmentView& segment, std::uint32_t me) noexcept
      : head_(&segment.header().inbox_head),
        slots_(reinterpret_cast<InboxSlot*>(segment.inbox())),
        mask_(segment.shape().inbox_slots - 1),
        shift_(static_cast<std::uint32_t>(__builtin_ctz(segment.shape().inbox_slots))),
        me_(me) {}

  /// Whether claim() would succeed now, unless another producer comes first.
  bool has_room() const noexcept {
    const std::uint64_t ticket = head_->load(std::memory_order_relaxed);
    return inbox_lap(slots_[ticket & mask_].state.load(std::memory_order_relaxed)) >= ticket >> shift_;
  }
  /// Claims a slot. The caller writes header and payload, and then calls publish(). Null: the inbox is full,
  /// or other producers came first too often.
  InboxSlot* claim() noexcept {
    for (int attempts = 0; attempts < 64; ++attempts) {
      std::uint64_t ticket = head_->load(std::memory_order_acquire);
      InboxSlot& slot = slots_[ticket & mask_];
      const std::uint64_t lap = ticket >> shift_;
      std::uint64_t state = slot.state.load(std::memory_order_acquire);
      if (inbox_lap(state) < lap) return nullptr;  // the slot still has its record of the lap before
      if (inbox_lap(state) == lap && inbox_phase(state) == InboxPhase::free &&
          slot.state.compare_exchange_strong(state, inbox_state(InboxPhase::claimed, me_, lap),
                                             std::memory_order_acq_rel, std::memory_order_acquire)) {
        head_->compare_exchange_strong(ticket, ticket + 1, std::memory_order_release,
                                       std::memory_order_relaxed);
        lap_ = lap;
        last_ = &slot;
        return &slot;
      }
      // Another producer claimed the slot, and may have died before it moved the head.
      head_->compare_exchange_strong(ticket, ticket + 1, std::memory_order_release,
                                     std::memory_order_relaxed);
    }
    return nullptr;
  }
  /// Publishes the record in the slot that claim() returned last.
  void publish(InboxSlot& slot, std::uint64_t control) noexcept {
    slot.control = control;
    slot.state.store(inbox_state(InboxPhase::ready, me_, lap_), std::memory_order_release);
    ++sent_;
  }
  /// Records published so far.
  std::uint64_t sent() const noexcept { return sent_; }
  /// Whether the consumer has taken out the last record of this producer.
  bool is_consumed() const noexcept {
    return last_ == nullptr || inbox_lap(last_->state.load(std::memory_order_acquire)) != lap_;
  }

 private:
  std::atomic<std::uint64_t>* head_ = nullptr;
  InboxSlot* slots_ = nullptr;
  InboxSlot* last_ = nullptr;
  std::uint64_t lap_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t sent_ = 0;
  std::uint32_t shift_ = 0;
  std::uint32_t me_ = 0;
};

/// The consumer's end of the ring: the device that owns the segment. Private memory, one thread.
class InboxReceiver {
 public:
  InboxReceiver() = default;
  explicit InboxReceiver(const SegmentView& segment) noexcept
      : head_(&segment.header().inbox_head),
        slots_(reinterpret_cast<InboxSlot*>(segment.inbox())),
        mask_(segment.shape().inbox_slots - 1),
        shift_(static_cast<std::uint32_t>(__builtin_ctz(segment.shape().inbox_slots))),
        first_(slots_) {}

  /// The slot that is to be taken out next. Its record may be read if the phase in `state` is ready.
  /// Acquire: pairs with publish().
  InboxSlot& next(std::uint64_t& state) const noexcept { return ahead(0, state); }
  /// The slot that is to be taken out after `places` others. `state`: its state, or 0 if it is of another
  /// lap.
  InboxSlot& ahead(std::uint64_t places, std::uint64_t& state) const noexcept {
    const std::uint64_t ticket = tail_ + places;
    InboxSlot& slot = slots_[ticket & mask_];
    state = slot.state.load(std::memory_order_acquire);
    if (inbox_lap(state) != (ticket >> shift_)) state = 0;
    return slot;
  }
  /// Marks a slot whose record was read out of turn, or whose claimant is gone: it is taken out in its turn,
  /// and its record is ignored.
  void strike(InboxSlot& slot, std::uint64_t state) const noexcept {
    slot.state.store(inbox_state(InboxPhase::ready, kInboxNobody, inbox_lap(state)),
                     std::memory_order_release);
  }
  /// Whether no producer has claimed the next slot.
  bool is_empty() const noexcept {
    return inbox_phase(first_->state.load(std::memory_order_relaxed)) == InboxPhase::free;
  }
  /// Takes out the next slot, which is `slot`, and frees it for the next lap.
  void take(InboxSlot& slot) noexcept {
    slot.state.store(inbox_state(InboxPhase::free, 0, (tail_ >> shift_) + 1), std::memory_order_release);
    ++tail_;
    first_ = &slots_[tail_ & mask_];
    waited_ = 0;
  }
  /// How many slots are claimed and not taken out. The head may lag behind by one claim, when its producer
  /// died before it moved the head.
  std::uint64_t waiting() const noexcept {
    const std::uint64_t head = head_->load(std::memory_order_acquire);
    if (head < tail_) return 0;
    const std::uint64_t state = slots_[head & mask_].state.load(std::memory_order_acquire);
    const bool claimed = inbox_lap(state) == head >> shift_ && inbox_phase(state) != InboxPhase::free;
    return head - tail_ + (claimed ? 1 : 0);
  }
  /// To be called each time the next slot is found claimed. True now and then: it is time to ask whether the
  /// claimant lives.
  bool waited_long() noexcept { return ++waited_ % 16384 == 0; }

 private:
  std::atomic<std::uint64_t>* head_ = nullptr;
  InboxSlot* slots_ = nullptr;
  std::uint64_t tail_ = 0;
  std::uint64_t mask_ = 0;
  std::uint32_t shift_ = 0;
  std::uint32_t waited_ = 0;
  const InboxSlot* first_ = nullptr;  // slots_[tail_ & mask_]
};

}  // namespace stria::shm
