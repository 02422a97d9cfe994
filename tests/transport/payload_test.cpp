// What a payload is asked for on its way is the same by the facts of its layout as by divisions for each
// message.
#include "transport/payload.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/datatype/random_type.hpp"

namespace stria::transport {
namespace {

using datatype::Layout;
using datatype::must;
using datatype::Random;

constexpr auto kLine = static_cast<std::int64_t>(kCacheLine);

/// The facts as divisions say them.
namespace divided {

std::uint32_t mean_block(const Payload& payload) {
  const Layout& layout = *layout_of(payload);
  if (layout.block_count() == 0) return 0;
  const std::int64_t mean = layout.size() / layout.block_count();
  return mean < 1 ? 1 : mean > 0x7fffffff ? 0x7fffffff : static_cast<std::uint32_t>(mean);
}

std::int64_t runs_of(const Payload& payload) {
  const std::uint32_t run = divided::mean_block(payload);
  return run == 0 ? 1 : payload.length / run;
}

bool is_sparse(const Payload& payload) {
  const Layout& layout = *layout_of(payload);
  if (layout.block_count() == 0) return false;
  const std::int64_t extent = payload.count > 1 ? layout.extent() : layout.true_extent();
  return layout.size() / layout.block_count() < kLine &&
         (extent < 0 ? -(extent + 1) : extent) / layout.block_count() >= 4 * kLine;
}

std::int64_t turned_bytes(const Payload& payload) {
  const Layout& layout = *layout_of(payload);
  const datatype::Strided* outer = layout.root().strided();
  if (outer == nullptr) return 0;
  const bool many = payload.count > 1;
  const datatype::Strided* inner = many ? outer : outer->child->strided();
  const datatype::Block* block = inner == nullptr ? nullptr : inner->child->block();
  const auto near = [](std::int64_t stride) { return -kLine < stride && stride < kLine; };
  const std::int64_t apart = many ? layout.extent() : outer->stride;
  if (block == nullptr || block->bytes >= kLine || apart == 0 || !near(apart) || near(inner->stride))
    return 0;
  const std::int64_t columns = kLine / (apart < 0 ? -apart : apart), column = block->bytes * inner->count;
  return column >= payload.length / columns ? payload.length : columns * column;
}

}  // namespace divided

/// A matrix by its columns, or something that is nearly one; some of them longer than any memory.
Layout random_columns(Random& random) {
  const std::int64_t block = random.in(1, 70),
                     rows = std::int64_t{1} << random.in(1, random.one_in(9) ? 40 : 8);
  const std::int64_t pitch = random.in(1, 500) * (random.one_in(3) ? -1 : 1) + random.in(0, 1) * 4096;
  const Layout column = must(Layout::strided(rows + random.in(0, 3), pitch, Layout::bytes(block)));
  const std::int64_t apart = random.in(-70, 70);
  if (random.one_in(2)) return must(Layout::resized(column, 0, apart));
  return must(Layout::strided(random.in(1, 200), apart, column));
}

/// Blocks of any length, near and far from each other.
Layout random_blocks(Random& random) {
  const std::int64_t block = random.in(1, std::int64_t{1} << random.in(1, random.one_in(9) ? 34 : 13));
  const std::int64_t stride = (block + random.in(0, 1200)) * (random.one_in(4) ? -1 : 1);
  return must(Layout::strided(random.in(1, 2000), stride, Layout::bytes(block)));
}

Layout random_layout(Random& random) {
  const Layout layout = random.one_in(3) ? random_columns(random)
                        : random.one_in(2)
                            ? random_blocks(random)
                            : random_type(random, static_cast<int>(random.in(0, 4)), 4000).layout;
  if (!random.one_in(4)) return layout;
  return must(Layout::resized(layout, 0, random.one_in(20) ? INT64_MIN : random.in(-9000, 9000)));
}

TEST(Payload, is_what_divisions_for_each_message_say) {
  std::int64_t long_runs = 0, many_runs = 0, sparse = 0, turned = 0, cut = 0, turned_wholly = 0;
  for (std::int64_t round = 0; round < test::rounds(20000); ++round) {
    Random random(datatype::seed_of(round));
    const Layout layout = random_layout(random);
    Payload payload{&layout, nullptr, random.one_in(2) ? 1 : random.in(2, 40), 0, 0};
    const auto reach = layout.reach(payload.count);
    const std::int64_t all = reach ? reach->bytes : layout.size();
    const std::int64_t near_columns = layout.facts().spread(payload.count).columns.most;
    SCOPED_TRACE(testing::Message() << "seed " << datatype::seed_of(round) << "\n"
                                    << payload.count << " of " << layout.to_string() << ", extent "
                                    << layout.extent());
    for (const std::int64_t length : {all, random.in(0, all), random.in(0, all) >> random.in(0, 40),
                                      near_columns, near_columns == INT64_MAX ? 0 : near_columns + 1}) {
      payload.length = length;
      const std::uint32_t mean = divided::mean_block(payload);
      ASSERT_EQ(mean_block(payload), mean);
      ASSERT_EQ(goes_by_pieces(payload), mean >= kBlockOfPieces);
      ASSERT_EQ(has_long_blocks(payload), length >= kLongBlock && mean >= kLongBlock);
      for (const std::int64_t least : {std::int64_t{2}, kManyRuns, 4 * kManyRuns, random.in(2, UINT32_MAX)})
        ASSERT_EQ(has_runs(payload, least), divided::runs_of(payload) >= least) << length << " " << least;
      ASSERT_EQ(is_sparse(payload), divided::is_sparse(payload));
      const std::int64_t columns = divided::turned_bytes(payload);
      ASSERT_EQ(turned_bytes(payload), columns) << length;
      long_runs += has_long_blocks(payload) ? 1 : 0;
      many_runs += has_runs(payload, kManyRuns) ? 1 : 0;
      sparse += is_sparse(payload) ? 1 : 0;
      turned += columns != 0 ? 1 : 0;
      cut += columns != 0 && columns < length ? 1 : 0;
      turned_wholly += columns != 0 && columns == length ? 1 : 0;
    }
  }
  for (const std::int64_t seen : {long_runs, many_runs, sparse, turned, cut, turned_wholly})
    EXPECT_GT(seen, 100);
}

TEST(Payload, of_contiguous_memory_has_no_blocks) {
  const Payload payload{nullptr, nullptr, 100000, 0, 100000};
  EXPECT_EQ(mean_block(payload), 0u);
  EXPECT_TRUE(goes_by_pieces(payload));
  EXPECT_TRUE(has_long_blocks(payload));
  EXPECT_FALSE(has_runs(payload, 2));
  EXPECT_FALSE(is_sparse(payload));
  EXPECT_EQ(turned_bytes(payload), 0);
}

}  // namespace
}  // namespace stria::transport
