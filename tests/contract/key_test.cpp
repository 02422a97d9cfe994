// Keys: made in O(1), reach exactly the memory they were made for, and are of no use after their end.
#include <algorithm>
#include <array>
#include <memory>
#include <random>

#include "datatype/layout.hpp"
#include "tests/contract/subject.hpp"

namespace stria::contract {
namespace {

using datatype::Layout;
constexpr unsigned kRead = STRIA_ACCESS_REMOTE_READ;
constexpr unsigned kWrite = STRIA_ACCESS_REMOTE_WRITE;

/// `a` accesses the memory of `b` through `link`.
class KeyContract : public Contract {
 protected:
  KeyContract() : a(open(1)), b(open(2)), link(a->connect(*b)) {
    EXPECT_EQ(send({a.get(), b.get()}, *a, link, Path::buffered, header(0), pattern(0, 8)), Status::ok);
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
    b->received.clear();
  }
  /// Keys are made for the link by which `a` accesses them.
  stria_link_t* back() { return b->ups.count(1) != 0 ? b->ups[1] : b->connect(*a); }
  /// Whether a refused access ends the link, as an adapter refuses it.
  bool refusals_end_links() const { return a->limits(link).offload != 0; }
  /// The adapter refused, and ended the link; iWARP's does not say why.
  void expect_refusal(const stria_payload_t& local, const stria_provider_key_t& key) {
    const Status status = move(Way::get, local, key, 0);
    EXPECT_TRUE(status == Status::access_error || status == Status::peer_failed) << to_string(status);
  }
  /// Both anew after a refusal that ended the link.
  void start_again() {
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return a->downs.size() == 1 && b->downs.size() == 1; }))
        << "a refused access leaves the link half alive";
    a.reset();
    b.reset();
    a = open(1);
    b = open(2);
    link = a->connect(*b);
    ASSERT_EQ(send({a.get(), b.get()}, *a, link, Path::buffered, header(0), pattern(0, 8)), Status::ok);
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
  }
  bool can_get() const { return b->has(STRIA_CAP_FAST_REGISTER) && a->limits(link).can_get != 0; }
  bool can_put() const { return b->has(STRIA_CAP_FAST_REGISTER) && a->limits(link).can_put != 0; }

  stria_provider_key_t key_for(const stria_payload_t& memory, unsigned access) {
    stria_provider_key_t key{};
    EXPECT_EQ(b->fast_register(memory, access, key, back()), Status::ok);
    EXPECT_GT(key.bytes, 0u);
    EXPECT_LE(key.bytes, std::uint32_t{STRIA_PROVIDER_KEY_MAX});
    // It is promised to be valid for who got a later packet, and the test hands it over by other means.
    const std::size_t before = a->received.size();
    EXPECT_EQ(send({a.get(), b.get()}, *b, back(), Path::buffered, header(0), pattern(0, 1)), Status::ok);
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] { return a->received.size() > before; }));
    return key;
  }
  enum class Way { get, put };
  /// Starts a get or put and waits for its end.
  Status move(Way way, const stria_payload_t& local, const stria_provider_key_t& key, std::uint64_t offset) {
    Ending ending;
    Status status = Status::no_resource;
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] {
      status = way == Way::get ? a->get(link, local, key, offset, ending)
                               : a->put(link, local, key, offset, ending);
      return status != Status::no_resource;
    }));
    if (status != Status::in_progress) {
      EXPECT_EQ(ending.calls, 0) << "a completion of what was complete";
      return status;
    }
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] { return ending.calls > 0; })) << "the completion never came";
    drive_for({a.get(), b.get()}, 20);
    EXPECT_EQ(ending.calls, 1);
    return ending.status;
  }
  std::unique_ptr<Peer> a, b;
  stria_link_t* link;
};

