// The window by itself, in local memory: stale payload against the laps.
#include "transport/shm/window.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>

namespace stria::shm {
namespace {

constexpr std::uint32_t kLines = 64;

struct Ring {
  alignas(kLine) std::array<std::byte, kLines * kLine> lines{};
  std::atomic<std::uint64_t> consumed{0};
  WindowSender sender{lines.data(), kLines* kLine, &consumed};
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
    sender.publish(n, make_window_control(RecordKind::packet, n));
    if (sender.place() <= record) lap = next_lap(lap);
  }
};

TEST(Window, payload_that_reads_as_a_control_word_of_any_near_lap_is_never_taken_for_a_record) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Ring ring;
    std::deque<std::uint32_t> under_way;
    for (int round = 0; round < 20000; ++round) {
      const auto n = random() % 3 == 0 ? 1 : 2 * static_cast<std::uint32_t>(1 + random() % (kLines / 4));
      if (random() % 2 == 0 && ring.has_room(n)) {
        const auto lap = ring.lap + static_cast<std::uint32_t>(random() % 4) - 1;
        ring.send(n, make_control(RecordKind::packet, 40, lap));
        under_way.push_back(n);
      }
      if (random() % 2 != 0) continue;
      const std::uint64_t control = ring.receiver.peek();
      if (control_kind(control) == RecordKind::pad && control != 0) {
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
  }
}

TEST(Window, laps_pass_their_last_number) {
  Ring ring;
  for (std::uint64_t lap = 0; lap < 70000; ++lap)
    for (std::uint32_t at = 0; at < 2 * kLines; at += 8) {
      ASSERT_TRUE(ring.sender.has_room(8));
      ring.sender.publish(8, make_window_control(RecordKind::packet, 200));
      ASSERT_NE(ring.receiver.peek(), 0u) << lap;
      ring.receiver.advance(8);
      ASSERT_EQ(ring.receiver.peek(), 0u) << lap;
    }
}

}  // namespace
}  // namespace stria::shm
