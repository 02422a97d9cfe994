// Access through keys: exactly the memory they are for, in typemap order, within bounds and rights.
#include <algorithm>
#include <array>
#include <memory>
#include <random>

#include "datatype/layout.hpp"
#include "tests/contract/key_subject.hpp"

namespace stria::contract {
namespace {

using datatype::Layout;
class KeyAccessContract : public KeySubject {};
class PutContract : public KeySubject {};

TEST_P(KeyAccessContract, get_reads_any_range_of_contiguous_memory) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{300001}}) {
    Bytes remote = pattern(bytes, bytes);
    const auto key = key_for(contiguous(remote), kRead);
    std::mt19937 random(1);
    for (int i = 0; i < 20; ++i) {
      const std::size_t offset = i == 0 ? 0 : random() % bytes;
      const std::size_t length = i < 2 ? bytes - offset : random() % (bytes - offset + 1);
      Bytes local(length + 2, std::byte{0x11});
      ASSERT_EQ(move(Way::get, contiguous(local.data() + 1, length), key, offset), Status::ok);
      ASSERT_TRUE(std::equal(remote.begin() + static_cast<std::ptrdiff_t>(offset),
                             remote.begin() + static_cast<std::ptrdiff_t>(offset + length),
                             local.begin() + 1));
      EXPECT_EQ(local.front(), std::byte{0x11});
      EXPECT_EQ(local.back(), std::byte{0x11});
    }
    EXPECT_EQ(b->invalidate(key), Status::ok);
  }
}

// Offsets of `count` columns of 8-byte elements, in typemap order.
std::vector<std::size_t> column_offsets(std::size_t rows, std::size_t row_bytes, std::size_t count,
                                        std::size_t extent) {
  std::vector<std::size_t> offsets;
  for (std::size_t n = 0; n < count; ++n)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < 8; ++j) offsets.push_back(n * extent + i * row_bytes + j);
  return offsets;
}

TEST_P(KeyAccessContract, a_strided_region_moves_to_and_from_a_strided_layout) {
  if (!b->has(STRIA_CAP_STRIDED)) GTEST_SKIP() << lacks("strided regions");
  constexpr std::size_t kRows = 50;
  // Columns beside each other are a level more than one column.
  const std::size_t count = b->capabilities().strided_depth == 1 ? 1 : 3;
  const Layout remote_column = *Layout::resized(*Layout::vector(kRows, 1, 640, Layout::bytes(8)), 0, 8);
  const Layout local_column = *Layout::resized(*Layout::vector(kRows, 1, 72, Layout::bytes(8)), 0, 24);
  const auto remote_at = column_offsets(kRows, 640, count, 8);
  const auto local_at = column_offsets(kRows, 72, count, 24);
  Bytes remote = pattern(1, 640 * kRows);
  const auto key =
      key_for({&remote_column, remote.data(), static_cast<std::int64_t>(count), 0, 0}, kRead | kWrite);
  std::mt19937 random(5);
  for (unsigned i = 0; i < 40; ++i) {
    const std::size_t total = remote_at.size();
    const std::size_t remote_from = i == 0 ? 0 : random() % total;
    const std::size_t local_from = i == 0 ? 0 : random() % total;
    const std::size_t most = total - std::max(remote_from, local_from);
    const std::size_t length = i == 0 ? total : random() % (most + 1);
    Bytes local = pattern(100 + i, 72 * kRows);
    const stria_payload_t payload{&local_column, local.data(), static_cast<std::int64_t>(count),
                                  static_cast<std::int64_t>(local_from), static_cast<std::int64_t>(length)};
    if (can_get() && i % 2 == 0) {
      Bytes expected = local;
      for (std::size_t k = 0; k < length; ++k)
        expected[local_at[local_from + k]] = remote[remote_at[remote_from + k]];
      ASSERT_EQ(move(Way::get, payload, key, remote_from), Status::ok);
      ASSERT_EQ(local, expected);
    } else if (can_put()) {
      Bytes expected = remote;
      for (std::size_t k = 0; k < length; ++k)
        expected[remote_at[remote_from + k]] = local[local_at[local_from + k]];
      ASSERT_EQ(move(Way::put, payload, key, remote_from), Status::ok);
      ASSERT_EQ(remote, expected);
    }
  }
  EXPECT_EQ(b->invalidate(key), Status::ok);
}

