// The table that providers outside the tree are given: the same bytes as a walk over the memory by hand.
#include "transport/services.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "datatype/layout.hpp"
#include "transport/payload.hpp"

namespace stria::transport {
namespace {

using Bytes = std::vector<std::byte>;

class Services : public testing::Test {
 protected:
  Services() : memory(400), column(*datatype::Layout::vector(4, 1, 20, datatype::Layout::bytes(3))) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 + 1);
    for (std::size_t n = 0; n < 3; ++n)
      for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t byte = 0; byte < 3; ++byte)
          at.push_back(n * static_cast<std::size_t>(column.extent()) + row * 20 + byte);
  }
  stria_payload_t range(std::size_t offset, std::size_t length) {
    return {&column, memory.data(), 3, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(length)};
  }
  Bytes memory;
  datatype::Layout column;
  std::vector<std::size_t> at;  // where each byte of the stream lies
};

TEST_F(Services, the_table_says_its_size_and_version) {
  EXPECT_EQ(services().size, sizeof(stria_services_t));
  EXPECT_EQ(services().version, STRIA_PROVIDER_VERSION);
}

TEST_F(Services, pack_and_unpack_move_any_range_of_a_layout) {
  for (std::size_t offset = 0; offset <= at.size(); ++offset) {
    for (std::size_t length = 0; length <= at.size() - offset; ++length) {
      Bytes out(length + 1, std::byte{0xaa});
      const stria_payload_t payload = range(offset, length);
      services().pack(&payload, out.data());
      for (std::size_t i = 0; i < length; ++i) ASSERT_EQ(out[i], memory[at[offset + i]]);
      ASSERT_EQ(out[length], std::byte{0xaa});
      Bytes expected = memory;
      for (std::size_t i = 0; i < length; ++i) expected[at[offset + i]] = out[i] = ~out[i];
      services().unpack(&payload, out.data());
      ASSERT_EQ(memory, expected);
    }
  }
}

// From kLongByString on by other instructions, whatever places these are.
TEST_F(Services, long_contiguous_payloads_of_a_near_core_are_taken_to_the_byte) {
  constexpr auto kLeast = static_cast<std::size_t>(kLongByString);
  Bytes in(3 * kLeast), room(in.size() + 256);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 13 + i / 255);
  for (const std::size_t length : {kLeast - 1, kLeast, kLeast + 1, 2 * kLeast + 37})
    for (const std::size_t to : {0u, 1u, 16u, 63u, 64u, 100u})
      for (const std::size_t from : {0u, 1u, 40u, 64u}) {
        std::fill(room.begin(), room.end(), std::byte{0xee});
        const stria_payload_t payload{nullptr, room.data(), static_cast<std::int64_t>(room.size()),
                                      static_cast<std::int64_t>(to + 1), static_cast<std::int64_t>(length)};
        const Packet packet{nullptr, in.data() + from, static_cast<std::uint32_t>(length),
                            1 | STRIA_PACKET_NEAR, 0};
        ASSERT_EQ(take(payload, packet), Arrival::whole);
        const auto begin = room.begin() + static_cast<std::ptrdiff_t>(to + 1);
        ASSERT_EQ(*(begin - 1), std::byte{0xee});
        ASSERT_TRUE(std::equal(begin, begin + static_cast<std::ptrdiff_t>(length), in.data() + from));
        ASSERT_EQ(begin[static_cast<std::ptrdiff_t>(length)], std::byte{0xee});
      }
}

TEST_F(Services, without_a_layout_the_stream_is_the_memory) {
  const stria_payload_t payload{nullptr, memory.data(), 400, 5, 9};
  Bytes out(9);
  services().pack(&payload, out.data());
  EXPECT_EQ(out, Bytes(memory.begin() + 5, memory.begin() + 14));
  const Bytes in(9, std::byte{0x66});
  services().unpack(&payload, in.data());
  EXPECT_EQ(Bytes(memory.begin() + 5, memory.begin() + 14), in);
  iovec entries[2];
  std::int64_t covered = 0;
  ASSERT_EQ(services().iovecs(&payload, entries, 2, &covered), 1u);
  EXPECT_EQ(covered, 9);
  EXPECT_EQ(entries[0].iov_base, memory.data() + 5);
  EXPECT_EQ(entries[0].iov_len, 9u);
}

TEST_F(Services, iovecs_resume_where_the_list_was_full) {
  Bytes gathered;
  std::size_t offset = 1;
  while (offset < at.size()) {
    const stria_payload_t payload = range(offset, at.size() - offset);
    iovec entries[2];
    std::int64_t covered = 0;
    const std::size_t count = services().iovecs(&payload, entries, 2, &covered);
    ASSERT_GT(covered, 0);
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto* from = static_cast<const std::byte*>(entries[i].iov_base);
      gathered.insert(gathered.end(), from, from + entries[i].iov_len);
      bytes += static_cast<std::int64_t>(entries[i].iov_len);
    }
    EXPECT_EQ(bytes, covered);
    offset += static_cast<std::size_t>(covered);
  }
  ASSERT_EQ(gathered.size(), at.size() - 1);
  for (std::size_t i = 0; i < gathered.size(); ++i) EXPECT_EQ(gathered[i], memory[at[i + 1]]);
}

