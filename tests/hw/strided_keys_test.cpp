// Strided keys to the last byte of their work requests, which a stand-in for an mlx5 queue pair records.
#include "hw/strided_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datatype/pack.hpp"
#include "tests/datatype/random_type.hpp"

namespace stria::hw {
namespace {

using datatype::Layout;
using datatype::must;
using testing::HasSubstr;
using Addresses = std::vector<std::uint64_t>;

constexpr std::uint64_t kBase = std::uint64_t{1} << 40;
constexpr std::uint32_t kLkey = 0x1234;

/// What an adapter would have been told.
struct Recorded {
  std::string calls;
  std::uint64_t request_id = 0;
  unsigned flags = 0;
  mlx5dv_mkey* key = nullptr;
  std::uint32_t access = 0;
  std::uint32_t repeat = 0;
  std::vector<mlx5dv_mr_interleaved> interleaved;
  std::vector<ibv_sge> list;
};
Recorded& recorded() {
  static Recorded one;
  return one;
}

struct StandIn {
  ibv_qp_ex queue_pair{};
  mlx5dv_qp_ex extension{};
  mlx5dv_mkey key{};
  StandIn() {
    recorded() = {};
    current() = this;
    queue_pair.wr_start = [](ibv_qp_ex*) { recorded().calls += "start "; };
    queue_pair.wr_complete = [](ibv_qp_ex*) {
      recorded().calls += "complete";
      return 0;
    };
    extension.wr_mr_interleaved = [](mlx5dv_qp_ex*, mlx5dv_mkey* filled, std::uint32_t access,
                                     std::uint32_t repeat, std::uint16_t count, mlx5dv_mr_interleaved* data) {
      note(filled, access);
      recorded().calls += "interleaved ";
      recorded().repeat = repeat;
      recorded().interleaved.assign(data, data + count);
    };
    extension.wr_mr_list = [](mlx5dv_qp_ex*, mlx5dv_mkey* filled, std::uint32_t access, std::uint16_t count,
                              ibv_sge* data) {
      note(filled, access);
      recorded().calls += "list ";
      recorded().list.assign(data, data + count);
    };
  }
  static StandIn*& current() {
    static StandIn* one = nullptr;
    return one;
  }
  static void note(mlx5dv_mkey* filled, std::uint32_t access) {
    recorded().key = filled;
    recorded().access = access;
    recorded().request_id = current()->queue_pair.wr_id;
    recorded().flags = current()->queue_pair.wr_flags;
  }
};

/// The address of every byte that the adapter would read, in order: as its manual says, with 16-bit fields.
Addresses bytes_of(std::uint32_t repeat, const std::vector<mlx5dv_mr_interleaved>& entries) {
  Addresses out;
  for (std::uint64_t i = 0; i < repeat; ++i)
    for (const auto& e : entries) {
      const auto stride = static_cast<std::uint16_t>(e.bytes_count + e.bytes_skip);
      const auto bytes = static_cast<std::uint16_t>(e.bytes_count);
      for (std::uint64_t b = 0; b < bytes; ++b) out.push_back(e.addr + i * stride + b);
    }
  return out;
}
Addresses bytes_of(const std::vector<ibv_sge>& list) {
  Addresses out;
  for (const auto& e : list)
    for (std::uint64_t b = 0; b < e.length; ++b) out.push_back(e.addr + b);
  return out;
}

TEST(StridedKeys, of_random_types_read_their_bytes_in_typemap_order_or_are_refused) {
  std::int64_t interleaved = 0, lists = 0;
  const std::int64_t n = datatype::rounds(3000);
  for (std::int64_t round = 0; round < n; ++round) {
    datatype::Random random(datatype::seed_of(round));
    const auto type = datatype::random_type(random, static_cast<int>(random.in(1, 3)), 600);
    SCOPED_TRACE(testing::Message() << "seed " << datatype::seed_of(round) << "\n" << type.how);
    const std::int64_t count = random.in(1, 4);
    Addresses expected;
    for (const std::int64_t b : datatype::naive::instances(count, type.typemap).bytes)
      expected.push_back(kBase + static_cast<std::uint64_t>(b));
    StandIn adapter;
    if (auto key = encode_interleaved_key(type.layout, count, kBase, kLkey, 8)) {
      ASSERT_EQ(post_strided_key(adapter.queue_pair, adapter.extension, adapter.key, IBV_ACCESS_REMOTE_READ,
                                 *key, 1),
                0);
      ASSERT_EQ(bytes_of(recorded().repeat, recorded().interleaved), expected);
      for (const auto& entry : recorded().interleaved) ASSERT_EQ(entry.lkey, kLkey);
      ++interleaved;
    }
    if (auto key = encode_list_key(type.layout, count, kBase, kLkey, 64)) {
      ASSERT_EQ(post_strided_key(adapter.queue_pair, adapter.extension, adapter.key, IBV_ACCESS_REMOTE_READ,
                                 *key, 1),
                0);
      ASSERT_EQ(bytes_of(recorded().list), expected);
      ++lists;
    }
  }
  EXPECT_GT(interleaved, n / 20) << "hardly any random type was tried";
  EXPECT_GT(lists, n / 20);
}

TEST(StridedKeys, a_column_is_one_entry_posted_inline_and_zero_based) {
  StandIn adapter;
  auto key = encode_interleaved_key(must(Layout::vector(100, 1, 1024, Layout::bytes(8))), 1, kBase, kLkey, 4);
  ASSERT_TRUE(key.has_value());
  ASSERT_EQ(
      post_strided_key(adapter.queue_pair, adapter.extension, adapter.key, IBV_ACCESS_REMOTE_READ, *key, 77),
      0);
  EXPECT_EQ(recorded().calls, "start interleaved complete");
  EXPECT_EQ(recorded().request_id, 77u);
  EXPECT_EQ(recorded().flags, unsigned{IBV_SEND_INLINE});
  EXPECT_EQ(recorded().key, &adapter.key);
  EXPECT_EQ(recorded().access, unsigned{IBV_ACCESS_REMOTE_READ} | unsigned{IBV_ACCESS_ZERO_BASED});
  EXPECT_EQ(recorded().repeat, 100u);
  ASSERT_EQ(recorded().interleaved.size(), 1u);
  EXPECT_EQ(recorded().interleaved[0].addr, kBase);
  EXPECT_EQ(recorded().interleaved[0].bytes_count, 8u);
  EXPECT_EQ(recorded().interleaved[0].bytes_skip, 1016u);
}

TEST(StridedKeys, widths_of_the_adapter_are_kept) {
  const auto column = [](std::int64_t rows, std::int64_t stride, std::int64_t bytes) {
    return encode_interleaved_key(must(Layout::vector(rows, 1, stride, Layout::bytes(bytes))), 1, kBase,
                                  kLkey, 4);
  };
  EXPECT_TRUE(column(3, 65535, 8).has_value());
  EXPECT_THAT(column(3, 65536, 8).error().context, HasSubstr("stride 65536 > 65535"));
  EXPECT_TRUE(column(3, 65535, 65534).has_value());
  EXPECT_THAT(column(3, 70000, 65536).error().context, HasSubstr("> 65535"));
  EXPECT_TRUE(column(0xffffffff, 16, 8).has_value());
  EXPECT_THAT(column(0x100000000, 16, 8).error().context, HasSubstr("repeat count 4294967296 > 4294967295"));
  EXPECT_FALSE(encode_interleaved_key(
                   must(Layout::vector(3, 1, 100, must(Layout::vector(4, 1, 20, Layout::bytes(8))))), 1,
                   kBase, kLkey, 3)
                   .has_value())
      << "one repeat count: four entries, and three are allowed";
}

TEST(StridedKeys, a_list_has_no_more_entries_than_the_key_and_none_longer_than_its_field) {
  const Layout column = must(Layout::vector(10, 1, 100, Layout::bytes(8)));
  EXPECT_TRUE(encode_list_key(column, 1, kBase, kLkey, 10).has_value());
  EXPECT_THAT(encode_list_key(column, 1, kBase, kLkey, 9).error().context, HasSubstr("more than 9 entries"));
  EXPECT_TRUE(encode_list_key(Layout::bytes(0xffffffff), 1, kBase, kLkey, 4).has_value());
  EXPECT_THAT(encode_list_key(Layout::bytes(0x100000000), 1, kBase, kLkey, 4).error().context,
              HasSubstr("> 4294967295"));
  EXPECT_FALSE(encode_list_key(Layout::bytes(0), 1, kBase, kLkey, 4).has_value());
}

TEST(StridedKeys, can_be_ended_by_a_message) {
  const auto attributes = strided_key_attributes(nullptr, 64);
  EXPECT_EQ(attributes.create_flags, std::uint32_t{MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT} |
                                         std::uint32_t{MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE});
  EXPECT_EQ(attributes.max_entries, 64);
}

}  // namespace
}  // namespace stria::hw
