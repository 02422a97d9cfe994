// Strided keys as the provider makes, posts, ends and reads them, on a stand-in for an adapter that has them.
// No adapter has run this.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/datatype/random_type.hpp"
#include "tests/transport/verbs/strided_world.hpp"

namespace stria::verbs::test {
namespace {

using datatype::Layout;
using datatype::must;

TEST_F(StridedWorld, a_column_is_one_key_and_one_read) {
  open();
  Bytes memory = contract::pattern(1, kBytes);
  transport::Key key{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), key), Status::ok);
  const KeyData data = data_of(key);
  EXPECT_EQ(key.bytes, sizeof(KeyData));
  EXPECT_EQ(data.kind, KeyKind::strided);
  EXPECT_EQ(data.address, 0u);
  EXPECT_EQ(data.bytes, 200u * 24);
  EXPECT_TRUE(owner_adapter.posted.empty()) << "posted before there is a packet";
  announce();
  Bytes local(200 * 24);
  EXPECT_EQ(read(local, key), Status::ok);
  EXPECT_EQ(local, packed(column(), 1, memory.data()));
  ASSERT_EQ(count_of(reader_adapter.posted, IBV_WR_RDMA_READ), 1u);
  Bytes part(100);
  EXPECT_EQ(read(part, key, 50), Status::ok);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), local.begin() + 50));
  ASSERT_EQ(count_of(reader_adapter.posted, IBV_WR_RDMA_READ), 2u);
  EXPECT_EQ(reader_adapter.posted.back().remote, 50u) << "zero-based: an offset of the stream";
  EXPECT_EQ(reader_adapter.posted.back().rkey, data.rkey);
  EXPECT_EQ(owner->device->counters().strided_keys, 1u);
}

TEST_F(StridedWorld, the_key_goes_out_ahead_of_the_next_packet_at_its_doorbell_with_the_rights_asked_for) {
  open();
  Bytes memory(kBytes);
  transport::Key key{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), key), Status::ok);
  announce();
  ASSERT_EQ(owner_adapter.posted.size(), 2u);
  const Posted& filled = owner_adapter.posted[0];
  EXPECT_EQ(filled.opcode, IBV_WR_DRIVER1);
  EXPECT_EQ(owner_adapter.posted[1].opcode, IBV_WR_SEND);
  EXPECT_EQ(filled.doorbell, owner_adapter.posted[1].doorbell);
  EXPECT_EQ(filled.rkey, data_of(key).rkey);
  EXPECT_EQ(filled.rights, unsigned{IBV_ACCESS_REMOTE_READ});
  EXPECT_EQ(filled.repeat, 200u);
  ASSERT_EQ(filled.interleaved.size(), 1u);
  EXPECT_EQ(filled.interleaved[0].addr, reinterpret_cast<std::uint64_t>(memory.data()));
  EXPECT_EQ(filled.interleaved[0].bytes_count, 24u);
  EXPECT_EQ(filled.interleaved[0].bytes_skip, 976u);
  forget();
  ASSERT_EQ(make_key(column(), 1, memory.data(), key, STRIA_ACCESS_REMOTE_WRITE), Status::ok);
  announce();
  EXPECT_EQ(owner_adapter.posted.at(0).rights,
            unsigned{IBV_ACCESS_REMOTE_WRITE} | unsigned{IBV_ACCESS_LOCAL_WRITE});
}

TEST_F(StridedWorld, keys_and_windows_of_one_packet_go_out_together_in_the_order_they_were_asked_for) {
  open();
  Bytes memory(kBytes);
  std::array<transport::Key, 4> keys{};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i % 2 == 0)
      ASSERT_EQ(make_key(column(), 1, memory.data(), keys[i]), Status::ok);
    else
      ASSERT_EQ(make_key(Layout::bytes(kBytes), 1, memory.data(), keys[i]), Status::ok);
  }
  announce();
  ASSERT_EQ(owner_adapter.posted.size(), keys.size() + 1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(owner_adapter.posted[i].opcode, i % 2 == 0 ? IBV_WR_DRIVER1 : IBV_WR_BIND_MW);
    EXPECT_EQ(owner_adapter.posted[i].rkey, data_of(keys[i]).rkey);
    EXPECT_EQ(owner_adapter.posted[i].doorbell, owner_adapter.posted.back().doorbell);
    EXPECT_TRUE(owner_adapter.is_valid(data_of(keys[i]).rkey));
  }
}