TEST_F(Services, equal_blocks_at_equal_distances_are_known_as_such) {
  using datatype::Layout;
  std::byte* const base = memory.data();
  struct Case {
    const char* what;
    Layout layout;
    std::int64_t instances;
    stria_blocks_t expected;  // count 0: no such blocks
  };
  const std::array<std::int64_t, 3> lengths = {3, 1, 5};
  const std::array<std::int64_t, 3> places = {50, 0, 11};
  const Layout row = *Layout::vector(4, 1, 20, Layout::bytes(3));
  const Case cases[] = {
      {"a column", row, 1, {base, 4, 3, 20}},
      {"columns that go on", *Layout::resized(row, 0, 80), 3, {base, 12, 3, 20}},
      {"columns beside each other", *Layout::resized(row, 0, 3), 3, {nullptr, 0, 0, 0}},
      {"blocks with gaps", *Layout::resized(Layout::bytes(5), 0, 9), 7, {base, 7, 5, 9}},
      {"one of them", *Layout::resized(Layout::bytes(5), 0, 9), 1, {base, 1, 5, 0}},
      {"backwards", *Layout::strided(6, -10, Layout::bytes(4)), 1, {base, 6, 4, -10}},
      {"without gaps", Layout::bytes(9), 4, {base, 1, 36, 0}},
      {"no bytes", Layout::bytes(0), 4, {nullptr, 0, 0, 0}},
      {"no instances", row, 0, {nullptr, 0, 0, 0}},
      {"irregular", *Layout::indexed(lengths, places, Layout::bytes(1)), 1, {nullptr, 0, 0, 0}},
      {"of two levels", *Layout::strided(2, 200, row), 1, {nullptr, 0, 0, 0}},
  };
  for (const Case& one : cases) {
    const stria_payload_t payload{&one.layout, base, one.instances, 0, 0};
    stria_blocks_t blocks{};
    ASSERT_EQ(services().blocks(&payload, &blocks), one.expected.count > 0 ? 1 : 0) << one.what;
    if (one.expected.count == 0) continue;
    EXPECT_EQ(blocks.first, one.expected.first) << one.what;
    EXPECT_EQ(blocks.count, one.expected.count) << one.what;
    EXPECT_EQ(blocks.bytes, one.expected.bytes) << one.what;
    if (blocks.count > 1) {
      EXPECT_EQ(blocks.stride, one.expected.stride) << one.what;
    }
  }
  const stria_payload_t plain{nullptr, base, 400, 5, 9};
  stria_blocks_t blocks{};
  ASSERT_EQ(services().blocks(&plain, &blocks), 1);
  EXPECT_EQ(blocks.bytes, 400) << "offset and length are not looked at";
}

TEST_F(Services, the_columns_of_a_matrix_that_share_their_lines_are_known) {
  constexpr std::int64_t kRows = 100, kPitch = 4096;
  const auto one = datatype::Layout::strided(kRows, kPitch, datatype::Layout::bytes(8)).value();
  const auto columns = datatype::Layout::resized(one, 0, 8).value();
  const auto of = [](const datatype::Layout& layout, std::int64_t count) {
    return turned_bytes({&layout, nullptr, count, 0, count * layout.size()});
  };
  EXPECT_EQ(of(columns, 100), 8 * kRows * 8) << "eight to a line";
  EXPECT_EQ(of(datatype::Layout::contiguous(100, columns).value(), 1), 8 * kRows * 8)
      << "in the layout itself";
  const auto wide = datatype::Layout::strided(kRows, kPitch, datatype::Layout::bytes(16)).value();
  EXPECT_EQ(of(datatype::Layout::resized(wide, 0, -16).value(), 9), 4 * kRows * 16)
      << "backwards, four to a line";
  EXPECT_EQ(of(columns, 5), 5 * kRows * 8) << "all of them";
  const auto endless =
      datatype::Layout::strided(std::int64_t{1} << 53, 512, datatype::Layout::bytes(63)).value();
  EXPECT_EQ(of(datatype::Layout::strided(2, 1, endless).value(), 1), (std::int64_t{1} << 54) * 63);
  const auto still = datatype::Layout::strided(kRows, 0, datatype::Layout::bytes(8)).value();
  EXPECT_EQ(of(datatype::Layout::resized(still, 0, 8).value(), 5), 0) << "columns of one place";
  EXPECT_EQ(of(columns, 1), 0) << "one column";
  EXPECT_EQ(of(one, 5), 0) << "columns that are no neighbours";
  EXPECT_EQ(of(datatype::Layout::resized(one, 0, 0).value(), 5), 0) << "the same column five times";
  const auto rows = datatype::Layout::strided(kRows, 16, datatype::Layout::bytes(8)).value();
  EXPECT_EQ(of(datatype::Layout::resized(rows, 0, 8).value(), 2), 0) << "neighbours come at once";
  EXPECT_EQ(turned_bytes({nullptr, nullptr, 100, 0, 100}), 0);
}

