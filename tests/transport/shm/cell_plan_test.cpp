// How payloads get into cells: a table of cases with the plan of each.
#include "transport/shm/cell_plan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "datatype/layout.hpp"

namespace stria::shm {
namespace {

constexpr std::uint32_t kWhole = 0;

/// Blocks of `block` bytes, `gap` bytes apart, of `bytes` bytes in all; the last one may be shorter.
datatype::Layout blocks(std::int64_t block, std::int64_t gap, std::int64_t bytes) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>((bytes + block - 1) / block), block), places;
  if (bytes % block != 0) lengths.back() = bytes % block;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    places.push_back(static_cast<std::int64_t>(i) * (block + gap));
  return datatype::Layout::indexed(lengths, places, datatype::Layout::bytes(1)).value();
}

struct Memory {
  std::int64_t block = 0, gap = 0;  // block 0: contiguous
  std::int64_t bytes;               // of the message
  std::int64_t rest = 0;            // bytes of the message that are not in the payload
};
CellPlan plan_of(const Memory& memory, const CellFacts& facts) {
  const std::int64_t length = memory.bytes - memory.rest;
  if (memory.block == 0) return plan_cell({nullptr, nullptr, memory.bytes, 0, length}, facts);
  const datatype::Layout layout = blocks(memory.block, memory.gap, memory.bytes);
  return plan_cell({&layout, nullptr, 1, 0, length}, facts);
}

constexpr CellFacts kNear{.string_least = 12288}, kNearNoStrings{};
constexpr CellFacts kFar{.is_far = true, .string_least = 2048}, kFarNoStrings{.is_far = true};
constexpr CellFacts kSmallRing{.small_ring = true, .string_least = 2048};
constexpr CellFacts kFarSmallRing{.is_far = true, .small_ring = true, .string_least = 2048};
constexpr CellFacts kForced{.small_ring = true, .may_choose_stores = false, .string_least = 0};
constexpr CellFacts kBurst{.in_burst = true, .string_least = 12288};
constexpr CellFacts kFarBurst{.is_far = true, .in_burst = true, .string_least = 2048};
constexpr CellFacts kInbox{.may_grow = false, .string_least = 2048};