TEST_F(StridedWorld, a_read_into_many_pieces_behind_a_new_key_goes_by_the_builder) {
  open();
  Bytes memory(kBytes), source(4000);
  const stria_payload_t whole = contract::contiguous(source);
  transport::Key theirs{}, ours{};
  ASSERT_EQ(reader->device->fast_register(reader->link, whole, STRIA_ACCESS_REMOTE_READ, theirs), Status::ok);
  ASSERT_EQ(reader->link->pio_send(contract::header(1), nullptr, 0), Status::ok);
  progress();
  ASSERT_EQ(make_key(column(), 1, memory.data(), ours), Status::ok);
  const Layout pieces = must(Layout::vector(10, 1, 1000, Layout::bytes(400)));
  Ending ending;
  EXPECT_EQ(owner->link->get({&pieces, memory.data(), 1, 0, 4000}, theirs, 0, &ending.base),
            Status::in_progress);
  progress();
  EXPECT_EQ(ending.status, Status::ok);
  EXPECT_EQ(owner_adapter.posted.at(0).opcode, IBV_WR_DRIVER1);
  EXPECT_EQ(owner_adapter.posted.at(1).pieces.size(), 10u);
  EXPECT_EQ(owner_adapter.posted.at(1).doorbell, owner_adapter.posted.at(0).doorbell);
}

TEST_F(StridedWorld, random_types_arrive_as_they_are_packed) {
  open("4096");
  const std::int64_t n = datatype::rounds(1500);
  std::int64_t strided = 0;
  for (std::int64_t round = 0; round < n; ++round) {
    datatype::Random random(datatype::seed_of(round));
    const auto type = datatype::random_type(random, static_cast<int>(random.in(1, 3)), 600);
    SCOPED_TRACE(testing::Message() << "seed " << datatype::seed_of(round) << "\n" << type.how);
    const std::int64_t count = random.in(1, 4);
    const auto reach = type.layout.reach(count);
    if (!reach || type.layout.size() == 0 || reach->high - reach->low > 1 << 20) continue;
    Bytes memory = contract::pattern(static_cast<std::uint64_t>(round),
                                     static_cast<std::size_t>(reach->high - reach->low));
    std::byte* const base = memory.data() - reach->low;
    transport::Key key{};
    if (make_key(type.layout, count, base, key) != Status::ok) continue;
    const bool is_strided = data_of(key).kind == KeyKind::strided;
    strided += is_strided ? 1 : 0;
    announce();
    Bytes local(static_cast<std::size_t>(type.layout.size() * count));
    forget();
    ASSERT_EQ(read(local, key), Status::ok);
    ASSERT_EQ(local, packed(type.layout, count, base));
    if (is_strided) {
      ASSERT_EQ(count_of(reader_adapter.posted, IBV_WR_RDMA_READ), 1u);
    }
    ASSERT_EQ(owner->device->invalidate(key), Status::ok);
  }
  EXPECT_GT(strided, n / 20) << "hardly any random type had a key of its own";
}

TEST_F(StridedWorld, a_write_reaches_the_bytes_of_the_layout_and_no_other) {
  open();
  Bytes memory(kBytes), before = memory;
  transport::Key key{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), key, STRIA_ACCESS_REMOTE_WRITE), Status::ok);
  announce();
  const Bytes content = contract::pattern(3, 200 * 24);
  EXPECT_EQ(write(content, key), Status::ok);
  for (std::size_t i = 0; i < 200 * 24; ++i) before[i / 24 * 1000 + i % 24] = content[i];
  EXPECT_EQ(memory, before);
}

// ---- the end of a key ------------------------------------------------------------------------------------

