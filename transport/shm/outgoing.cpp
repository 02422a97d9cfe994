#include "transport/shm/outgoing.hpp"

#include <algorithm>
#include <cstring>

#include "hw/line_copy.hpp"
#include "hw/pio.hpp"
#include "transport/payload.hpp"
#include "transport/shm/cell_plan.hpp"
#include "transport/shm/gather.hpp"
#include "transport/shm/growing.hpp"
#include "transport/shm/keys.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {
namespace {

transport::Payload contiguous(const void* payload, std::uint32_t bytes) noexcept {
  return {nullptr, const_cast<void*>(payload), bytes, 0, bytes};
}

/// Clears the first word of a record's last line, which the payload may fill only in part (window.hpp).
void clear_last_word(std::byte* record, std::uint32_t halves) noexcept {
  if (halves > 2) hw::store_word(record + std::size_t{halves - 2} * kHalf, 0);
}

/// Tells the window which lines of the record begin with a sign of the next lap; reads the record back.
[[gnu::noinline]] void note_signs(WindowSender& window, std::uint32_t halves) noexcept {
  const std::byte* record = window.place();
  for (std::uint32_t i = 1; i < halves / 2; ++i)
    if (window.next_sign().is_of(hw::load_word(record + std::size_t{i} * kLine))) window.wrote_sign(i);
}

/// Tells the window which lines of a packet begin with a sign of the next lap; reads the payload, because
/// the stores to the record may still wait for their lines.
inline void note_signs_of(WindowSender& window, const std::byte* payload, std::uint32_t bytes) noexcept {
  const hw::WordSign sign = window.next_sign();
  std::uint32_t i = 1, at = kFirstPayload;
  for (; at + sizeof(std::uint64_t) <= bytes; ++i, at += kLine)
    if (sign.is_of(hw::load_unaligned(payload + at))) [[unlikely]]
      window.wrote_sign(i);
  if (at < bytes && sign.is_of(hw::first_word(payload + at, bytes - at))) window.wrote_sign(i);
}

}  // namespace

Status Outgoing::refusal() const noexcept {
  switch (state_) {
    case State::connecting:
      return Status::no_resource;
    case State::down:
      return Status::peer_failed;
    case State::up:
      break;
  }
  return window_.is_open() || moving_ ? Status::no_resource : Status::unsupported;
}

void Outgoing::notify() noexcept {
  SegmentHeader& header = peer_.view.header();
  if (window_.is_open()) {
    header.hints.leave(window_number_);
    hw::full_fence();  // the hint is visible before `armed` is loaded; pairs with Wakeup::barrier() in arm()
  }
  std::uint32_t sleep = header.armed.load(std::memory_order_relaxed);
  if (sleep == 0) return;
  shared_.wakeup.notify(peer_.attached.nonce);
  // Other senders need not notify the peer for this sleep. Clears last, as a sender that dies before must not
  // keep others from notifying; and only this sleep, as a sender that is stopped must not end a later one.
  header.armed.compare_exchange_strong(sleep, 0, std::memory_order_release, std::memory_order_relaxed);
}

/// Whether a payload takes a cell although it may fit the window, as storing it there would fetch each line
/// from a far core.
inline bool Outgoing::takes_far_cell(std::uint32_t bytes) const noexcept {
  return bytes >= kFarNontemporalLeast && peer_.distance.is_far() && bytes >= shared_.settings.far_cell_least;
}

/// Whether a payload that fits the window is part of a burst, and better goes through a cell: a few long
/// payloads fill the window of a receiver that is behind, and the sender waits.
[[gnu::always_inline]] inline bool Outgoing::is_in_burst(std::uint32_t bytes) noexcept {
  return bytes >= kBurstLeast && (burst_.goes_on(shared_.polls, kCellBurst) || window_.receiver_is_behind());
}

/// What plan_cell() is asked with. may_grow: the record is one of eager_send() in a window.
[[gnu::always_inline]] inline CellFacts Outgoing::facts_of(std::uint32_t bytes, bool may_grow) noexcept {
  const Settings& settings = shared_.settings;
  const bool is_far = bytes >= kFarNontemporalLeast && peer_.distance.is_far();
  return {.is_far = is_far,
          .small_ring = shared_.cells.are_few(bytes),
          .may_choose_stores = settings.may_choose_stores(),
          .in_burst = may_grow && bytes >= kGrowLeast && burst_.goes_on(shared_.polls, kWholeBurst),
          .may_grow = may_grow,
          .string_least = is_far ? settings.far_string_least : settings.near_string_least};
}

