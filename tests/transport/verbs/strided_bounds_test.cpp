// Which memory has a strided key, what is said of that, and what a peer may say of one.
#include <cstring>

#include "tests/transport/verbs/strided_world.hpp"

namespace stria::verbs::test {
namespace {

using datatype::Layout;
using datatype::must;

TEST_F(StridedWorld, what_is_one_run_has_a_window) {
  open();
  Bytes memory(kBytes);
  transport::Key key{};
  ASSERT_EQ(make_key(Layout::bytes(1000), 1, memory.data(), key), Status::ok);
  EXPECT_EQ(data_of(key).kind, KeyKind::window);
  ASSERT_EQ(make_key(must(Layout::contiguous(10, Layout::bytes(8))), 5, memory.data(), key), Status::ok);
  EXPECT_EQ(data_of(key).kind, KeyKind::window);
}

TEST_F(StridedWorld, irregular_memory_is_a_list_as_long_as_a_key_holds) {
  open();
  Bytes memory = contract::pattern(1, kBytes);
  std::vector<std::int64_t> lengths, places;
  for (std::int64_t i = 0; i < 16; ++i) {
    lengths.push_back(i + 1);
    places.push_back(i * i * 700);
  }
  const Layout sixteen = must(Layout::indexed(lengths, places, Layout::bytes(1)));
  transport::Key key{};
  ASSERT_EQ(make_key(sixteen, 1, memory.data(), key), Status::ok);
  EXPECT_EQ(data_of(key).kind, KeyKind::strided);
  announce();
  EXPECT_EQ(owner_adapter.posted.at(0).repeat, 0u);
  EXPECT_EQ(owner_adapter.posted.at(0).interleaved.size(), 16u);
  Bytes local(static_cast<std::size_t>(sixteen.size()));
  EXPECT_EQ(read(local, key), Status::ok);
  EXPECT_EQ(local, packed(sixteen, 1, memory.data()));
  lengths.push_back(1);
  places.push_back(190000);
  EXPECT_EQ(make_key(must(Layout::indexed(lengths, places, Layout::bytes(1))), 1, memory.data(), key),
            Status::unsupported)
      << "to be packed";
}

TEST_F(StridedWorld, what_no_key_takes_has_blocks_as_without_or_nothing_where_one_run_was_asked_for) {
  open();
  Bytes memory(50 * 70000);
  const Layout wide = must(Layout::vector(50, 1, 70000, Layout::bytes(8192)));
  transport::Key key{};
  ASSERT_EQ(make_key(wide, 1, memory.data(), key), Status::ok);
  EXPECT_EQ(data_of(key).kind, KeyKind::window);
  EXPECT_EQ(key.bytes, sizeof(KeyData) + sizeof(KeyStride));
  constexpr unsigned kGathered = STRIA_ACCESS_REMOTE_READ | STRIA_REGISTER_GATHERED;
  EXPECT_EQ(make_key(wide, 1, memory.data(), key, kGathered), Status::unsupported);
  EXPECT_EQ(make_key(column(), 1, memory.data(), key, kGathered), Status::ok);
  EXPECT_EQ(data_of(key).kind, KeyKind::strided);
  EXPECT_EQ(data_of(key).access, STRIA_ACCESS_REMOTE_READ);
  EXPECT_EQ(make_key(Layout::bytes(8), 1, memory.data(), key, kGathered), Status::ok);
}

TEST_F(StridedWorld, a_key_for_all_links_is_never_one_as_it_is_filled_on_a_link) {
  open();
  Bytes memory(kBytes);
  const Layout layout = must(Layout::vector(20, 1, 8192, Layout::bytes(4096)));
  transport::Key key{};
  ASSERT_EQ(owner->device->fast_register(nullptr, {&layout, memory.data(), 1, 0, layout.size()},
                                         STRIA_ACCESS_REMOTE_READ, key),
            Status::ok);
  EXPECT_EQ(data_of(key).kind, KeyKind::region);
  EXPECT_EQ(owner->device->invalidate(key), Status::ok);
}

TEST_F(StridedWorld, memory_that_is_mostly_gaps_is_not_registered_whole) {
  open();
  Bytes memory(100 * 60000);
  transport::Key key{};
  EXPECT_EQ(make_key(must(Layout::vector(100, 1, 60000, Layout::bytes(8))), 1, memory.data(), key),
            Status::unsupported);
  EXPECT_EQ(owner->device->counters().registrations, 0u);
}

// ---- what is said of it ----------------------------------------------------------------------------------

TEST_F(StridedWorld, is_stated_where_it_is_so_and_nowhere_else) {
  open();
  transport::Capabilities can{};
  transport::LinkLimits limits{};
  owner->device->capabilities(can);
  EXPECT_NE(can.flags & STRIA_CAP_COMPOSITE, 0u);
  owner->link->limits(limits);
  EXPECT_EQ(limits.gathers, 1u);
  EXPECT_NE(std::string(limits.path).find("strided keys"), std::string::npos);
  reader->device->capabilities(can);
  EXPECT_EQ(can.flags & STRIA_CAP_COMPOSITE, 0u);
  reader->link->limits(limits);
  EXPECT_EQ(limits.gathers, 0u);
  EXPECT_EQ(std::string(limits.path).find("strided keys"), std::string::npos);
}

TEST(StridedAdapter, entries_are_those_that_its_queue_pairs_have_room_for) {
  StandIn stand_in;
  auto adapter = stand_in.adapter();
  ASSERT_TRUE(adapter->use_strided_keys(StandIn::library()));
  EXPECT_EQ(adapter->traits.strided.list.entries, 16u);
  EXPECT_EQ(adapter->traits.strided.interleaved.entries, 15u);
  EXPECT_EQ(stand_in.keys_made, stand_in.keys_destroyed) << "the one that was tried stays";
}

TEST(StridedAdapter, is_as_before_where_one_thing_is_missing) {
  const auto has_none = [](StandIn& stand_in, const hw::StridedLibrary& library, auto change) {
    auto adapter = stand_in.adapter();
    change(adapter->traits);
    return !adapter->use_strided_keys(library) && !adapter->strided && adapter->traits.strided.entries == 0;
  };
  const auto nothing = [](hw::VerbsTraits&) {};
  {
    StandIn other(false);
    EXPECT_TRUE(has_none(other, StandIn::library(), nothing)) << "a device of another library";
  }
  {
    StandIn old;
    old.most_keys = 0;
    EXPECT_TRUE(has_none(old, StandIn::library(), nothing)) << "a kernel that makes no such key";
    EXPECT_EQ(old.misuse, "");
  }
  {
    StandIn refuses;
    hw::StridedLibrary library = StandIn::library();
    library.create_qp = [](ibv_context*, ibv_qp_init_attr_ex*, mlx5dv_qp_init_attr*) -> ibv_qp* {
      return nullptr;
    };
    EXPECT_TRUE(has_none(refuses, library, nothing)) << "no queue pair that fills them";
    EXPECT_EQ(refuses.keys_made, 0u);
  }
  {
    StandIn bare;
    EXPECT_TRUE(has_none(bare, StandIn::library(), [](hw::VerbsTraits& traits) { traits.max_windows = 0; }));
    EXPECT_TRUE(
        has_none(bare, StandIn::library(), [](hw::VerbsTraits& traits) { traits.send_invalidate = false; }));
  }
}

// ---- a peer's words --------------------------------------------------------------------------------------

TEST_F(StridedWorld, bytes_of_keys_are_read_back_and_hostile_ones_refused) {
  const KeyData good{0x1234, kKeyMark, KeyKind::strided, STRIA_ACCESS_REMOTE_READ, 0, 4800};
  KeyContent content;
  ASSERT_TRUE(read_key(key_of(good), content));
  EXPECT_EQ(content.kind, KeyKind::strided);
  EXPECT_EQ(run_at(content.memory, 100).begin, 100u);
  EXPECT_EQ(run_at(content.memory, 100).bytes, 4700u);
  const auto with = [&](auto change) {
    KeyData data = good;
    change(data);
    return read_key(key_of(data), content);
  };
  EXPECT_FALSE(with([](KeyData& d) { d.address = 1; })) << "it counts from 0";
  EXPECT_FALSE(with([](KeyData& d) { d.address = ~std::uint64_t{0}; }));
  EXPECT_FALSE(with([](KeyData& d) { d.bytes = 0; }));
  EXPECT_FALSE(with([](KeyData& d) { d.kind = KeyKind{4}; }));
  EXPECT_FALSE(with([](KeyData& d) { d.kind = KeyKind{0}; }));
  EXPECT_FALSE(with([](KeyData& d) { d.access = 0x80; }));
  EXPECT_TRUE(with([](KeyData& d) { d.bytes = ~std::uint64_t{0}; })) << "the owner's adapter knows better";
  transport::Key longer = key_of(good);
  const KeyStride blocks{100, {200, 0}};
  std::memcpy(longer.data + sizeof good, &blocks, sizeof blocks);
  longer.bytes += sizeof blocks;
  EXPECT_FALSE(read_key(longer, content)) << "one run has no blocks";
}

TEST_F(StridedWorld, reads_beyond_it_or_without_the_right_are_refused_before_the_adapter_is_asked) {
  open();
  Bytes memory(kBytes), local(200 * 24 + 1);
  transport::Key key{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), key), Status::ok);
  announce();
  forget();
  EXPECT_EQ(read(local, key), Status::access_error);
  local.resize(10);
  EXPECT_EQ(read(local, key, 200 * 24 - 9), Status::access_error);
  EXPECT_EQ(read(local, key, ~std::uint64_t{0} - 5), Status::access_error);
  EXPECT_EQ(write(local, key), Status::access_error);
  EXPECT_TRUE(reader_adapter.posted.empty());
  // One that says more than there is ends the connection at the owner's adapter, and shows nothing.
  KeyData lie = data_of(key);
  lie.bytes = 1 << 20;
  EXPECT_EQ(read(local, key_of(lie), 200 * 24 - 5), Status::access_error);
}

