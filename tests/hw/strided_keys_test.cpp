// Strided keys to the last byte of their work requests, which a stand-in for an mlx5 queue pair records.
#include "hw/strided_keys.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "datatype/pack.hpp"
#include "hw/descriptor_encoders.hpp"
#include "hw/strided_library.hpp"
#include "tests/datatype/random_type.hpp"

namespace stria::hw {
namespace {

using datatype::Layout;
using datatype::must;
using Addresses = std::vector<std::uint64_t>;

constexpr std::uint64_t kBase = std::uint64_t{1} << 40;
constexpr std::uint32_t kLkey = 0x1234;

/// What an adapter would have been told.
struct Recorded {
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
  mlx5dv_qp_ex extension{};
  mlx5dv_mkey key{};
  StandIn() {
    recorded() = {};
    extension.wr_mr_interleaved = [](mlx5dv_qp_ex*, mlx5dv_mkey* filled, std::uint32_t access,
                                     std::uint32_t repeat, std::uint16_t count, mlx5dv_mr_interleaved* data) {
      note(filled, access);
      recorded().repeat = repeat;
      recorded().interleaved.assign(data, data + count);
    };
    extension.wr_mr_list = [](mlx5dv_qp_ex*, mlx5dv_mkey* filled, std::uint32_t access, std::uint16_t count,
                              ibv_sge* data) {
      note(filled, access);
      recorded().list.assign(data, data + count);
    };
  }
  // The library's own rule (rdma-core 44, mlx5_send_wr_set_mkey_access_flags): rights and nothing else.
  static void note(mlx5dv_mkey* filled, std::uint32_t access) {
    constexpr std::uint32_t kRights =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    EXPECT_EQ(access & ~kRights, 0u) << "refused by the library";
    recorded().key = filled;
    recorded().access = access;
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

TEST(StridedKeys, can_be_ended_by_a_message_and_change_their_consumer_key) {
  const auto attributes = strided_key_attributes(nullptr, 64);
  EXPECT_EQ(attributes.create_flags, std::uint32_t{MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT} |
                                         std::uint32_t{MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE} |
                                         std::uint32_t{MLX5DV_MKEY_INIT_ATTR_FLAGS_UPDATE_TAG});
  EXPECT_EQ(attributes.max_entries, 64);
}

/// What a queue pair of the longest work requests takes.
StridedKeys widest() {
  return strided_keys_of(4096);
}
bool fill(const Layout& layout, std::int64_t count, KeyPattern& out) {
  return fill_pattern(layout, count, kBase, widest(), out);
}

TEST(KeyPattern, of_random_types_reads_their_bytes_in_typemap_order_and_lies_within_its_bounds) {
  std::int64_t filled = 0, refused = 0;
  const std::int64_t n = datatype::rounds(3000);
  for (std::int64_t round = 0; round < n; ++round) {
    datatype::Random random(datatype::seed_of(round));
    const auto type = datatype::random_type(random, static_cast<int>(random.in(1, 3)), 600);
    SCOPED_TRACE(testing::Message() << "seed " << datatype::seed_of(round) << "\n" << type.how);
    const std::int64_t count = random.in(1, 4);
    Addresses expected;
    for (const std::int64_t b : datatype::naive::instances(count, type.typemap).bytes)
      expected.push_back(kBase + static_cast<std::uint64_t>(b));
    const auto interleaved = encode_interleaved(type.layout, count, kBase, widest().interleaved);
    const bool repeats = interleaved && interleaved->repeat > 1 &&
                         std::all_of(interleaved->entries.begin(), interleaved->entries.end(),
                                     [](const InterleavedEntry& e) { return e.bytes <= e.stride; });
    const auto list = encode_sg(type.layout, count, kBase, widest().list);
    const bool listed = list && !list->empty();
    KeyPattern pattern;
    const bool can = fill(type.layout, count, pattern);
    if (repeats) {
      ASSERT_TRUE(can && pattern.repeat == interleaved->repeat);
    }
    ASSERT_EQ(can, listed || repeats);
    if (!can) {
      ++refused;
      continue;
    }
    ++filled;
    pattern.set_lkey(kLkey);
    StandIn adapter;
    build_strided_key(&adapter.extension, adapter.key, IBV_ACCESS_REMOTE_READ, pattern);
    ASSERT_EQ(recorded().key, &adapter.key);
    if (pattern.repeat != 0) {
      ASSERT_EQ(bytes_of(recorded().repeat, recorded().interleaved), expected);
      for (const auto& entry : recorded().interleaved) ASSERT_EQ(entry.lkey, kLkey);
    } else {
      ASSERT_EQ(bytes_of(recorded().list), expected);
      for (const auto& entry : recorded().list) ASSERT_EQ(entry.lkey, kLkey);
    }
    ASSERT_EQ(pattern.bytes, expected.size());
    ASSERT_EQ(pattern.begin, *std::min_element(expected.begin(), expected.end()));
    ASSERT_EQ(pattern.end, *std::max_element(expected.begin(), expected.end()) + 1);
  }
  EXPECT_GT(filled, n / 20) << "hardly any random type was taken";
  EXPECT_GT(refused, n / 20) << "hardly any random type was too much";
}

TEST(KeyPattern, of_a_column_is_one_entry_with_the_rights_alone) {
  KeyPattern pattern;
  ASSERT_TRUE(fill(must(Layout::vector(100, 1, 1024, Layout::bytes(8))), 1, pattern));
  StandIn adapter;
  build_strided_key(&adapter.extension, adapter.key, IBV_ACCESS_REMOTE_READ, pattern);
  EXPECT_EQ(recorded().key, &adapter.key);
  EXPECT_EQ(recorded().access, unsigned{IBV_ACCESS_REMOTE_READ});
  EXPECT_EQ(recorded().repeat, 100u);
  ASSERT_EQ(recorded().interleaved.size(), 1u);
  EXPECT_EQ(recorded().interleaved[0].addr, kBase);
  EXPECT_EQ(recorded().interleaved[0].bytes_count, 8u);
  EXPECT_EQ(recorded().interleaved[0].bytes_skip, 1016u);
}

TEST(KeyPattern, keeps_the_widths_of_the_adapter) {
  const auto column = [](std::int64_t rows, std::int64_t stride, std::int64_t bytes) {
    KeyPattern out;
    return fill(must(Layout::vector(rows, 1, stride, Layout::bytes(bytes))), 1, out);
  };
  EXPECT_TRUE(column(100, 65535, 8));
  EXPECT_FALSE(column(100, 65536, 8));
  EXPECT_TRUE(column(16, 65536, 8)) << "as a list";
  EXPECT_FALSE(column(17, 65536, 8));
  EXPECT_TRUE(column(100, 65535, 65534));
  EXPECT_FALSE(column(100, 70000, 65536));
  EXPECT_TRUE(column(0xffffffff, 16, 8));
  EXPECT_FALSE(column(0x100000000, 16, 8));
  EXPECT_FALSE(column(100, -16, 8)) << "what goes down is a list or nothing";
  EXPECT_TRUE(column(16, -16, 8));
  KeyPattern out;
  StridedKeys narrow = widest();
  narrow.interleaved.bytes_bits = 4;
  const auto rows = [](std::int64_t bytes) {
    return must(Layout::vector(100, 1, 1000, Layout::bytes(bytes)));
  };
  EXPECT_TRUE(fill_pattern(rows(15), 1, kBase, narrow, out));
  EXPECT_FALSE(fill_pattern(rows(16), 1, kBase, narrow, out)) << "of another adapter";
  EXPECT_FALSE(fill(Layout::bytes(0), 1, out));
  EXPECT_FALSE(fill(Layout::bytes(8), 0, out));
  EXPECT_FALSE(fill(Layout::bytes(0x100000000), 1, out));
}

TEST(KeyPattern, of_one_repeat_count_holds_as_many_runs_as_the_key_has_entries_left) {
  const auto rows_of = [](std::int64_t runs) {
    const Layout row = must(Layout::vector(runs, 1, 20, Layout::bytes(8)));
    return must(Layout::vector(50, 1, 1000, row));
  };
  KeyPattern out;
  EXPECT_TRUE(fill(rows_of(15), 1, out));
  EXPECT_EQ(out.repeat, 50u);
  EXPECT_EQ(out.count, 15);
  EXPECT_FALSE(fill(rows_of(16), 1, out)) << "one entry is the repeat count's";
}

TEST(KeyPattern, entries_are_what_the_inline_bytes_of_the_queue_pair_hold) {
  EXPECT_EQ(strided_keys_of(256).list.entries, 16u);
  EXPECT_EQ(strided_keys_of(256).interleaved.entries, 15u);
  EXPECT_EQ(strided_keys_of(251).list.entries, 15u) << "with the head of inline data one more than it seems";
  EXPECT_EQ(strided_keys_of(252).list.entries, 16u);
  EXPECT_EQ(strided_keys_of(1 << 20).entries, kPatternEntries);
  EXPECT_EQ(strided_keys_of(28).interleaved.entries, 1u);
  EXPECT_EQ(strided_keys_of(27).entries, 0u);
  EXPECT_EQ(strided_keys_of(0).list.entries, 0u);
}

TEST(StridedKeys, change_the_low_byte_of_both_numbers_from_use_to_use) {
  mlx5dv_mkey key{0x12345600, 0x12345600};
  for (unsigned use = 1; use <= 600; ++use) {
    advance_consumer_key(key);
    EXPECT_EQ(key.rkey, 0x12345600u | (use & 0xff));
    EXPECT_EQ(key.lkey, key.rkey);
  }
}

TEST(StridedLibrary, is_found_where_the_process_has_loaded_it_and_not_loaded_for_the_question) {
  ASSERT_FALSE(loaded_strided_library().has_value()) << "this program was linked with it";
  EXPECT_FALSE(loaded_strided_library().has_value());
  // As libibverbs loads it: by path, and as a driver.
  glob_t drivers{};
  void* driver = nullptr;
  if (::glob("/usr/lib*/*/libibverbs/libmlx5-rdmav*.so", 0, nullptr, &drivers) == 0)
    driver = ::dlopen(drivers.gl_pathv[0], RTLD_NOW | RTLD_LOCAL);
  ::globfree(&drivers);
  if (driver == nullptr) GTEST_SKIP() << "this machine has no driver for adapters of this kind";
  const auto found = loaded_strided_library();
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(found->is_supported, nullptr);
  EXPECT_NE(found->create_qp, nullptr);
  EXPECT_NE(found->extension_of, nullptr);
  EXPECT_NE(found->create_key, nullptr);
  EXPECT_NE(found->destroy_key, nullptr);
  ::dlclose(driver);
}

TEST(StridedLibrary, queue_pairs_ask_for_both_forms_beside_what_others_have) {
  static ibv_qp_init_attr_ex asked;
  static mlx5dv_qp_init_attr more;
  static ibv_qp made;
  StridedLibrary library;
  library.create_qp = [](ibv_context*, ibv_qp_init_attr_ex* attributes, mlx5dv_qp_init_attr* extra) {
    asked = *attributes;
    more = *extra;
    return &made;
  };
  ibv_qp_init_attr_ex attributes{};
  attributes.send_ops_flags = IBV_QP_EX_WITH_SEND;
  EXPECT_EQ(create_strided_queue_pair(library, nullptr, attributes), &made);
  EXPECT_EQ(asked.send_ops_flags, std::uint64_t{IBV_QP_EX_WITH_SEND});
  EXPECT_EQ(more.comp_mask, std::uint64_t{MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS});
  EXPECT_EQ(more.send_ops_flags, std::uint64_t{MLX5DV_QP_EX_WITH_MR_INTERLEAVED | MLX5DV_QP_EX_WITH_MR_LIST});
}

}  // namespace
}  // namespace stria::hw