TEST_F(StridedWorld, the_last_message_of_the_reader_ends_the_key) {
  open();
  Bytes memory = contract::pattern(1, kBytes), local(200 * 24);
  transport::Key key{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), key), Status::ok);
  announce();
  forget();
  EXPECT_EQ(read_and_end(local, key), Status::ok);
  EXPECT_EQ(local, packed(column(), 1, memory.data()));
  ASSERT_EQ(reader_adapter.posted.size(), 2u);
  EXPECT_EQ(reader_adapter.posted[1].opcode, IBV_WR_SEND_WITH_INV);
  EXPECT_EQ(reader_adapter.posted[1].rkey, data_of(key).rkey);
  EXPECT_NE(reader_adapter.posted[1].flags & IBV_SEND_FENCE, 0u);
  EXPECT_EQ(owner->arrived.back(), 9);
  EXPECT_EQ(owner->device->counters().closed_by_peer, 1u);
  EXPECT_EQ(owner->device->keys().valid(), 0u);
  EXPECT_FALSE(owner_adapter.is_valid(data_of(key).rkey));
  EXPECT_EQ(owner->device->invalidate(key), Status::access_error) << "it ended before";
  EXPECT_EQ(owner->device->counters().closed_here, 0u);
  EXPECT_EQ(owner_adapter.keys_destroyed, 0u);
}

TEST_F(StridedWorld, a_message_without_a_read_ends_it_too) {
  open();
  Bytes memory(kBytes);
  transport::Key key{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), key), Status::ok);
  announce();
  ASSERT_EQ(reader->link->send_invalidate(contract::header(4), nullptr, 0, key), Status::ok);
  progress();
  EXPECT_EQ(owner->device->counters().closed_by_peer, 1u);
  EXPECT_EQ(owner->device->keys().valid(), 0u);
}

TEST_F(StridedWorld, the_owner_ends_it_by_a_work_request_and_a_late_read_is_refused) {
  open();
  Bytes memory(kBytes), local(200 * 24);
  transport::Key key{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), key), Status::ok);
  announce();
  forget();
  ASSERT_EQ(owner->device->invalidate(key), Status::ok);
  ASSERT_EQ(owner_adapter.posted.size(), 1u);
  EXPECT_EQ(owner_adapter.posted[0].opcode, IBV_WR_LOCAL_INV);
  EXPECT_EQ(owner_adapter.posted[0].rkey, data_of(key).rkey);
  EXPECT_EQ(owner->device->counters().closed_here, 1u);
  EXPECT_EQ(owner->device->keys().valid(), 0u);
  EXPECT_EQ(read(local, key), Status::access_error);
  EXPECT_EQ(local, Bytes(200 * 24));
}

TEST_F(StridedWorld, one_that_never_went_out_costs_nothing) {
  open();
  Bytes memory(kBytes);
  transport::Key key{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), key), Status::ok);
  ASSERT_EQ(owner->device->invalidate(key), Status::ok);
  announce();
  ASSERT_EQ(owner_adapter.posted.size(), 1u) << "the packet alone";
  EXPECT_EQ(owner_adapter.posted[0].opcode, IBV_WR_SEND);
  EXPECT_EQ(owner->device->keys().valid(), 0u);
  EXPECT_EQ(owner_adapter.keys_destroyed, 0u);
}

TEST_F(StridedWorld, a_link_that_dies_takes_its_keys_with_it) {
  open();
  Bytes memory(kBytes);
  transport::Key out{}, kept{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), out), Status::ok);
  announce();
  ASSERT_EQ(make_key(column(), 1, memory.data(), kept), Status::ok);
  owner->link->broken = true;
  owner->device->ends().fail(*owner->link, Status::peer_failed, "");
  transport::Key late{};
  EXPECT_EQ(make_key(column(), 1, memory.data(), late), Status::peer_failed);
  for (int i = 0; i < 50 && owner->downs == 0; ++i) owner->device->progress(64);
  ASSERT_EQ(owner->downs, 1);
  EXPECT_EQ(owner->device->keys().valid(), 0u);
  EXPECT_EQ(owner_adapter.keys_destroyed, 1u) << "the one that was posted; the other never was";
  EXPECT_FALSE(owner_adapter.is_valid(data_of(out).rkey));
  EXPECT_EQ(owner->device->invalidate(out), Status::access_error);
  owner->device.reset();
  EXPECT_EQ(owner_adapter.keys_made, owner_adapter.keys_destroyed);
}

// ---- the pool --------------------------------------------------------------------------------------------