[[gnu::always_inline]] inline Status Outgoing::send_cell(const transport::Header& header,
                                                         const transport::Payload& payload,
                                                         RecordKind whole) noexcept {
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  const bool windowed = window_.is_open();
  if (!(windowed ? window_.has_room(1) : inbox_.has_room())) return Status::no_resource;
  CellPlace place;
  if (!shared_.cells.take(link_number_, cells_out_, bytes, place)) [[unlikely]]
    return without_cell(bytes);
  const CellPlan plan = plan_cell(payload, facts_of(bytes, windowed && whole == RecordKind::cell));
  const std::uint64_t word = place.word();
  std::byte* const out = shared_.own.view().cell(place.cell) + place.at;
  const auto publish = [ this, &header, word ](std::uint64_t control) __attribute__((always_inline)) {
    window_.put_cell(header, word, control);
    published();
  };
  if (plan.step != 0) {
    const Growth growth{&shared_.own.view().cell_growth(place.cell), place.use, plan.step};
    grow(payload, out, growth, plan.way, [=] { publish(make_growing(bytes, plan.step)); });
    return Status::ok;
  }
  store(plan.way, payload, out);
  if (windowed) {
    publish(make_control(whole, bytes));
    return Status::ok;
  }
  const Status status = inbox_send(whole, 0, header, contiguous(&word, sizeof word), bytes);
  if (status != Status::ok) shared_.cells.cancel(place.cell);
  return status;
}

Status Outgoing::send_cell_apart(const transport::Header& header, const transport::Payload& payload,
                                 RecordKind whole) noexcept {
  return send_cell(header, payload, whole);
}

/// Sends a payload that fits the window through a cell, where that is faster. False: it is not sent.
bool Outgoing::leaves_window(const transport::Header& header, const void* payload,
                             std::uint32_t bytes) noexcept {
  if (!takes_far_cell(bytes) && !is_in_burst(bytes)) return false;
  return send_cell_apart(header, contiguous(payload, bytes), RecordKind::packet_cell) == Status::ok;
}

// The smallest payloads have a path of their own, which needs few registers.
Status Outgoing::pio_send(const transport::Header& header, const void* payload,
                          std::uint32_t bytes) noexcept {
  if (bytes > kHalfPayload || bytes > pio_max_ || !window_.put_half(header, payload, bytes)) [[unlikely]]
    return pio_send_lines(header, payload, bytes);
  published();
  return Status::ok;
}

/// Sends a payload for which the window has no room, or so little room that few cells could be named after
/// it. The check for room may have shown that the receiver is behind, which leaves_window() did not know:
/// then a long payload takes a cell.
[[gnu::cold, gnu::noinline]] Status Outgoing::send_behind(const transport::Header& header,
                                                          const void* payload, std::uint32_t bytes) noexcept {
  const bool takes_cell = bytes >= kBurstLeast && window_.receiver_is_behind();
  if (takes_cell &&
      send_cell_apart(header, contiguous(payload, bytes), RecordKind::packet_cell) == Status::ok)
    return Status::ok;
  return refusal();
}

Status Outgoing::pio_send_lines(const transport::Header& header, const void* payload,
                                std::uint32_t bytes) noexcept {
  if (bytes > pio_max_) [[unlikely]]
    return state_ == State::up && window_.is_open() ? Status::invalid : refusal();
  if (bytes >= kFarNontemporalLeast && leaves_window(header, payload, bytes)) return Status::ok;
  const std::uint32_t halves = record_halves(bytes);
  const bool has_room = window_.has_room(halves);
  if (!has_room || (bytes >= kBurstLeast && !window_.leaves_room_for_cells(halves))) [[unlikely]] {
    const Status sent = send_behind(header, payload, bytes);
    if (sent == Status::ok || !has_room) return sent;
  }
  std::byte* record = window_.place();
  const auto* const from = static_cast<const std::byte*>(payload);
  if (halves > 2) clear_last_word(record, halves);
  if (bytes < kLinesLeast) {
    if (halves > 2) note_signs_of(window_, from, bytes);
    store_header(record + 8, header);
    hw::copy_lines(record + kRecordHeader, from, bytes);
  } else {
    // The first line is stored last: the receiver polls it, and would take it away between two stores.
    if (hw::store_lines(record + kLine, from + kFirstPayload, bytes - kFirstPayload, window_.next_sign()))
        [[unlikely]]
      note_signs_of(window_, from, bytes);
    store_header(record + 8, header);
    hw::copy_line(record + kRecordHeader, from, kFirstPayload);
  }
  window_.publish(halves, make_control(RecordKind::packet, bytes));
  published();
  return Status::ok;
}