/// What a packet of so many bytes is asked to wait for, when it comes byte by byte.
std::vector<std::uint32_t> waited_for(const Payload& memory, std::uint32_t bytes) {
  struct Slow {
    stria_arriving_t arriving;
    std::vector<std::uint32_t> asked;
  };
  const Bytes stream(bytes);
  Slow slow{{{nullptr, stream.data(), bytes, STRIA_PACKET_ARRIVING, 0},
             [](const stria_arriving_t* self, std::uint32_t least) {
               const_cast<Slow*>(reinterpret_cast<const Slow*>(self))->asked.push_back(least);
               return least;
             }},
            {}};
  EXPECT_EQ(take(memory, slow.arriving.packet), Arrival::whole);
  return slow.asked;
}

TEST_F(Services, columns_that_share_their_lines_are_unpacked_together) {
  constexpr std::int64_t kRows = 100, kPitch = 400, kColumns = 20;
  const auto one = datatype::Layout::strided(kRows, kPitch, datatype::Layout::bytes(8)).value();
  const auto columns = datatype::Layout::resized(one, 0, 8).value();
  Bytes matrix(kRows * kPitch);
  constexpr std::uint32_t kAll = kColumns * kRows * 8, kTogether = 8 * kRows * 8;
  EXPECT_EQ(waited_for({&columns, matrix.data(), kColumns, 0, kAll}, kAll),
            (std::vector<std::uint32_t>{kTogether, 2 * kTogether, kAll}));
  const auto apart = datatype::Layout::strided(kRows * kColumns, 16, datatype::Layout::bytes(8)).value();
  EXPECT_EQ(waited_for({&apart, matrix.data(), 1, 0, kAll}, kAll).front(), 1u) << "others as they come";
}

TEST_F(Services, copy_moves_between_all_kinds_of_memory) {
  Bytes other(400, std::byte{0x01});
  const datatype::Layout wide = *datatype::Layout::vector(12, 1, 30, datatype::Layout::bytes(3));
  const auto wide_at = [](std::size_t i) { return i / 3 * 30 + i % 3; };
  for (const bool strided_source : {false, true}) {
    for (const bool strided_target : {false, true}) {
      Bytes expected = other;
      for (std::size_t i = 0; i < 20; ++i) {
        const std::byte value = memory[strided_source ? at[4 + i] : 4 + i];
        expected[strided_target ? wide_at(7 + i) : 7 + i] = value;
      }
      const stria_payload_t from =
          strided_source ? range(4, 20) : stria_payload_t{nullptr, memory.data(), 400, 4, 20};
      const stria_payload_t to = strided_target ? stria_payload_t{&wide, other.data(), 1, 7, 0}
                                                : stria_payload_t{nullptr, other.data(), 400, 7, 0};
      copy(from, to, 20);
      ASSERT_EQ(other, expected) << strided_source << strided_target;
    }
  }
}

TEST_F(Services, copy_takes_long_memory_at_any_alignment_and_no_memory_at_all) {
  copy({}, {}, 0);
  const stria_payload_t none{nullptr, nullptr, 0, 0, 0};
  copy(none, range(0, 12), 0);
  constexpr std::size_t kMost = 40000;
  Bytes from(kMost + 300), to(kMost + 300);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 13 + (i >> 8));
  for (const std::size_t bytes : {std::size_t{24575}, std::size_t{24576}, kMost})
    for (const std::size_t source : {0, 1, 63, 64, 200})
      for (const std::size_t target : {0, 1, 63, 64, 130}) {
        std::fill(to.begin(), to.end(), std::byte{0x5a});
        Bytes expected = to;
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), bytes,
                    expected.begin() + static_cast<std::ptrdiff_t>(target));
        const auto length = static_cast<std::int64_t>(from.size());
        copy({nullptr, from.data(), length, static_cast<std::int64_t>(source), 1},
             {nullptr, to.data(), length, static_cast<std::int64_t>(target), 1},
             static_cast<std::int64_t>(bytes));
        ASSERT_EQ(to, expected) << bytes << " bytes from " << source << " to " << target;
      }
}

}  // namespace
}  // namespace stria::transport