TEST_F(StridedWorld, keys_are_used_again_each_time_with_another_consumer_key) {
  open();
  Bytes memory(kBytes);
  std::uint32_t last = 0;
  std::vector<std::uint32_t> seen;
  for (int use = 0; use < 200; ++use) {
    transport::Key key{};
    ASSERT_EQ(make_key(column(), 1, memory.data(), key), Status::ok);
    const std::uint32_t rkey = data_of(key).rkey;
    if (use > 0) {
      EXPECT_EQ(rkey >> 8, last >> 8) << "another key";
      EXPECT_EQ(std::count(seen.begin(), seen.end(), rkey), 0) << "the key of an earlier use is valid again";
    }
    announce();
    Bytes local(200 * 24);
    if (use % 2 == 0)
      ASSERT_EQ(read_and_end(local, key), Status::ok);
    else
      ASSERT_EQ(owner->device->invalidate(key), Status::ok);
    last = rkey;
    seen.push_back(rkey);
  }
  EXPECT_EQ(owner_adapter.keys_made, 1u);
}

TEST_F(StridedWorld, no_more_keys_are_valid_at_a_time_than_the_setting_allows) {
  open("8");
  Bytes memory(kBytes);
  std::array<transport::Key, 8> keys{};
  for (auto& key : keys) {
    ASSERT_EQ(make_key(column(), 1, memory.data(), key), Status::ok);
    EXPECT_EQ(data_of(key).kind, KeyKind::strided);
    announce();
  }
  transport::Key more{};
  EXPECT_NE(make_key(column(), 1, memory.data(), more), Status::ok);
  EXPECT_EQ(make_key(Layout::bytes(100), 1, memory.data(), more), Status::no_resource);
  EXPECT_EQ(owner_adapter.keys_made, 8u);
  ASSERT_EQ(owner->device->invalidate(keys[1]), Status::ok);
  EXPECT_EQ(make_key(column(), 1, memory.data(), more), Status::ok);
  EXPECT_EQ(data_of(more).kind, KeyKind::strided);
  EXPECT_EQ(owner_adapter.keys_made, 8u);
}

TEST_F(StridedWorld, when_the_adapter_makes_no_more_blocks_are_read_one_by_one_as_without) {
  open("64", 1);
  Bytes memory = contract::pattern(1, kBytes), local(200 * 24);
  transport::Key first{}, second{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), first), Status::ok);
  ASSERT_EQ(make_key(column(), 1, memory.data(), second), Status::ok);
  EXPECT_EQ(data_of(first).kind, KeyKind::strided);
  EXPECT_EQ(data_of(second).kind, KeyKind::window);
  announce();
  EXPECT_EQ(read(local, second), Status::ok);
  EXPECT_EQ(local, packed(column(), 1, memory.data()));
  EXPECT_EQ(count_of(reader_adapter.posted, IBV_WR_RDMA_READ), 200u);
}

TEST_F(StridedWorld, a_window_tells_nobody_where_the_memory_lies) {
  open("64", 0);
  Bytes memory = contract::pattern(1, kBytes), local(200 * 24);
  // Blocks one behind the other, and from the last one down.
  constexpr std::int64_t kStride = 1000;
  for (const std::int64_t by : {kStride, -kStride}) {
    const Layout layout = *Layout::vector(200, 1, by, Layout::bytes(24));
    std::byte* const base = memory.data() + (by < 0 ? 199 * kStride : 0);
    transport::Key key{};
    ASSERT_EQ(make_key(layout, 1, base, key), Status::ok);
    EXPECT_EQ(data_of(key).kind, KeyKind::window);
    EXPECT_EQ(data_of(key).address, by < 0 ? std::uint64_t{199 * kStride} : 0u);
    announce();
    EXPECT_EQ(read(local, key), Status::ok);
    EXPECT_EQ(local, packed(layout, 1, base));
    EXPECT_EQ(owner->device->invalidate(key), Status::ok);
  }
}

TEST_F(StridedWorld, memory_longer_than_a_window_has_no_key) {
  open("64", 0);
  std::byte somewhere{};  // nobody touches the memory
  const std::int64_t most = std::int64_t{1} << 31;
  transport::Key key{};
  EXPECT_EQ(make_key(Layout::bytes(most + 1), 1, &somewhere, key), Status::unsupported);
  EXPECT_EQ(make_key(Layout::bytes(most), 1, &somewhere, key), Status::ok);
  announce();
  EXPECT_EQ(owner_adapter.posted.at(0).opcode, IBV_WR_BIND_MW);
  EXPECT_EQ(owner_adapter.posted.at(0).bind.length, static_cast<std::uint64_t>(most));
}

}  // namespace
}  // namespace stria::verbs::test