Status Outgoing::send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                                 const transport::Key& key) noexcept {
  hw::KeyWord word = 0;
  if (!read_word(key, word)) return Status::access_error;
  if (state_ != State::up || moving_) return refusal();
  if (!window_.is_open()) {
    if (bytes > kInboxPayload) return Status::unsupported;
    return inbox_send(RecordKind::invalidate, word, header, contiguous(payload, bytes), bytes);
  }
  if (bytes > pio_max_) return Status::invalid;
  const std::uint32_t all = kInvalidatePrefix + bytes;
  const std::uint32_t halves = invalidate_halves(all);
  if (!window_.has_room(halves)) return Status::no_resource;
  std::byte* record = window_.place();
  store_header(record + 8, header);
  hw::store_word(record + kRecordHeader, word);
  clear_last_word(record, halves);
  hw::copy_lines(record + kRecordHeader + kInvalidatePrefix, payload, bytes);
  note_signs(window_, halves);
  window_.publish(halves, make_control(RecordKind::invalidate, all));
  published();
  return Status::ok;
}

/// Packs a payload into the window, which must have room for the record.
[[gnu::always_inline]] inline void Outgoing::pack_record(const transport::Header& header,
                                                         const transport::Payload& payload) noexcept {
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  const std::uint32_t halves = record_halves(bytes);
  std::byte* record = window_.place();
  if (halves > 2) {
    // Packing takes long. The first line is stored last: the receiver polls it, and would take it away
    // between two stores. (Short payloads that pio_send() stores in one go are faster in order.)
    clear_last_word(record, halves);
    gather(transport::slice(payload, kFirstPayload, bytes - kFirstPayload), record + kLine);
    note_signs(window_, halves);
  }
  store_header(record + 8, header);
  gather(transport::slice(payload, 0, std::min(bytes, kFirstPayload)), record + kRecordHeader);
  window_.publish(halves, make_control(RecordKind::packed, bytes));
  published();
}

Status Outgoing::eager_send(const transport::Header& header, const transport::Payload& payload) noexcept {
  if (state_ != State::up || moving_) [[unlikely]]
    return refusal();
  if (payload.length < 0 || payload.length > static_cast<std::int64_t>(cell_most(shared_.settings.shape)))
    return Status::invalid;
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  if (!window_.is_open() && bytes <= kInboxPayload)
    return inbox_send(RecordKind::packed, 0, header, payload, bytes);
  if (takes_far_cell(bytes)) [[unlikely]]
    return eager_far(header, payload);
  if (bytes <= pio_max_) {
    if (is_in_burst(bytes) && send_cell_apart(header, payload, RecordKind::cell) == Status::ok)
      return Status::ok;
    const std::uint32_t halves = record_halves(bytes);
    const bool has_room = window_.has_room(halves);
    if (has_room && bytes >= kBurstLeast && !window_.leaves_room_for_cells(halves) &&
        send_cell_apart(header, payload, RecordKind::cell) == Status::ok)
      return Status::ok;
    if (has_room) {
      pack_record(header, payload);
      return Status::ok;
    }
  }
  return send_cell(header, payload, RecordKind::cell);
}

Status Outgoing::eager_far(const transport::Header& header, const transport::Payload& payload) noexcept {
  const Status sent = send_cell_apart(header, payload, RecordKind::cell);
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  if (sent == Status::ok || bytes > pio_max_ || !window_.has_room(record_halves(bytes))) return sent;
  pack_record(header, payload);
  return Status::ok;
}

/// The answer when there is no cell. Cells under way to this peer come back as it reads. If there are none,
/// all cells are under way to other peers, which may stand still, or kept by this peer: a wait for them may
/// never end. So after every kPatience refusals it checks whether a cell under way to this peer will come
/// back, and answers unsupported if none will.
Status Outgoing::without_cell(std::uint32_t bytes) noexcept {
  if (++refused_ < kPatience) return Status::no_resource;
  refused_ = 0;
  const bool comes_back = shared_.cells.waits_for(link_number_, bytes);
  return comes_back ? Status::no_resource : Status::unsupported;
}

Status Outgoing::inbox_send(RecordKind kind, std::uint32_t detail, const transport::Header& header,
                            const transport::Payload& payload, std::uint32_t bytes) noexcept {
  InboxSlot* slot = inbox_.claim();
  if (slot == nullptr) return Status::no_resource;
  store_header(slot->bytes, header);
  gather(payload, slot->bytes + sizeof(transport::Header));
  inbox_.publish(*slot, make_control(kind, bytes, detail));
  published();
  return Status::ok;
}

}  // namespace stria::shm