TEST_P(KeyAccessContract, irregular_regions_are_reached_in_typemap_order_or_not_registered_at_all) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  const std::array<std::int64_t, 4> lengths = {3, 1, 5, 100};
  const std::array<std::int64_t, 4> places = {500, 0, 11, 200};
  const Layout layout = *Layout::indexed(lengths, places, Layout::bytes(1));
  Bytes remote = pattern(3, 1000), expected;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    expected.insert(expected.end(), remote.begin() + places[i], remote.begin() + places[i] + lengths[i]);
  stria_provider_key_t key{};
  const Status registered = b->fast_register({&layout, remote.data(), 1, 0, 0}, kRead, key, back());
  if (registered == Status::unsupported) {
    EXPECT_FALSE(b->has(STRIA_CAP_BLOCK_LIST));
    GTEST_SKIP() << lacks("block lists");
  }
  ASSERT_EQ(registered, Status::ok);
  EXPECT_EQ(send({a.get(), b.get()}, *b, back(), Path::buffered, header(0), pattern(0, 1)), Status::ok);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return !a->received.empty(); }));
  Bytes local(expected.size());
  ASSERT_EQ(move(Way::get, contiguous(local), key, 0), Status::ok);
  EXPECT_EQ(local, expected);
  EXPECT_EQ(b->invalidate(key), Status::ok);
}

TEST_P(KeyAccessContract, bounds_are_refused_and_nothing_is_written) {
  if (!can_get() && !can_put()) GTEST_SKIP() << lacks("get and put");
  constexpr std::size_t kBytes = 1000;
  Bytes remote = pattern(1, kBytes);
  const Bytes before(remote.begin(), remote.end());
  const auto key = key_for(contiguous(remote), kRead | kWrite);
  struct Range {
    std::uint64_t offset;
    std::size_t length;
  };
  const Range outside[] = {{0, kBytes + 1}, {kBytes, 1}, {1, kBytes},       {kBytes - 1, 2},
                           {~0ull, 1},      {~0ull, 2},  {~0ull - 99, 200}, {1ull << 63, 8}};
  for (const Range& range : outside) {
    Bytes local(range.length, std::byte{0x44});
    if (can_get()) {
      EXPECT_EQ(move(Way::get, contiguous(local), key, range.offset), Status::access_error);
    }
    EXPECT_EQ(local, Bytes(range.length, std::byte{0x44}));
    if (can_put()) {
      EXPECT_EQ(move(Way::put, contiguous(local), key, range.offset), Status::access_error);
    }
  }
  EXPECT_EQ(remote, before);
  Bytes nothing;
  if (can_get()) {
    EXPECT_EQ(move(Way::get, contiguous(nothing), key, kBytes), Status::ok) << "no bytes at the end";
  }
  Bytes last(1);
  if (can_get()) {
    EXPECT_EQ(move(Way::get, contiguous(last), key, kBytes - 1), Status::ok);
  }
  EXPECT_EQ(b->invalidate(key), Status::ok);
}

