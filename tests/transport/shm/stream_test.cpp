// Payloads that are sent faster than they are read, or one after the other without a look at what comes
// meanwhile: those that the window takes go through cells, and through the window again when the receiver
// keeps up; cells are written whole before they are told of.
#include "tests/rounds.hpp"
#include "tests/transport/shm/inside.hpp"
#include "transport/shm/burst.hpp"
#include "transport/shm/cell_plan.hpp"
#include "transport/shm/cells.hpp"
#include "transport/shm/gather.hpp"

namespace stria::shm::test {
namespace {

constexpr std::uint32_t kLong = 3000, kShort = kBurstLeast - 1;

/// With short laps and without them: a window's sender looks at its receiver's position at other places.
class ShmStream : public ::testing::TestWithParam<const char*> {
 protected:
  // To far peers payloads go by cells for another reason.
  explicit ShmStream(const char* huge_pages = "auto", const char* distance = "near")
      : a_(1, {{"STRIA_SHM_DISTANCE", distance},
               {"STRIA_SHM_SHORT_LAPS", GetParam()},
               {"STRIA_SHM_HUGE_PAGES", huge_pages}}),
        b_(2, {{"STRIA_SHM_DISTANCE", distance}}),
        link_(a_.connect(b_)) {
    b_.on_deliver = [this](const Got& one) {
      EXPECT_EQ(one.header.tag, seen_) << "out of order";
      EXPECT_EQ(one.payload, pattern(seen_, static_cast<std::uint32_t>(one.payload.size()))) << seen_;
      ++seen_;
      by_cells_ += one.in_cell ? 1 : 0;
      grew_ += one.grows ? 1 : 0;
    };
  }

  stria_status_t send(std::uint32_t bytes) {
    const Bytes data = pattern(sent_, bytes);
    const stria_header_t head = header(sent_);
    const stria_status_t status = Node::ops().pio_send(link_, &head, data.data(), bytes);
    if (status == STRIA_OK) ++sent_;
    return status;
  }
  void drain() {
    for (int looks = 0; seen_ != sent_ && looks < 100000; ++looks) b_.progress();
    ASSERT_EQ(seen_, sent_);
  }
  /// Until neither the window nor a cell takes one more. Its sender looks between: they are no row.
  void fill(std::uint32_t bytes) {
    while (send(bytes) == STRIA_OK) a_.progress();
  }
  /// A message that is too long for the window, or goes the same way as if it were.
  void send_buffered(std::uint32_t bytes) {
    ASSERT_EQ(a_.eager(link_, header(sent_), pattern(sent_, bytes)), Status::ok);
    ++sent_;
    drain();
  }
  /// So many payloads through cells that a whole round of them is there, and that short laps have begun.
  void earn_cells() {
    for (std::uint32_t i = 0; i <= 64 * kDoublesAfter; ++i) send_buffered(5000);
    a_.progress();
    b_.progress();  // takes the probes out that the other one has sent to its new peer
    by_cells_ = grew_ = 0;
  }

