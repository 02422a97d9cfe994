// The group pio: windows as a device states them, and their credits. That packets of this path arrive intact
// and in order is tested for every path (packet_test.cpp).
#include <algorithm>

#include "tests/contract/subject.hpp"

namespace stria::contract {
namespace {

using PioContract = Contract;

TEST_P(PioContract, a_window_message_fits_the_mtu_and_the_window) {
  auto a = open(1);
  if (!a->has(STRIA_CAP_PIO)) GTEST_SKIP() << lacks("windows");
  const auto device = a->capabilities();
  EXPECT_GT(device.pio_max, 0u);
  EXPECT_GT(device.pio_windows, 0u);
  EXPECT_LE(device.pio_max + sizeof(stria_header_t), device.pio_mtu);
  EXPECT_LE(device.pio_mtu, device.pio_window_bytes);
}

TEST_P(PioContract, credits_fall_with_sends_and_come_back_with_progress) {
  auto a = open(1);
  auto b = open(2);
  if (!a->has(STRIA_CAP_PIO)) GTEST_SKIP() << lacks("windows");
  stria_link_t* link = a->connect(*b);
  if (a->limits(link).pio_max == 0) GTEST_SKIP() << lacks("a window on this link");
  const Bytes data = pattern(1, a->limits(link).pio_max);
  ASSERT_EQ(send({a.get(), b.get()}, *a, link, Path::pio, header(0), data), Status::ok);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
  drive_for({a.get(), b.get()}, 20);
  const auto full = a->limits(link).pio_credits;
  EXPECT_GT(full, 0u);
  std::uint32_t lowest = full;
  std::size_t sent = 1;
  for (int i = 0; i < 100000 && lowest >= data.size(); ++i) {
    if (a->try_send(link, Path::pio, header(1), data.data(), data.size()) == Status::ok) ++sent;
    lowest = std::min(lowest, a->limits(link).pio_credits);
  }
  EXPECT_LT(lowest, full);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == sent; }));
  // Credits may be returned with delay, at the latest when the window is used again.
  EXPECT_TRUE(drive({a.get(), b.get()}, [&] {
    return a->limits(link).pio_credits > lowest ||
           a->try_send(link, Path::pio, header(2), data.data(), data.size()) == Status::ok;
  }));
}

STRIA_CONTRACT_OF_GROUP(PioContract, pio);

}  // namespace
}  // namespace stria::contract
