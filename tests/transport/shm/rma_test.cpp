// Keys: rights, bounds, staleness, strided regions, invalidation by a message; between devices of one
// process.
#include <algorithm>
#include <random>

#include "tests/transport/shm/node.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm::test {
namespace {

class ShmRma : public ::testing::Test {
 protected:
  void SetUp() override {
    link = a.connect(b);
    ASSERT_NE(link, nullptr) << a.error;
    ASSERT_TRUE(until([&] { return b.ups.size() == 1; }, [&] { b.progress(); }));
  }
  stria_provider_key_t lend(const stria_payload_t& region, unsigned access) {
    stria_provider_key_t key{};
    EXPECT_EQ(ops->fast_register(b.device(), nullptr, &region, access, &key), STRIA_OK);
    return key;
  }
  Status get(Bytes& out, const stria_provider_key_t& key, std::uint64_t offset) {
    const stria_payload_t local = memory(out.data(), out.size());
    return static_cast<Status>(ops->get(link, &local, &key, offset, nullptr));
  }
  Status put(const Bytes& in, const stria_provider_key_t& key, std::uint64_t offset) {
    const stria_payload_t local = memory(in.data(), in.size());
    return static_cast<Status>(ops->put(link, &local, &key, offset, nullptr));
  }
  const transport::HotOps* ops = &Node::ops();
  Node a{1}, b{2, {{"STRIA_SHM_KEYS", "64"}}};
  stria_link_t* link = nullptr;
};

TEST_F(ShmRma, a_key_gives_its_rights_and_no_others_within_its_bounds) {
  Bytes buffer = pattern(1, 1000);
  const auto read = lend(memory(buffer.data(), 1000), STRIA_ACCESS_REMOTE_READ);
  const auto write = lend(memory(buffer.data(), 1000), STRIA_ACCESS_REMOTE_WRITE);
  Bytes out(100);
  EXPECT_EQ(get(out, read, 900), Status::ok);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), buffer.begin() + 900));
  EXPECT_EQ(get(out, read, 901), Status::access_error);
  EXPECT_EQ(get(out, write, 0), Status::access_error);
  EXPECT_EQ(put(out, read, 0), Status::access_error);
  EXPECT_EQ(put(pattern(5, 100), write, 900), Status::ok);
  EXPECT_EQ(buffer[999], pattern(5, 100)[99]);
  EXPECT_EQ(put(out, write, 901), Status::access_error);
  Bytes none;
  EXPECT_EQ(get(none, read, 1000), Status::ok);
  EXPECT_EQ(get(none, read, 1001), Status::access_error);
}

TEST_F(ShmRma, an_invalid_key_is_refused_also_when_its_slot_is_used_again) {
  Bytes buffer = pattern(1, 100), out(10);
  const auto old = lend(memory(buffer.data(), 100), 3);
  ASSERT_EQ(ops->invalidate(b.device(), &old), STRIA_OK);
  EXPECT_EQ(get(out, old, 0), Status::access_error);
  EXPECT_EQ(put(out, old, 0), Status::access_error);
  EXPECT_NE(ops->invalidate(b.device(), &old), STRIA_OK);
  for (int i = 0; i < 200; ++i) {
    const auto key = lend(memory(buffer.data(), 100), 3);
    EXPECT_EQ(get(out, old, 0), Status::access_error);
    EXPECT_EQ(get(out, key, 0), Status::ok);
    ASSERT_EQ(ops->invalidate(b.device(), &key), STRIA_OK);
  }
  stria_provider_key_t wild{4, {0xff, 0xff, 0xff, 0xff}};
  EXPECT_EQ(get(out, wild, 0), Status::access_error);
  EXPECT_EQ(get(out, stria_provider_key_t{2, {}}, 0), Status::access_error);
}

TEST_F(ShmRma, a_full_key_table_answers_no_resource) {
  Bytes buffer(10);
  std::vector<stria_provider_key_t> keys;
  for (int i = 0; i < 64; ++i) keys.push_back(lend(memory(buffer.data(), 10), 1));
  stria_provider_key_t key{};
  const stria_payload_t region = memory(buffer.data(), 10);
  EXPECT_EQ(ops->fast_register(b.device(), nullptr, &region, 1, &key), STRIA_ERR_NO_RESOURCE);
  ASSERT_EQ(ops->invalidate(b.device(), &keys[5]), STRIA_OK);
  EXPECT_EQ(ops->fast_register(b.device(), nullptr, &region, 1, &key), STRIA_OK);
}