TEST_P(KeyAccessContract, each_access_needs_its_right) {
  if (!can_get() && !can_put()) GTEST_SKIP() << lacks("get and put");
  Bytes remote = pattern(1, 64), local = pattern(2, 64);
  const Bytes remote_before(remote.begin(), remote.end()), local_before(local.begin(), local.end());
  const auto readable = key_for(contiguous(remote), kRead);
  const auto writable = key_for(contiguous(remote), kWrite);
  if (can_put()) {
    EXPECT_EQ(move(Way::put, contiguous(local), readable, 0), Status::access_error);
  }
  if (can_get()) {
    EXPECT_EQ(move(Way::get, contiguous(local), writable, 0), Status::access_error);
  }
  EXPECT_EQ(remote, remote_before);
  EXPECT_EQ(local, local_before);
  if (can_get()) {
    EXPECT_EQ(move(Way::get, contiguous(local), readable, 0), Status::ok);
  }
  if (can_put()) {
    EXPECT_EQ(move(Way::put, contiguous(local), writable, 0), Status::ok);
  }
  EXPECT_EQ(b->invalidate(readable), Status::ok);
  EXPECT_EQ(b->invalidate(writable), Status::ok);
}

TEST_P(PutContract, put_writes_its_range_and_nothing_else) {
  if (!can_put()) GTEST_SKIP() << lacks("put");
  constexpr std::size_t kBytes = 70000;
  Bytes remote(kBytes, std::byte{0x22});
  Bytes expected = remote;
  const auto key = key_for(contiguous(remote), kWrite);
  std::mt19937 random(2);
  for (unsigned i = 0; i < 20; ++i) {
    const std::size_t offset = random() % kBytes;
    const std::size_t length = random() % (kBytes - offset + 1);
    const Bytes local = pattern(i, length);
    ASSERT_EQ(move(Way::put, contiguous(local), key, offset), Status::ok);
    std::copy(local.begin(), local.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
    ASSERT_EQ(remote, expected);
  }
  EXPECT_EQ(b->invalidate(key), Status::ok);
}

TEST_P(KeyAccessContract, a_key_without_a_link_serves_every_link) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  auto c = open(3);
  stria_link_t* other = c->connect(*b);
  Bytes remote = pattern(1, 5000);
  stria_provider_key_t key{};
  ASSERT_EQ(b->fast_register(contiguous(remote), kRead, key), Status::ok);
  Bytes local(5000);
  EXPECT_EQ(move(Way::get, contiguous(local), key, 0), Status::ok);
  EXPECT_EQ(local, remote);
  Bytes local_c(5000);
  Ending ending;
  Status status = Status::no_resource;
  ASSERT_TRUE(drive({b.get(), c.get()}, [&] {
    if (status == Status::no_resource) status = c->get(other, contiguous(local_c), key, 0, ending);
    return status != Status::no_resource && (status != Status::in_progress || ending.calls > 0);
  }));
  EXPECT_TRUE(status == Status::ok || ending.status == Status::ok);
  EXPECT_EQ(local_c, remote);
  EXPECT_EQ(b->invalidate(key), Status::ok);
  EXPECT_EQ(b->invalidate(key), Status::access_error);
  if (!refusals_end_links()) return;
  expect_refusal(contiguous(local), key);
  start_again();
}

TEST_P(KeyAccessContract, a_device_accesses_its_own_memory_through_a_key) {
  stria_link_t* self = b->connect(*b);
  if (!b->has(STRIA_CAP_FAST_REGISTER) || b->limits(self).can_get == 0)
    GTEST_SKIP() << lacks("get from itself");
  Bytes remote = pattern(1, 3000), local(3000);
  stria_provider_key_t key{};
  ASSERT_TRUE(drive({b.get()}, [&] {
    return b->fast_register(contiguous(remote), kRead, key, self) != Status::no_resource;
  }));
  ASSERT_GT(key.bytes, 0u);
  Ending ending;
  Status status = Status::no_resource;
  ASSERT_TRUE(drive({b.get()}, [&] {
    if (status == Status::no_resource) status = b->get(self, contiguous(local), key, 0, ending);
    return status != Status::no_resource && (status != Status::in_progress || ending.calls > 0);
  }));
  EXPECT_TRUE(status == Status::ok || ending.status == Status::ok);
  EXPECT_EQ(local, remote);
}

STRIA_CONTRACT_OF_GROUP(KeyAccessContract, get);
STRIA_CONTRACT_OF_GROUP(PutContract, put);

}  // namespace
}  // namespace stria::contract