TEST(CellPlan, fits_each_kind_of_memory_and_peer) {
  struct Case {
    const char* what;
    Memory memory;
    CellFacts facts;
    Way way;
    std::uint32_t step;
  };
  const std::int64_t large = kLargeMessage + 1024;
  const Case cases[] = {
      {"short", {.bytes = 4096}, kNear, Way::gather, kWhole},
      {"from here on it grows", {.bytes = 4097}, kNear, Way::gather, kFirstStep},
      {"vectors", {.bytes = 12287}, kNear, Way::gather, kFirstStep},
      {"strings", {.bytes = 12288}, kNear, Way::string, kFirstStep},
      {"first step", {.bytes = 16383}, kNear, Way::string, kFirstStep},
      {"long steps begin", {.bytes = 16384}, kNear, Way::string, kLongStep},
      {"long step", {.bytes = 262144}, kNear, Way::string, kLongStep},
      {"no strings", {.bytes = 65536}, kNearNoStrings, Way::gather, kLongStep},
      {"far, short", {.bytes = 2047}, kFar, Way::nontemporal, kWhole},
      {"far, strings", {.bytes = 2048}, kFar, Way::string, kWhole},
      {"far, first step", {.bytes = 16383}, kFar, Way::string, kFirstStep},
      {"far, long step", {.bytes = 32767}, kFar, Way::string, kLongStep},
      {"far, far step", {.bytes = 32768}, kFar, Way::string, kFarStep},
      {"far, no strings", {.bytes = 262144}, kFarNoStrings, Way::nontemporal, kFarStep},
      {"a part of a message", {.bytes = 262144, .rest = 131072}, kNear, Way::string, kLongStep},
      {"forced strings", {.bytes = 64}, kForced, Way::string, kWhole},
      {"forced strings, small ring", {.bytes = 65536}, kForced, Way::string, kLongStep},

      {"small ring, short", {.bytes = 8191}, kSmallRing, Way::string, kFirstStep},
      {"small ring", {.bytes = 8192}, kSmallRing, Way::nontemporal, kFirstStep},
      {"small ring, far, short", {.bytes = 2047}, kFarSmallRing, Way::nontemporal, kWhole},
      {"small ring, far", {.bytes = 5000}, kFarSmallRing, Way::nontemporal, kFirstStep},
      {"small ring, short blocks", {.block = 8, .gap = 8, .bytes = 8192}, kSmallRing, Way::gather, 4096},
      {"small ring, long blocks",
       {.block = 4096, .gap = 8, .bytes = 16384},
       kSmallRing,
       Way::nontemporal,
       kWhole},

      {"in a burst", {.bytes = 32767}, kBurst, Way::string, kWhole},
      {"in a burst, long", {.bytes = 32768}, kBurst, Way::string, kLongStep},
      {"in a burst, far, long", {.bytes = 262144}, kFarBurst, Way::string, kWhole},
      {"in a burst, long blocks", {.block = 4096, .gap = 8, .bytes = 16384}, kBurst, Way::string, kWhole},
      {"in a burst, pieces", {.block = 1024, .gap = 8, .bytes = 16384}, kBurst, Way::gather, kLongStep},
      {"in a burst, short blocks", {.block = 8, .gap = 8, .bytes = 16384}, kBurst, Way::gather, 8192},

      {"small ring, far, long blocks",
       {.block = 4096, .gap = 8, .bytes = 16384},
       kFarSmallRing,
       Way::nontemporal,
       kWhole},

      {"by the inbox", {.bytes = 32768}, kInbox, Way::string, kWhole},
      {"by the inbox, blocks", {.block = 8, .gap = 8, .bytes = 16384}, kInbox, Way::gather, kWhole},

      {"long blocks by strings", {.block = 8192, .gap = 8, .bytes = 16384}, kNear, Way::string, kLongStep},
      {"long blocks by vectors",
       {.block = 8192, .gap = 8, .bytes = 16384},
       kNearNoStrings,
       Way::gather,
       kWhole},
      {"long blocks, far", {.block = 8192, .gap = 8, .bytes = 65536}, kFar, Way::string, kFarStep},
      {"long blocks, far, no strings",
       {.block = 8192, .gap = 8, .bytes = 65536},
       kFarNoStrings,
       Way::nontemporal,
       kWhole},

      {"pieces", {.block = 1024, .gap = 8, .bytes = 5120}, kNear, Way::gather, kFirstStep},
      {"pieces, short", {.block = 1024, .gap = 8, .bytes = 4096}, kNear, Way::gather, kWhole},
      {"pieces, a part", {.block = 1024, .gap = 8, .bytes = 65536, .rest = 1024}, kNear, Way::gather, kWhole},
      {"pieces, far, a part",
       {.block = 1024, .gap = 8, .bytes = 65536, .rest = 1024},
       kFar,
       Way::nontemporal,
       kFarStep},
      {"pieces, far, a part of the longest",
       {.block = 1024, .gap = 8, .bytes = kLargeMessage, .rest = 1024},
       kFarNoStrings,
       Way::nontemporal,
       kFarStep},
      {"pieces, far, a part of much",
       {.block = 1024, .gap = 8, .bytes = large, .rest = large - 65536},
       kFar,
       Way::nontemporal,
       kWhole},

      {"dense, fetched ahead", {.block = 8, .gap = 8, .bytes = 8184}, kNear, Way::gather, kWhole},
      {"dense", {.block = 8, .gap = 8, .bytes = 8192}, kNear, Way::gather, 4096},
      {"dense, many blocks", {.block = 1, .gap = 1, .bytes = 2048}, kNear, Way::gather, 1024},
      {"dense, too short", {.block = 1, .gap = 1, .bytes = 2047}, kNear, Way::gather, kWhole},
      {"dense, few blocks", {.block = 500, .gap = 8, .bytes = 16383}, kNear, Way::gather, kWhole},
      {"dense, many bytes", {.block = 500, .gap = 8, .bytes = 16384}, kNear, Way::gather, 8192},
      {"dense, a part", {.block = 8, .gap = 8, .bytes = 8200, .rest = 8}, kNear, Way::gather, kWhole},
      {"dense, far", {.block = 8, .gap = 8, .bytes = 8192}, kFar, Way::nontemporal, 4096},
      {"dense, far, a part",
       {.block = 8, .gap = 8, .bytes = 8200, .rest = 8},
       kFar,
       Way::nontemporal,
       kWhole},
      {"runs of 1023 bytes", {.block = 1023, .gap = 8, .bytes = 16 * 1023}, kNear, Way::gather, kWhole},
      {"runs of 4095 bytes", {.block = 4095, .gap = 8, .bytes = 4 * 4095}, kNear, Way::gather, kFirstStep},
      {"dense, long", {.block = 8, .gap = 8, .bytes = 65536}, kNear, Way::gather, kLongStep},

      {"sparse, over soon", {.block = 8, .gap = 256, .bytes = 3064}, kNear, Way::gather, kWhole},
      {"sparse", {.block = 8, .gap = 256, .bytes = 3072}, kNear, Way::gather, 1024},
      {"sparse, by quarters", {.block = 8, .gap = 256, .bytes = 16384}, kNear, Way::gather, 4096},
      {"sparse, far, by halves", {.block = 8, .gap = 256, .bytes = 4096}, kFar, Way::nontemporal, 2048},
      {"sparse, far, by quarters", {.block = 8, .gap = 256, .bytes = 8192}, kFar, Way::nontemporal, 2048},
  };
  for (const Case& one : cases) {
    const std::string text = std::string(one.what) + ", " + std::to_string(one.memory.bytes) + " bytes";
    const CellPlan plan = plan_of(one.memory, one.facts);
    EXPECT_EQ(plan.way, one.way) << text;
    EXPECT_EQ(plan.step, one.step) << text;
  }
}