TEST_P(KeyContract, get_reads_any_range_of_contiguous_memory) {
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

TEST_P(KeyContract, put_writes_its_range_and_nothing_else) {
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

// Offsets of `count` columns of 8-byte elements, in typemap order.
std::vector<std::size_t> column_offsets(std::size_t rows, std::size_t row_bytes, std::size_t count,
                                        std::size_t extent) {
  std::vector<std::size_t> offsets;
  for (std::size_t n = 0; n < count; ++n)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < 8; ++j) offsets.push_back(n * extent + i * row_bytes + j);
  return offsets;
}

TEST_P(KeyContract, a_strided_region_moves_to_and_from_a_strided_layout) {
  if (!b->has(STRIA_CAP_STRIDED)) GTEST_SKIP() << lacks("strided regions");
  constexpr std::size_t kRows = 50, kCount = 3;
  const Layout remote_column = *Layout::resized(*Layout::vector(kRows, 1, 640, Layout::bytes(8)), 0, 8);
  const Layout local_column = *Layout::resized(*Layout::vector(kRows, 1, 72, Layout::bytes(8)), 0, 24);
  const auto remote_at = column_offsets(kRows, 640, kCount, 8);
  const auto local_at = column_offsets(kRows, 72, kCount, 24);
  Bytes remote = pattern(1, 640 * kRows);
  const auto key = key_for({&remote_column, remote.data(), kCount, 0, 0}, kRead | kWrite);
  std::mt19937 random(5);
  for (unsigned i = 0; i < 40; ++i) {
    const std::size_t total = remote_at.size();
    const std::size_t remote_from = i == 0 ? 0 : random() % total;
    const std::size_t local_from = i == 0 ? 0 : random() % total;
    const std::size_t most = total - std::max(remote_from, local_from);
    const std::size_t length = i == 0 ? total : random() % (most + 1);
    Bytes local = pattern(100 + i, 72 * kRows);
    const stria_payload_t payload{&local_column, local.data(), kCount, static_cast<std::int64_t>(local_from),
                                  static_cast<std::int64_t>(length)};
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

TEST_P(KeyContract, irregular_regions_are_reached_in_typemap_order_or_not_registered_at_all) {
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

TEST_P(KeyContract, bounds_are_refused_and_nothing_is_written) {
  if (!can_get() && !can_put()) GTEST_SKIP() << lacks("get and put");
  constexpr std::size_t kBytes = 1000;
  Bytes remote = pattern(1, kBytes);
  const Bytes before = remote;
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

TEST_P(KeyContract, each_access_needs_its_right) {
  if (!can_get() && !can_put()) GTEST_SKIP() << lacks("get and put");
  Bytes remote = pattern(1, 64), local = pattern(2, 64);
  const Bytes remote_before = remote, local_before = local;
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

TEST_P(KeyContract, an_invalidated_key_is_of_no_use_also_when_its_slot_serves_again) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  Bytes remote = pattern(1, 64), local(64);
  const auto old = key_for(contiguous(remote), kRead);
  EXPECT_EQ(move(Way::get, contiguous(local), old, 0), Status::ok);
  EXPECT_EQ(b->invalidate(old), Status::ok);
  if (!refusals_end_links()) {
    EXPECT_EQ(move(Way::get, contiguous(local), old, 0), Status::access_error);
  }
  for (int i = 0; i < 200; ++i) {  // fewer than 256: eight bits of consumer key
    const auto fresh = key_for(contiguous(remote), kRead);
    ASSERT_NE(Bytes(reinterpret_cast<const std::byte*>(fresh.data),
                    reinterpret_cast<const std::byte*>(fresh.data) + 4),
              Bytes(reinterpret_cast<const std::byte*>(old.data),
                    reinterpret_cast<const std::byte*>(old.data) + 4));
    if (!refusals_end_links()) {
      ASSERT_EQ(move(Way::get, contiguous(local), old, 0), Status::access_error)
          << "after " << i << " registrations";
    }
    ASSERT_EQ(b->invalidate(fresh), Status::ok);
  }
  if (!refusals_end_links()) return;
  const Bytes before = local;
  remote = pattern(2, 64);
  const auto valid = key_for(contiguous(remote), kRead);
  EXPECT_EQ(move(Way::get, contiguous(local), valid, 0), Status::ok);
  expect_refusal(contiguous(local), old);
  EXPECT_EQ(local, remote) << "a refused get wrote something";
  start_again();
}

TEST_P(KeyContract, a_key_without_a_link_serves_every_link) {
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

TEST_P(KeyContract, bytes_that_are_no_key_are_refused) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  Bytes remote = pattern(1, 64), local(64);
  const auto good = key_for(contiguous(remote), kRead);
  stria_provider_key_t empty{};
  EXPECT_EQ(move(Way::get, contiguous(local), empty, 0), Status::access_error);
  stria_provider_key_t cut = good;
  --cut.bytes;
  EXPECT_EQ(move(Way::get, contiguous(local), cut, 0), Status::access_error);
  stria_provider_key_t longer = good;
  ++longer.bytes;
  EXPECT_EQ(move(Way::get, contiguous(local), longer, 0), Status::access_error);
  std::mt19937 random(6);
  for (int i = 0; i < 200; ++i) {
    stria_provider_key_t noise = good;
    for (std::uint32_t k = 0; k < noise.bytes; ++k) noise.data[k] = static_cast<std::uint8_t>(random());
    ASSERT_EQ(move(Way::get, contiguous(local), noise, 0), Status::access_error);
  }
  stria_provider_key_t other_index = good;  // the word's low byte is the consumer key, the rest the index
  other_index.data[2] ^= 0x55;
  EXPECT_EQ(move(Way::get, contiguous(local), good, 0), Status::ok);
  if (refusals_end_links()) {
    expect_refusal(contiguous(local), other_index);
    start_again();
    return;
  }
  EXPECT_EQ(move(Way::get, contiguous(local), other_index, 0), Status::access_error);
  EXPECT_EQ(move(Way::get, contiguous(local), good, 0), Status::ok);
  EXPECT_EQ(b->invalidate(good), Status::ok);
}

TEST_P(KeyContract, only_a_valid_key_can_be_ended) {
  if (!b->has(STRIA_CAP_FAST_REGISTER | STRIA_CAP_LOCAL_INVALIDATE)) GTEST_SKIP() << lacks("fast_register");
  Bytes remote = pattern(1, 64);
  const auto key = key_for(contiguous(remote), kRead);
  stria_provider_key_t empty{}, cut = key, longer = key;
  --cut.bytes;
  ++longer.bytes;
  for (const auto& wrong : {empty, cut, longer}) {
    EXPECT_EQ(b->invalidate(wrong), Status::access_error) << wrong.bytes << " bytes";
    if (!a->has(STRIA_CAP_SEND_INVALIDATE)) continue;
    Status status = Status::no_resource;
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] {
      status = a->try_send_invalidate(link, header(1), pattern(1, 8), wrong);
      return status != Status::no_resource;
    }));
    EXPECT_EQ(status, Status::access_error) << wrong.bytes << " bytes";
  }
  EXPECT_EQ(b->invalidate(key), Status::ok) << "none of them ended it";
  EXPECT_EQ(b->invalidate(key), Status::access_error);
}

TEST_P(KeyContract, keys_are_not_used_up_by_registering_and_invalidating) {
  if (!b->has(STRIA_CAP_FAST_REGISTER | STRIA_CAP_LOCAL_INVALIDATE)) GTEST_SKIP() << lacks("fast_register");
  Bytes memory(64);
  const std::uint32_t rounds = 3 * std::min(b->capabilities().max_keys, 20000u) + 5;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    stria_provider_key_t key{};
    ASSERT_EQ(b->fast_register(contiguous(memory), kRead, key, back()), Status::ok) << "after " << i;
    ASSERT_EQ(b->invalidate(key), Status::ok);
  }
}

TEST_P(KeyContract, a_full_key_table_says_no_resource_until_one_is_invalidated) {
  if (!b->has(STRIA_CAP_FAST_REGISTER | STRIA_CAP_LOCAL_INVALIDATE)) GTEST_SKIP() << lacks("fast_register");
  const std::uint32_t max = b->capabilities().max_keys;
  ASSERT_GT(max, 0u);
  if (max > 1u << 20) GTEST_SKIP() << lacks("a small key table");
  Bytes memory(64);
  std::vector<stria_provider_key_t> keys;
  stria_provider_key_t key{};
  Status status = Status::ok;
  while (keys.size() <= max &&
         (status = b->fast_register(contiguous(memory), kRead, key, back())) == Status::ok)
    keys.push_back(key);
  EXPECT_EQ(status, Status::no_resource);
  EXPECT_LE(keys.size(), max);
  ASSERT_FALSE(keys.empty());
  EXPECT_EQ(b->invalidate(keys.back()), Status::ok);
  keys.pop_back();
  EXPECT_EQ(b->fast_register(contiguous(memory), kRead, key, back()), Status::ok);
  keys.push_back(key);
  for (const auto& each : keys) ASSERT_EQ(b->invalidate(each), Status::ok);
}

TEST_P(KeyContract, a_key_works_when_the_packet_that_carries_it_is_delivered) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  Bytes remote = pattern(8, 5000), local(5000);
  Ending ending;
  Status answer = Status::no_resource;
  stria_provider_key_t carried{};
  const auto start = [&] { answer = a->get(link, contiguous(local), carried, 0, ending); };
  a->on_deliver = [&](const Received& got) {
    carried.bytes = static_cast<std::uint32_t>(got.payload.size());
    std::copy(got.payload.begin(), got.payload.end(), reinterpret_cast<std::byte*>(carried.data));
    start();
  };
  stria_provider_key_t key{};
  ASSERT_EQ(b->fast_register(contiguous(remote), kRead, key, back()), Status::ok);
  const auto* bytes = reinterpret_cast<const std::byte*>(key.data);
  ASSERT_EQ(send({a.get(), b.get()}, *b, back(), Path::buffered, header(1), Bytes(bytes, bytes + key.bytes)),
            Status::ok);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] {
    if (carried.bytes != 0 && answer == Status::no_resource) start();
    return answer == Status::ok || ending.calls == 1;
  }));
  EXPECT_TRUE(answer == Status::ok || ending.status == Status::ok);
  EXPECT_EQ(local, remote);
}