TEST_F(ShmRma, a_key_sent_back_by_send_invalidate_is_invalid_before_the_packet_is_delivered) {
  Bytes buffer(10), out(10);
  const auto key = lend(memory(buffer.data(), 10), 3);
  Status inside = Status::ok;
  b.on_deliver = [&](const Got& one) {
    EXPECT_EQ(one.payload, pattern(2, 30));
    inside = get(out, key, 0);
  };
  const stria_header_t h = header(4);
  const Bytes data = pattern(2, 30);
  ASSERT_EQ(ops->send_invalidate(link, &h, data.data(), 30, &key), STRIA_OK);
  EXPECT_EQ(b.progress(), 1u);
  EXPECT_EQ(inside, Status::access_error);
}

TEST_F(ShmRma, strided_and_irregular_regions_are_read_and_written_at_any_offset) {
  using datatype::Layout;
  const std::vector<std::int64_t> lengths = {3, 1, 7, 2}, places = {0, 100, 400, 150};
  const std::vector<Layout> layouts = {*Layout::strided(10, 64, Layout::bytes(16)),
                                       *Layout::indexed(lengths, places, Layout::bytes(5)),
                                       *Layout::strided(4, 512, *Layout::strided(3, 100, Layout::bytes(20)))};
  std::mt19937 random(8);
  for (int round = 0; round < 300; ++round) {
    const Layout& layout = layouts[static_cast<std::size_t>(random() % layouts.size())];
    const std::int64_t count = 1 + random() % 3;
    Bytes buffer = pattern(static_cast<std::uint64_t>(round), 8192);
    const stria_payload_t region{&layout, buffer.data(), count, 0, 0};
    const auto key = lend(region, 3);
    const std::int64_t total = layout.size() * count;
    const std::int64_t offset = random() % total;
    const std::int64_t length = random() % (total - offset + 1);
    Bytes expected(static_cast<std::size_t>(length)), out(static_cast<std::size_t>(length));
    datatype::pack(datatype::range_of(layout, buffer.data(), count, offset, length), expected.data());
    ASSERT_EQ(get(out, key, static_cast<std::uint64_t>(offset)), Status::ok);
    EXPECT_EQ(out, expected);
    const Bytes fresh = pattern(static_cast<std::uint64_t>(round) + 1000, static_cast<std::size_t>(length));
    Bytes image = buffer;
    datatype::unpack(datatype::range_of(layout, image.data(), count, offset, length), fresh.data());
    ASSERT_EQ(put(fresh, key, static_cast<std::uint64_t>(offset)), Status::ok);
    EXPECT_EQ(buffer, image);
    ASSERT_EQ(ops->invalidate(b.device(), &key), STRIA_OK);
  }
}

TEST_F(ShmRma, more_layouts_than_can_be_published_take_turns) {
  Bytes buffer = pattern(3, 60000), out(32);
  for (int i = 0; i < 1500; ++i) {
    const auto layout = *datatype::Layout::strided(2, 20 + i, datatype::Layout::bytes(16));
    const stria_payload_t region{&layout, buffer.data(), 1, 0, 0};
    const auto key = lend(region, 1);
    ASSERT_EQ(get(out, key, 0), Status::ok);
    ASSERT_TRUE(std::equal(out.begin() + 16, out.end(), buffer.begin() + 20 + i)) << i;
    ASSERT_EQ(ops->invalidate(b.device(), &key), STRIA_OK);
  }
}

TEST_F(ShmRma, a_registration_that_finds_no_slot_keeps_no_layout_published) {
  Bytes buffer(60000);
  std::vector<stria_provider_key_t> keys;
  for (int i = 0; i < 64; ++i) keys.push_back(lend(memory(buffer.data(), 10), 1));
  for (std::int64_t i = 0; i < kLayoutSlots; ++i) {
    const auto layout = *datatype::Layout::strided(2, 20 + i, datatype::Layout::bytes(16));
    const stria_payload_t region{&layout, buffer.data(), 1, 0, 0};
    stria_provider_key_t key{};
    ASSERT_EQ(ops->fast_register(b.device(), nullptr, &region, 1, &key), STRIA_ERR_NO_RESOURCE);
  }
  ASSERT_EQ(ops->invalidate(b.device(), &keys[0]), STRIA_OK);
  const auto layout = *datatype::Layout::strided(2, 10000, datatype::Layout::bytes(16));
  lend({&layout, buffer.data(), 1, 0, 0}, 1);
}

TEST_F(ShmRma, a_layout_whose_descriptor_is_too_long_is_unsupported) {
  std::vector<std::int64_t> lengths, places;
  std::mt19937 random(4);
  for (std::int64_t i = 0; i < 5000; ++i)
    lengths.push_back(1 + random() % 50), places.push_back(i * 1000 + random() % 900);
  const auto layout = *datatype::Layout::indexed(lengths, places, datatype::Layout::bytes(1));
  const stria_payload_t region{&layout, nullptr, 1, 0, 0};
  stria_provider_key_t key{};
  EXPECT_EQ(ops->fast_register(b.device(), nullptr, &region, 1, &key), STRIA_ERR_UNSUPPORTED);
}

}  // namespace
}  // namespace stria::shm::test
