// The window by itself, in local memory: stale payload against the laps.
#include "transport/shm/window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>

namespace stria::shm {
namespace {

constexpr std::uint32_t kLines = 64;

struct Ring {
  explicit Ring(bool short_laps = true) : sender(lines.data(), kLines * kLine, &consumed, short_laps) {}

  alignas(kLine) std::array<std::byte, kLines * kLine> lines{};
  std::atomic<std::uint64_t> consumed{0};
  WindowSender sender;
  WindowReceiver receiver{lines.data(), kLines* kLine, &consumed};
  std::uint32_t lap = 1;  // the sender's, found out by where it writes

  bool has_room(std::uint32_t n) {
    const std::byte* before = sender.place();
    const bool room = sender.has_room(n);
    if (sender.place() < before) lap = next_lap(lap);
    return room;
  }
  /// A record of n halves, of which all but the first begin with the given word.
  void send(std::uint32_t n, std::uint64_t word) {
    std::byte* record = sender.place();
    for (std::uint32_t half = 1; half < n; ++half) {
      hw::store_word(record + std::size_t{half} * kHalf, word);
      if (half % 2 == 0 && sender.next_sign().is_of(word))
        sender.wrote_sign(half / 2);  // a half line is the window's own care
    }
    sender.publish(n, make_control(RecordKind::packet, n));
    if (sender.place() <= record) lap = next_lap(lap);
  }
};

TEST(Window, payload_that_reads_as_a_control_word_of_any_near_lap_is_never_taken_for_a_record) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const bool short_laps = seed % 2 == 0;
    Ring ring(short_laps);
    std::deque<std::uint32_t> under_way;
    int skipped = 0;  // second halves of the ring
    for (int round = 0; round < 20000; ++round) {
      const auto n = random() % 3 == 0 ? 1 : 2 * static_cast<std::uint32_t>(1 + random() % (kLines / 4));
      if (random() % 2 == 0 && ring.has_room(n)) {
        const auto lap = ring.lap + static_cast<std::uint32_t>(random() % 4) - 1;
        ring.send(n, make_control(RecordKind::packet, 40, lap));
        under_way.push_back(n);
      }
      // In every other stretch it keeps up, so that half of the ring is skipped.
      const bool is_behind = round / 2000 % 2 == 0;
      if (is_behind && random() % 2 != 0) continue;
      const std::uint64_t control = ring.receiver.peek();
      if (control_kind(control) == RecordKind::pad && control != 0) {
        skipped += control_bytes(control) >= kLines ? 1 : 0;
        ring.receiver.advance(control_bytes(control));
        continue;
      }
      if (under_way.empty()) {
        ASSERT_EQ(control, 0u) << "round " << round;
        continue;
      }
      ASSERT_NE(control, 0u) << "round " << round;
      ASSERT_EQ(control_bytes(control), under_way.front()) << "round " << round;
      ring.receiver.advance(under_way.front());
      if (random() % 3 == 0) ring.receiver.publish();
      under_way.pop_front();
    }
    if (short_laps) {
      EXPECT_GT(skipped, 3);
    } else {
      EXPECT_EQ(skipped, 0);
    }
  }
}

/// Sends a record of n halves and takes it out, with the pads before it.
void pass(Ring& ring, std::uint32_t n) {
  ASSERT_TRUE(ring.has_room(n));
  ring.send(n, 0);
  std::uint64_t control = ring.receiver.peek();
  while (control_kind(control) == RecordKind::pad && control != 0) {
    ring.receiver.advance(control_bytes(control));
    control = ring.receiver.peek();
  }
  ASSERT_EQ(control, make_control(RecordKind::packet, n, 0) | lap_mark_of(control));
  ring.receiver.advance(n);
  ASSERT_EQ(ring.receiver.peek(), 0u);
}

