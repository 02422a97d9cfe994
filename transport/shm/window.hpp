// A PIO window: a ring of 64-byte lines in the receiver's segment, written by one sender. The smallest
// records have half a line, so that two of them change hands with one line; all others begin at a line.
//
//   record   | control word 8 | header 16 | payload |   first line: 40 bytes of payload; half a line: 8
//   control  | length of the payload (bits 0..23) | kind (24..30) | valid (31) | lap (32..47) |
//            step of a growing record, in lines (48..63)
//
// The receiver polls the control word at its position, and takes it for a record only if it names the
// present lap. So nothing has to be cleared for the next record: a message touches the lines that it fills
// and no others. The sender keeps four rules for that. (1) It writes the first word of every line anew in
// each lap; pad records fill a line of which only the first half is used, and the end of the ring, because a
// record never wraps. (2) If a line of payload begins with a word that would read as a control word of the
// next lap, the sender notices it, and for one lap clears the word behind each record before it publishes.
// (3) A record of half a line clears the first word of the other half. (4) One line is always free for that.
//
// Short laps: where two whole windows fill a first-level cache, a ping-pong is faster with half of one; a
// stream needs all of it. So while the receiver keeps up, a pad ends the lap in the middle, or after three
// records. The lines that it skips are cleared once, and written again only when the receiver falls behind.
//
// Credits: after each batch the receiver stores its position in a line of its own. The sender loads the
// position only when the value that it knows says that the window is full, for a long payload nearly full,
// and where a lap may end early. So in a ping-pong a message costs the transfer of one line.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hw/line_copy.hpp"
#include "hw/pio.hpp"
#include "stria/provider_coresident.h"
#include "transport/shm/record.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

/// The sender's end of a window. Private memory, one thread.
class WindowSender {
 public:
  WindowSender() = default;
  /// Opens a window that is as reset_window() left it. short_laps: the second half is not used while the
  /// receiver keeps up.
  WindowSender(std::byte* lines, std::uint32_t bytes, const std::atomic<std::uint64_t>* consumed,
               bool short_laps) noexcept
      : lines_(lines),
        mask_(bytes / kHalf - 1),
        clean_from_(bytes / kHalf),
        patience_(short_laps ? 2 : kNever),
        head_(0),
        limit_(bytes / kHalf - 2),
        credit_(limit_),
        consumed_(consumed) {}

  bool is_open() const noexcept { return lines_ != nullptr; }
  void shut() noexcept { *this = WindowSender(); }

  /// Whether a record of n halves (1 or even, at most most_pio_mtu() bytes) can be written at place().
  bool has_room(std::uint32_t n) noexcept {
    const std::uint64_t offset = head_ & mask_;
    const bool fits = head_ + n <= limit_ && offset + n <= mask_ + 1;
    // Only a record of half a line (n is odd) may begin in the middle of a line.
    if (fits && (offset & ~n & 1) == 0) [[likely]]
      return true;
    return make_room(n);
  }
  /// Whether a record of n halves, for which there is room, leaves an eighth of the window for records that
  /// name cells, of half a line each. So payloads that follow it take cells when the window is full of long
  /// ones, or of a pad that ends a short lap.
  bool leaves_room_for_cells(std::uint32_t n) noexcept {
    const std::uint64_t needed = head_ + n + mask_ / 8;
    return needed < credit_ || (learn_credit() && needed < credit_);
  }
  /// has_room() for a record that is no packet. Whether there is room for it says nothing of the receiver's
  /// pace, so nothing is learnt of that.
  bool has_room_for_filler(std::uint32_t n) noexcept {
    const bool behind = behind_;
    const std::uint32_t patience = patience_;
    const bool has = has_room(n);
    behind_ = behind;
    patience_ = patience;
    return has;
  }
  /// Where to write the next record: all of it but the control word. The caller calls wrote_sign() for each
  /// line behind the first that begins with a sign of the next lap, and then publish().
  std::byte* place() const noexcept { return at(head_); }
  /// The sign of the next lap: words that would be taken for its control words.
  hw::WordSign next_sign() const noexcept { return {kLapMarkBits, lap_mark(next_lap(lap_))}; }
  /// Line i > 0 of the record that is being written begins with a sign of the next lap.
  void wrote_sign(std::uint32_t i) noexcept { careful_until_ = head_ + std::uint64_t{2} * i + mask_ + 1; }
  void publish(std::uint32_t n, std::uint64_t control) noexcept { publish(at(head_), head_ + n, control); }
  /// Writes and publishes a packet of half a line. False: nothing is written; has_room() has to be asked.
  bool put_half(const stria_header_t& header, const void* payload, std::uint32_t bytes) noexcept {
    const std::uint64_t head = head_;
    if (head >= limit_) [[unlikely]]
      return false;
    std::byte* const record = at(head);
    store_header(record + 8, header);
    hw::copy_word(record + kRecordHeader, static_cast<const std::byte*>(payload), bytes);
    publish(record, head + 1, make_control(RecordKind::packet, bytes));
    return true;
  }
  /// Writes and publishes a record that names a cell by `word`. There must be room for half a line.
  void put_cell(const stria_header_t& header, std::uint64_t word, std::uint64_t control) noexcept {
    std::byte* const record = place();
    store_header(record + 8, header);
    hw::store_word(record + kRecordHeader, word);
    publish(1, control);
  }
  /// How many bytes the sender could write now, by the receiver's present position.
  std::uint32_t credits() const noexcept {
    if (lines_ == nullptr) return 0;
    const std::uint64_t credit = std::max(credit_, credit_by(consumed_->load(std::memory_order_acquire)));
    return credit > head_ ? static_cast<std::uint32_t>(credit - head_) * kHalf : 0;
  }
  /// Whether more than half of the window was not taken out yet when the receiver's position was last loaded.
  bool receiver_is_behind() const noexcept { return behind_; }
  /// Halves written so far.
  std::uint64_t position() const noexcept { return head_; }
  /// Whether no record was ever written.
  bool is_untouched() const noexcept { return lines_ == nullptr || head_ == 0; }
  /// Whether the receiver has taken out every record.
  bool is_consumed() const noexcept {
    return lines_ == nullptr || consumed_->load(std::memory_order_acquire) == head_;
  }