// A step shorter than that would touch all of their lines again.
TEST(CellPlan, has_no_step_shorter_than_the_columns_that_share_their_lines) {
  const auto step_of = [](std::int64_t rows, std::int64_t columns) {
    const auto column = datatype::Layout::strided(rows, 4096, datatype::Layout::bytes(8)).value();
    const auto all = datatype::Layout::resized(column, 0, 8).value();
    return plan_cell({&all, nullptr, columns, 0, columns * rows * 8}, kNear).step;
  };
  constexpr std::int64_t kRows =
      kLongStep / 64;  // eight columns of them, whose lines are the same, have kLongStep bytes
  EXPECT_EQ(step_of(kRows, 16), kLongStep);
  EXPECT_EQ(step_of(kRows + 1, 16), 0u);
  EXPECT_EQ(step_of(kRows, 12), 0u) << "a half is six columns";
  EXPECT_EQ(step_of(kRows, 8), 0u);
}

TEST(CellPlan, has_steps_of_whole_lines_and_more_than_one) {
  const Memory kinds[] = {{.bytes = 0},
                          {.block = 8192, .gap = 8, .bytes = 0},
                          {.block = 1024, .gap = 8, .bytes = 0},
                          {.block = 8, .gap = 8, .bytes = 0},
                          {.block = 8, .gap = 256, .bytes = 0}};
  int growing = 0;
  for (const CellFacts& facts : {kNear, kFar, kSmallRing, kFarSmallRing, kBurst, kFarBurst})
    for (Memory memory : kinds)
      for (memory.bytes = 1000; memory.bytes <= 131072; memory.bytes += 811) {
        memory.rest = memory.bytes % 3 == 0 ? 500 : 0;
        const CellPlan plan = plan_of(memory, facts);
        growing += plan.step > 0 ? 1 : 0;
        EXPECT_EQ(plan.step % kLine, 0u)
            << plan.step << ", blocks of " << memory.block << ", " << memory.bytes;
        EXPECT_LT(plan.step, memory.bytes - memory.rest) << "blocks of " << memory.block;
        EXPECT_EQ(control_step(make_growing(1, plan.step)), plan.step);
      }
  EXPECT_GT(growing, 1000);
}

}  // namespace
}  // namespace stria::shm