TEST_F(StridedWorld, the_owner_takes_no_word_but_its_own_for_which_key_is_ended) {
  open();
  Bytes memory(kBytes);
  transport::Key strided{}, window{};
  ASSERT_EQ(make_key(column(), 1, memory.data(), strided), Status::ok);
  ASSERT_EQ(make_key(Layout::bytes(4800), 1, memory.data(), window), Status::ok);
  announce();
  KeyData data = data_of(strided);
  data.bytes += 1;
  EXPECT_EQ(owner->device->invalidate(key_of(data)), Status::access_error);
  data = data_of(strided);
  data.kind = KeyKind::window;
  EXPECT_EQ(owner->device->invalidate(key_of(data)), Status::access_error) << "of another kind";
  data = data_of(strided);
  data.rkey ^= 1;
  EXPECT_EQ(owner->device->invalidate(key_of(data)), Status::access_error) << "of another use";
  data = data_of(window);
  data.kind = KeyKind::strided;
  data.address = 0;
  EXPECT_EQ(owner->device->invalidate(key_of(data)), Status::access_error);
  EXPECT_EQ(owner->device->keys().valid(), 2u);
  EXPECT_EQ(owner->device->invalidate(strided), Status::ok);
  EXPECT_EQ(owner->device->invalidate(window), Status::ok);
}

}  // namespace
}  // namespace stria::verbs::test