 private:
  static constexpr std::uint32_t kMostPatience = 1024;
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};
  /// Publishes the record that is written at `record` and ends at position `head`, the new head_.
  [[gnu::always_inline]] void publish(std::byte* record, std::uint64_t head, std::uint64_t control) noexcept {
    head_ = head;
    const std::uint64_t word = control | (std::uint64_t{lap_} << 32);
    if ((head & mask_) == 0) [[unlikely]]
      lap_ = next_lap(lap_);
    if ((head & 1) != 0 || head <= careful_until_) hw::store_word(at(head), 0);
    hw::publish_word(record, word);  // release; pairs with WindowReceiver::peek()
  }
  std::byte* at(std::uint64_t position) const noexcept {
    return lines_ + static_cast<std::size_t>(position & mask_) * kHalf;
  }
  /// has_room() where a pad is due, or the known credit is used up: writes pads, and loads the position.
  [[gnu::noinline]] bool make_room(std::uint32_t n) noexcept {
    if (lines_ == nullptr) return false;
    const std::uint64_t size = mask_ + 1;
    const std::uint64_t half = head_ & ~std::uint64_t{n} & 1;
    const std::uint64_t offset = (head_ + half) & mask_;
    std::uint64_t rest = offset + n > size ? size - offset : 0;
    const std::uint64_t turn = turn_of(n);
    const bool skip =
        patience_ != kNever && offset <= turn && offset + n > turn && may_skip(half, size - offset, n);
    if (skip) rest = size - offset;
    const std::uint64_t end = head_ + half + rest + n;
    if (end > credit_ && (!learn_credit() || end > credit_)) {
      use_all();
      return false;
    }
    if (half != 0) pad(1);
    if (rest != 0) {
      for (std::uint64_t i = offset + 2; i < clean_from_; i += 2) hw::store_word(at(i), 0);
      pad(static_cast<std::uint32_t>(rest));
    }
    // Lines stay clean as long as every lap ends with a skip: a lap without one need not come by here.
    if (skip) {
      clean_from_ = static_cast<std::uint32_t>(offset + 2);
    } else if (offset + n > turn) {
      clean_from_ = static_cast<std::uint32_t>(size);
    }
    // With short laps no record passes the middle, or the turn behind it, without a call of make_room().
    std::uint64_t middle = (head_ & ~std::uint64_t{mask_}) + size / 2;
    if (head_ + n > middle) middle = offset + n <= turn ? head_ + n : middle + size;
    limit_ = patience_ != kNever && middle < credit_ ? middle : credit_;
    return true;
  }
  /// How far the sender may write if the receiver's position is `consumed`; 0: `consumed` is not possible.
  std::uint64_t credit_by(std::uint64_t consumed) const noexcept {
    const std::uint64_t size = mask_ + 1;
    return consumed > head_ || head_ - consumed > size ? 0 : (consumed & ~std::uint64_t{1}) + size - 2;
  }
  /// Loads the receiver's position. Acquire: the receiver has read the lines that the sender may now write.
  /// False: the position is not possible, and is ignored.
  bool learn_credit() noexcept {
    const std::uint64_t consumed = consumed_->load(std::memory_order_acquire);
    const std::uint64_t credit = credit_by(consumed);
    if (credit == 0) return false;
    credit_ = credit;
    behind_ = head_ - consumed > (std::uint64_t{mask_} + 1) / 2;
    return true;
  }
  /// Where short laps end: in the middle, or after three records, because laps of two records are slow.
  std::uint64_t turn_of(std::uint32_t n) const noexcept {
    const std::uint64_t middle = (std::uint64_t{mask_} + 1) / 2;
    return std::max(middle, std::uint64_t{3} * n);
  }
  /// Whether the lap ends at the turn, with a pad of `rest` halves before the record of n halves. If there
  /// is room for the pad, the receiver has read what lay there. Each time that all of the ring was needed
  /// after all, the receiver has to keep up for twice as many turns first.
  bool may_skip(std::uint64_t half, std::uint64_t rest, std::uint32_t n) noexcept {
    const std::uint64_t size = mask_ + 1;
    if (!learn_credit()) return false;
    const bool keeps_up = head_ + size - 2 - credit_ <= size / 4;
    if (keeps_up && head_ + half + rest + n <= credit_) return skips() || ++calm_ >= patience_;
    use_all();
    return false;
  }
  bool skips() const noexcept { return clean_from_ <= mask_; }
  /// Uses the whole ring in the next laps: the receiver is behind.
  void use_all() noexcept {
    if (skips() && patience_ < kMostPatience) patience_ *= 2;
    clean_from_ = mask_ + 1;
    calm_ = 0;
  }
  void pad(std::uint32_t n) noexcept { publish(n, make_control(RecordKind::pad, n)); }

  std::byte* lines_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t lap_ = 1;
  std::uint32_t clean_from_ = 0;     // from this half on no line of the ring begins with a control word
  std::uint32_t calm_ = 0;           // turns in a row at which the receiver kept up
  std::uint32_t patience_ = kNever;  // so many calm turns, and short laps begin; kNever: they are off
  bool behind_ = false;              // see receiver_is_behind()
  std::uint64_t head_ = 1;           // halves written so far; beyond limit_ while there is no window
  std::uint64_t limit_ = 0;          // a record that ends at or before it needs no make_room()
  std::uint64_t credit_ = 0;         // there is room up to here: one line less than the receiver freed
  std::uint64_t careful_until_ = 0;  // old payload before this position may read as a control word of its lap
  const std::atomic<std::uint64_t>* consumed_ = nullptr;
};