TEST(Window, a_pad_clears_what_the_lap_before_it_left_at_the_end_of_the_ring) {
  constexpr std::uint32_t kLong = 30, kBeforePad = 50;  // halves; records of a line
  const std::uint64_t sign_of_lap_4 = make_control(RecordKind::packet, 40, 4);
  for (const bool short_laps : {false, true}) {
    SCOPED_TRACE(short_laps);
    Ring ring(short_laps);
    const auto send = [&ring](std::uint32_t n, std::uint64_t word) {
      ASSERT_TRUE(ring.has_room(n));
      ring.send(n, word);
    };
    // Takes out so many halves, or all.
    const auto take = [&ring](std::uint64_t halves) {
      for (std::uint64_t control = 0; halves > 0 && (control = ring.receiver.peek()) != 0;) {
        ring.receiver.advance(control_bytes(control));
        halves -= std::min<std::uint64_t>(halves, control_bytes(control));
      }
      ring.receiver.publish();
    };
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    // The first lap ends with a pad, and its receiver is behind: the sender looks again early in the second,
    // and not at its end.
    for (std::uint32_t i = 0; i < kBeforePad; ++i) send(2, 0);
    take(40);
    send(kLong, 0);
    take(kAll);
    for (int i = 0; i < 5; ++i) send(2, 0);
    take(kAll);
    for (int i = 0; i < 22; ++i) send(4, sign_of_lap_4);
    ASSERT_EQ(ring.lap, 3u);
    take(kAll);
    for (std::uint32_t i = 0; i < kBeforePad; ++i) {
      send(2, 0);
      if (i % 8 == 0) take(kAll);
    }
    take(kAll);
    send(kLong, 0);
    take(kAll);
    ASSERT_EQ(ring.lap, 4u);
    for (std::uint32_t at = kLong; at + 2 < 2 * kLines; at += 2) {
      send(2, 0);
      take(2);
      ASSERT_EQ(ring.receiver.peek(), 0u) << "half " << at + 2;
      if (ring.lap != 4) break;  // a short one
    }
  }
}

TEST(Window, laps_pass_their_last_number) {
  for (const std::uint32_t n : {8u, 24u}) {
    Ring ring;
    for (int record = 0; record < 70000 * 16; ++record) {
      pass(ring, n);
      if (HasFatalFailure()) FAIL() << "record " << record << " of " << n << " halves";
    }
  }
}

/// How far into the ring many records come that are taken out one by one.
std::size_t reach(Ring& ring, std::uint32_t n) {
  std::size_t offset = 0;
  for (int record = 0; record < 1000; ++record) {
    pass(ring, n);
    offset = std::max(offset, static_cast<std::size_t>(ring.sender.place() - ring.lines.data()));
  }
  return offset;
}

TEST(Window, a_receiver_that_keeps_up_sees_the_first_half_of_the_ring_or_three_records) {
  Ring ring;
  Ring whole(false);
  for (const std::uint32_t n : {1u, 2u, 6u, 10u, 22u, 30u}) {
    reach(ring, n);  // until it is known that it keeps up
    const std::size_t three = std::size_t{3} * n * kHalf;
    EXPECT_LE(reach(ring, n), std::max(std::size_t{kLines} * kLine / 2, three)) << n << " halves";
    EXPECT_GE(reach(whole, n), std::size_t{kLines} * kLine - n * kHalf) << n << " halves";
  }
}

TEST(Window, a_sender_that_found_the_ring_full_uses_all_of_it) {
  Ring ring;
  reach(ring, 2);
  const auto offset = [&ring] { return ring.sender.place() - ring.lines.data(); };
  const auto drain = [&ring] {
    while (const std::uint64_t control = ring.receiver.peek()) ring.receiver.advance(control_bytes(control));
    ring.receiver.publish();
  };
  // A receiver that is behind, but not too far for the turn in the middle of the ring.
  constexpr std::ptrdiff_t kMiddle = kLines / 2 * kLine;
  while (offset() != kMiddle - kMiddle / 4) pass(ring, 2);
  drain();
  std::ptrdiff_t farthest = 0;
  for (; ring.has_room(2); farthest = std::max(farthest, offset())) ring.send(2, 0);
  ASSERT_EQ(farthest, kMiddle) << "the turn was not taken, so the ring was not found full behind it";
  drain();
  for (std::ptrdiff_t before = -1; before < offset(); pass(ring, 2)) farthest = before = offset();
  EXPECT_GT(farthest, kMiddle);
}

TEST(Window, a_stream_has_the_whole_ring_once_the_receiver_was_behind) {
  Ring ring;
  for (int i = 0; i < 1000; ++i) pass(ring, 2);
  std::deque<std::uint32_t> under_way;
  const auto drain = [&] {
    while (const std::uint64_t control = ring.receiver.peek()) {
      const bool is_pad = control_kind(control) == RecordKind::pad;
      if (!is_pad) under_way.pop_front();
      ring.receiver.advance(is_pad ? control_bytes(control) : 2);
    }
    ring.receiver.publish();
  };
  const auto fill = [&] {
    while (ring.has_room(2)) {
      ring.send(2, 0);
      under_way.push_back(2);
    }
  };
  fill();
  drain();
  fill();
  EXPECT_GE(under_way.size(), std::size_t{kLines - 2});
}

}  // namespace
}  // namespace stria::shm
