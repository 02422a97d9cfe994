// The inbox: one ring of 64-byte slots for each device, for peers that have no window and for first contacts.
//
//   slot   | state 8 | control 8 | header 16 | payload, up to 32 bytes |
//   state  phase 2 | peer slot 22 | lap 40     lap = ticket / slots, so zero bytes are an empty ring
//
// Producers are many and may die at any instruction, so the claim is in the slot, not in the head: a producer
// claims by changing (lap, free) to (lap, me, claimed), and whoever finds the slot at the head claimed helps
// the head forward. After the payload it publishes (lap, me, ready). The consumer frees the slot as (lap + 1,
// free). A slot that stays claimed names its claimant; when that process is gone, the consumer passes over
// the slot. When a peer goes whose records others stand before, who are about to publish or stand still, the
// consumer takes them out of their turn, and strikes the slots: (lap, nobody, ready).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/shm/record.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kInboxPayload = kLine - 8 - kRecordHeader;
static_assert(kInboxPayload >= STRIA_SMALL_PAYLOAD, "what is so short needs no cell");

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

inline constexpr std::uint32_t kInboxNobody = (1u << 22) - 1;

struct alignas(kCacheLine) InboxSlot {
  std::atomic<std::uint64_t> state;
  std::uint64_t control;
  std::byte bytes[kLine - 16];  // header, payload
};
static_assert(sizeof(InboxSlot) == kLine);

/// The ring as a producer sees it.
class InboxSender {
 public:
  InboxSender() = default;
  InboxSender(const SegmentView& segment, std::uint32_t me) noexcept
      : head_(&segment.header().inbox_head),
        slots_(reinterpret_cast<InboxSlot*>(segment.inbox())),
        mask_(segment.shape().inbox_slots - 1),
        shift_(static_cast<std::uint32_t>(__builtin_ctz(segment.shape().inbox_slots))),
        me_(me) {}

  /// Whether claim() would succeed if nobody else came first.
  bool has_room() const noexcept {
    const std::uint64_t ticket = head_->load(std::memory_order_relaxed);
    return inbox_lap(slots_[ticket & mask_].state.load(std::memory_order_relaxed)) >= ticket >> shift_;
  }
  /// A slot to write (all but its state), or null: full.
  InboxSlot* claim() noexcept {
    for (int attempts = 0; attempts < 64; ++attempts) {
      std::uint64_t ticket = head_->load(std::memory_order_acquire);
      InboxSlot& slot = slots_[ticket & mask_];
      const std::uint64_t lap = ticket >> shift_;
      std::uint64_t state = slot.state.load(std::memory_order_acquire);
      if (inbox_lap(state) < lap) return nullptr;  // still full of the lap before
      if (inbox_lap(state) == lap && inbox_phase(state) == InboxPhase::free &&
          slot.state.compare_exchange_strong(state, inbox_state(InboxPhase::claimed, me_, lap),
                                             std::memory_order_acq_rel, std::memory_order_acquire)) {
        head_->compare_exchange_strong(ticket, ticket + 1, std::memory_order_release,
                                       std::memory_order_relaxed);
        lap_ = lap;
        last_ = &slot;
        return &slot;
      }
      // Somebody has it or had it, who may not live to move the head.
      head_->compare_exchange_strong(ticket, ticket + 1, std::memory_order_release,
                                     std::memory_order_relaxed);
    }
    return nullptr;
  }
  void publish(InboxSlot& slot, std::uint64_t control) noexcept {
    slot.control = control;
    slot.state.store(inbox_state(InboxPhase::ready, me_, lap_), std::memory_order_release);
    ++sent_;
  }
  /// Records published so far.
  std::uint64_t sent() const noexcept { return sent_; }
  /// The last record was taken out.
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

/// The owner's end.
class InboxReceiver {
 public:
  InboxReceiver() = default;
  explicit InboxReceiver(const SegmentView& segment) noexcept
      : head_(&segment.header().inbox_head),
        slots_(reinterpret_cast<InboxSlot*>(segment.inbox())),
        mask_(segment.shape().inbox_slots - 1),
        shift_(static_cast<std::uint32_t>(__builtin_ctz(segment.shape().inbox_slots))),
        first_(slots_) {}

  /// The next slot and its state; acquire pairs with publish(). The phase says whether it can be read.
  InboxSlot& next(std::uint64_t& state) const noexcept { return ahead(0, state); }
  /// The slot `places` behind the next one, and its state likewise.
  InboxSlot& ahead(std::uint64_t places, std::uint64_t& state) const noexcept {
    const std::uint64_t ticket = tail_ + places;
    InboxSlot& slot = slots_[ticket & mask_];
    state = slot.state.load(std::memory_order_acquire);
    if (inbox_lap(state) != (ticket >> shift_)) state = 0;
    return slot;
  }
  /// Its record was read, or its claimant is gone: it is taken out in its turn, and means nothing.
  void strike(InboxSlot& slot, std::uint64_t state) const noexcept {
    slot.state.store(inbox_state(InboxPhase::ready, kInboxNobody, inbox_lap(state)),
                     std::memory_order_release);
  }
  /// Nobody claimed the next slot.
  bool is_empty() const noexcept {
    return inbox_phase(first_->state.load(std::memory_order_relaxed)) == InboxPhase::free;
  }
  void take(InboxSlot& slot) noexcept {
    slot.state.store(inbox_state(InboxPhase::free, 0, (tail_ >> shift_) + 1), std::memory_order_release);
    ++tail_;
    first_ = &slots_[tail_ & mask_];
    waited_ = 0;
  }
  /// Slots claimed and not taken out. The head may lag behind one claim, whose producer died before it moved
  /// it.
  std::uint64_t waiting() const noexcept {
    const std::uint64_t head = head_->load(std::memory_order_acquire);
    if (head < tail_) return 0;
    const std::uint64_t state = slots_[head & mask_].state.load(std::memory_order_acquire);
    const bool claimed = inbox_lap(state) == head >> shift_ && inbox_phase(state) != InboxPhase::free;
    return head - tail_ + (claimed ? 1 : 0);
  }
  /// Counts the looks at a slot that stays claimed; true now and then.
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