/// The receiver's end of a window. Private memory, one thread.
class WindowReceiver {
 public:
  WindowReceiver() = default;
  WindowReceiver(std::byte* lines, std::uint32_t bytes, std::atomic<std::uint64_t>* consumed) noexcept
      : lines_(lines), place_(lines), mask_(bytes / kHalf - 1), consumed_(consumed) {}

  bool is_open() const noexcept { return lines_ != nullptr; }
  /// Halves taken out so far.
  std::uint64_t position() const noexcept { return position_; }
  /// The control word of the next record; 0: there is none. Acquire: the bytes of the record are there.
  std::uint64_t peek() const noexcept {
    const std::uint64_t control = look();
    return is_record(control) ? control : 0;
  }
  bool has_record() const noexcept { return is_record(look()); }
  /// The word at the position, which is the control word of the next record if is_record() says so.
  std::uint64_t look() const noexcept { return hw::load_word(place()); }
  /// Whether `control` is the control word of a record; with `kind`: of this kind, in one comparison.
  bool is_record(std::uint64_t control) const noexcept { return lap_mark_of(control) == mark_; }
  bool is_record(std::uint64_t control, RecordKind kind) const noexcept {
    constexpr std::uint64_t kLapAndKind = (0xffffull << 32) | (0xffull << 24);
    return (control & kLapAndKind) == (mark_ | make_control(kind, 0, 0));
  }
  const std::byte* place() const noexcept { return place_; }
  std::uint32_t halves_to_end() const noexcept {
    return static_cast<std::uint32_t>(mask_ + 1 - (position_ & mask_));
  }
  /// Takes the next record out if it is a packet with the header `wanted` (except for the immediate) and at
  /// most `capacity` bytes of payload. Returns the bytes, or STRIA_TAKE_*. Credits are given back when a
  /// quarter of the window is due, or by publish(), which the owner calls when it has time.
  [[gnu::always_inline]] std::int32_t take(stria_header_t& wanted, std::byte* memory,
                                           std::uint32_t capacity) noexcept {
    const std::byte* record = place();
    const std::uint64_t control = hw::load_word(record);
    if (!is_record(control, RecordKind::packet)) [[unlikely]] {
      if (is_record(control)) return STRIA_TAKE_OTHER;
      ask_ahead(record);
      return STRIA_TAKE_NOTHING;
    }
    const std::uint32_t bytes = control_bytes(control);
    if (!is_wanted(record, wanted) || bytes > capacity) return STRIA_TAKE_OTHER;
    wanted.immediate = immediate_of(record);
    // Fetches the line after the next ahead: the sender is on its way to it, or past it.
    __builtin_prefetch(record + std::size_t{2} * kLine);
    if (bytes <= kHalfPayload) [[likely]] {
      hw::copy_word(memory, record + kRecordHeader, bytes);
      last_and_looks_ = 1;
      advance(1);
      return static_cast<std::int32_t>(bytes);
    }
    const std::uint32_t halves = record_halves(bytes);
    if (halves > halves_to_end()) [[unlikely]]
      return STRIA_TAKE_OTHER;  // the record makes no sense: Receiver::poll_window() will report it
    if (bytes < kLinesLeast) {
      hw::copy_lines(memory, record + kRecordHeader, bytes);
    } else {
      hw::copy_line(memory, record + kRecordHeader, kFirstPayload);
      hw::load_lines(memory + kFirstPayload, record + kLine, bytes - kFirstPayload);
    }
    last_and_looks_ = halves;
    advance(halves);
    return static_cast<std::int32_t>(bytes);
  }
  /// Whether credits are due to the sender: records were taken out since the last publish().
  bool owes() const noexcept { return position_ != published_; }
  /// Takes n halves out. Gives credits back if a quarter of the window is due; else publish() will.
  void advance(std::uint32_t n) noexcept {
    position_ += n;
    place_ = lines_ + static_cast<std::size_t>(position_ & mask_) * kHalf;
    if (place_ == lines_) [[unlikely]]
      mark_ = lap_mark(next_lap(static_cast<std::uint32_t>(mark_ >> 32)));
    if (position_ > publish_at_) publish();
  }
  /// Gives all credits that are due to the sender.
  void publish() noexcept {
    if (!owes()) return;
    published_ = position_;
    publish_at_ = position_ + (mask_ + 1) / 4;
    consumed_->store(position_, std::memory_order_release);  // pairs with WindowSender::make_room()
  }