TEST_P(KeyContract, send_invalidate_ends_the_key_before_its_packet_is_delivered) {
  if (!a->has(STRIA_CAP_SEND_INVALIDATE) || !b->has(STRIA_CAP_FAST_REGISTER))
    GTEST_SKIP() << lacks("send_invalidate");
  Bytes remote = pattern(1, 64), local(64);
  for (std::uint16_t i = 0; i < 50; ++i) {
    const auto key = key_for(contiguous(remote), kRead);
    const auto witness = key_for(contiguous(remote), kRead);
    b->received.clear();
    Status inside = Status::ok;  // the owner cannot end it a second time
    b->on_deliver = [&](const Received&) { inside = b->invalidate(key); };
    const Bytes body = pattern(i, 8);
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] {
      const Status status = a->try_send_invalidate(link, header(i), body, key);
      EXPECT_TRUE(status == Status::ok || status == Status::no_resource);
      return status == Status::ok;
    }));
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
    EXPECT_EQ(b->received[0].payload, body);
    EXPECT_EQ(b->received[0].header.sequence, i);
    EXPECT_NE(inside, Status::ok) << "still valid inside deliver";
    if (can_get()) {
      EXPECT_EQ(move(Way::get, contiguous(local), witness, 0), Status::ok) << "another key was ended";
      if (refusals_end_links() && i % 25 != 0) {
        EXPECT_EQ(b->invalidate(witness), Status::ok);
        continue;
      }
      if (refusals_end_links()) {
        expect_refusal(contiguous(local), key);
        start_again();
        continue;
      }
      EXPECT_EQ(move(Way::get, contiguous(local), key, 0), Status::access_error);
    }
    EXPECT_EQ(b->invalidate(witness), Status::ok);
  }
}

TEST_P(KeyContract, a_device_accesses_its_own_memory_through_a_key) {
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

TEST_P(KeyContract, access_to_a_peer_that_left_fails) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  Bytes remote = pattern(1, 64), local(64);
  const auto key = key_for(contiguous(remote), kRead);
  b->close(100);
  Ending ending;
  Status status = Status::no_resource;
  ASSERT_TRUE(drive({}, [&] {
    if (a->downs.empty() && status == Status::no_resource)
      status = a->get(link, contiguous(local), key, 0, ending);
    a->progress();
    if (a->downs.empty()) a->check();
    return !a->downs.empty() && (status != Status::in_progress || ending.calls == 1);
  }));
  if (status == Status::in_progress) status = ending.status;
  EXPECT_TRUE(status == Status::peer_failed || status == Status::access_error ||
              status == Status::no_resource)
      << to_string(status);
}

STRIA_CONTRACT_SUITE(KeyContract);

}  // namespace
}  // namespace stria::contract