  Node a_, b_;
  stria_link_t* link_;
  std::uint64_t sent_ = 0, seen_ = 0, by_cells_ = 0, grew_ = 0;
};

INSTANTIATE_TEST_SUITE_P(ShortLaps, ShmStream, ::testing::Values("off", "on"));

TEST_P(ShmStream, long_payloads_take_cells_while_the_receiver_is_behind) {
  ASSERT_NE(link_, nullptr) << a_.error;
  earn_cells();
  const std::uint64_t before = sent_;
  fill(kLong);
  EXPECT_GT(sent_ - before, 16384 / kLong) << "more than a window holds";
  drain();
  EXPECT_GE(by_cells_, sent_ - before - 16384 / kLong);
}

// Wherever in its lap the window was when the receiver fell behind: the payload that finds it full takes a
// cell, and is not refused.
TEST_P(ShmStream, the_payload_that_finds_the_window_full_takes_a_cell) {
  ASSERT_NE(link_, nullptr) << a_.error;
  earn_cells();
  const auto step = static_cast<std::uint32_t>(stria::test::kBuildDivisor);
  for (std::uint32_t start = 0; start < 2 * 16384 / kLine; start += step) {
    ASSERT_EQ(send(40), STRIA_OK);  // a line further
    drain();
    a_.progress();
    for (std::uint32_t i = 0; i <= 16384 / kLong; ++i, a_.progress())
      ASSERT_EQ(send(kLong), STRIA_OK) << start;
    drain();
    a_.progress();
  }
}

TEST_P(ShmStream, and_the_window_again_when_it_keeps_up) {
  ASSERT_NE(link_, nullptr) << a_.error;
  earn_cells();
  fill(kLong);
  drain();
  for (int i = 0; i < 1000; ++i) {
    if (i == 500) by_cells_ = 0;
    ASSERT_EQ(send(kLong), STRIA_OK);
    drain();
    a_.progress();
  }
  EXPECT_EQ(by_cells_, 0u);
}

TEST_P(ShmStream, a_row_takes_cells_until_its_sender_looks) {
  ASSERT_NE(link_, nullptr) << a_.error;
  earn_cells();
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(send(kLong), STRIA_OK);
    drain();
    EXPECT_EQ(by_cells_, i < kCellBurst ? 0 : i + 1 - kCellBurst) << i;
  }
  a_.progress();
  by_cells_ = 0;
  ASSERT_EQ(send(kLong), STRIA_OK);
  drain();
  EXPECT_EQ(by_cells_, 0u);
}

TEST_P(ShmStream, who_looks_for_one_peer_or_one_message_looks_too) {
  ASSERT_NE(link_, nullptr) << a_.error;
  earn_cells();
  const auto& ops = Node::ops();
  stria_header_t wanted = header(0);
  for (const bool one_message : {false, true})
    for (std::uint64_t i = 0; i < 4 * kCellBurst; ++i) {
      ASSERT_EQ(send(kLong), STRIA_OK);
      drain();
      if (one_message)
        ops.take(link_, &wanted, nullptr, 0);
      else
        ops.poll(link_, 1);
    }
  EXPECT_EQ(by_cells_, 0u);
}

TEST_P(ShmStream, cells_of_a_row_are_whole_until_its_sender_looks) {
  ASSERT_NE(link_, nullptr) << a_.error;
  earn_cells();
  for (const std::uint32_t bytes : {kGrowLeast, 8192u, 20000u, kFarStepLeast - 1}) {
    grew_ = 0;
    for (std::uint64_t i = 0; i < 5; ++i) send_buffered(bytes);
    EXPECT_EQ(grew_, std::uint64_t{kWholeBurst}) << bytes;
    a_.progress();
    send_buffered(bytes);
    EXPECT_EQ(grew_, std::uint64_t{kWholeBurst} + 1) << bytes;
    a_.progress();
  }
  grew_ = 0;
  for (std::uint64_t i = 0; i < 5; ++i) send_buffered(kFarStepLeast);
  EXPECT_EQ(grew_, 5u) << "so long ones are read meanwhile";
}

class ShmFarStream : public ShmStream {
 protected:
  ShmFarStream() : ShmStream("auto", "far") {}
};
INSTANTIATE_TEST_SUITE_P(ShortLaps, ShmFarStream, ::testing::Values("off", "on"));

TEST_P(ShmFarStream, long_cells_of_a_row_are_whole_too) {
  ASSERT_NE(link_, nullptr) << a_.error;
  earn_cells();
  for (const std::uint32_t bytes : {kFarStepLeast, 131072u}) {
    grew_ = 0;
    for (std::uint64_t i = 0; i < 5; ++i) send_buffered(bytes);
    EXPECT_EQ(grew_, std::uint64_t{kWholeBurst}) << bytes;
    a_.progress();
  }
}

TEST_P(ShmStream, short_payloads_wait_for_the_window) {
  ASSERT_NE(link_, nullptr) << a_.error;
  earn_cells();
  fill(kShort);
  drain();
  fill(kShort);
  drain();
  EXPECT_EQ(by_cells_, 0u);
}

/// The ring of cells is small.
class ShmStreamAtFirst : public ShmStream {
 protected:
  ShmStreamAtFirst() : ShmStream("off") {}
};
INSTANTIATE_TEST_SUITE_P(ShortLaps, ShmStreamAtFirst, ::testing::Values("off", "on"));

TEST_P(ShmStreamAtFirst, takes_cells_too_while_the_receiver_is_behind) {
  ASSERT_NE(link_, nullptr) << a_.error;
  fill(kLong);
  EXPECT_GT(sent_, 16384 / kLong) << "more than a window holds";
  drain();
  EXPECT_GT(by_cells_, 0u);
}

TEST_P(ShmStream, derived_types_go_the_same_way) {
  ASSERT_NE(link_, nullptr) << a_.error;
  earn_cells();
  fill(kLong);
  drain();
  by_cells_ = 0;
  send_buffered(kLong);
  EXPECT_EQ(by_cells_, 1u);
}

}  // namespace
}  // namespace stria::shm::test