 private:
  static constexpr std::uint32_t kAheadLeast = 3, kAheadMost = 10;   // halves
  static constexpr std::uint32_t kLook = 65536, kLooks = 8 * kLook;  // in last_and_looks_: one look, eight
  /// Prefetches as many lines as the last record had, from the eighth look in a row on that finds nothing:
  /// the sender writes them before the first line, so they come together with it. Not in a stream, nor for
  /// long records: the lines would be taken from the sender while it writes them.
  [[gnu::always_inline]] void ask_ahead(const std::byte* record) noexcept {
    const std::uint32_t halves = last_and_looks_ % kLook;
    if (halves - kAheadLeast > kAheadMost - kAheadLeast) return;
    if ((last_and_looks_ += kLook) < kLooks) return;
    for (std::uint32_t i = 2; i < halves; i += 2) __builtin_prefetch(record + std::size_t{i} * kHalf);
  }
  // A look mostly finds nothing, so what it needs is kept ready: the place, and the mark of the lap.
  const std::byte* lines_ = nullptr;
  const std::byte* place_ = nullptr;
  std::uint64_t mark_ = lap_mark(1);
  std::uint64_t position_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t publish_at_ = 0;  // beyond this position a quarter of the window is due
  std::uint32_t mask_ = 0;
  std::uint32_t last_and_looks_ = 0;  // halves of the last record taken, and kLook for each look since
  std::atomic<std::uint64_t>* consumed_ = nullptr;
};

/// Makes a window of `bytes` bytes as new. Called by its owner, when the sender writes to it no more.
inline void reset_window(std::byte* lines, std::uint32_t bytes, WindowControl& control) noexcept {
  for (std::uint32_t at = 0; at < bytes; at += kLine) hw::store_word(lines + at, 0);
  control.consumed.store(0, std::memory_order_relaxed);
  control.owner.store(0, std::memory_order_release);  // pairs with the claim of the next sender
}

}  // namespace stria::shm
