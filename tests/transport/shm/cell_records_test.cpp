// Records that name cells, as they should and as they should not.
#include <fstream>
#include <string>

#include "hw/pio.hpp"
#include "tests/transport/shm/inside.hpp"
#include "transport/shm/cell_plan.hpp"
#include "transport/shm/cells.hpp"
#include "transport/shm/growing.hpp"
#include "transport/shm/window.hpp"

namespace stria::shm::test {
namespace {

#if defined(MADV_POPULATE_READ)
/// Bytes of memfds that this process's mappings have pages for.
std::size_t mapped_pages() {
  std::ifstream maps("/proc/self/smaps");
  std::size_t out = 0;
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    const std::string first = line.substr(0, line.find(' '));
    if (first.find('-') != std::string::npos) ours = line.find("memfd:") != std::string::npos;
    if (ours && first == "Rss:") out += std::stoul(line.substr(4)) << 10;
  }
  return out;
}

TEST(ShmCells, the_pages_of_a_part_come_together_in_the_receivers_mapping_too) {
  Node a(1), b(2);
  stria_link_t* link = a.connect(b);
  const auto send = [&](int messages) {
    for (int i = 0; i < messages; ++i) {
      const std::size_t before = b.got.size();
      ASSERT_EQ(a.eager(link, header(1), pattern(1, 5000)), Status::ok);
      ASSERT_TRUE(until([&] { return b.got.size() > before; }, [&] { b.progress(); }));
    }
  };
  // The lower half of one cell, 16 KiB, in the sender's mapping and in the receiver's, and what else the
  // first message touches.
  const std::size_t before = mapped_pages();
  send(1);
  const std::size_t after = mapped_pages();
  EXPECT_GE(after - before, std::size_t{72} << 10) << before;
  EXPECT_LE(after - before, std::size_t{96} << 10) << before;
  send(3);
  EXPECT_LE(mapped_pages() - after, std::size_t{12} << 10) << after;
}
#endif

// The way that spares the delivery is taken, whatever a message's length.
TEST(ShmCells, a_payload_is_taken_out_of_its_cell) {
  for (const char* strings : {"auto", "on", "off"}) {
    Node a(1, {{"STRIA_SHM_STRINGS", strings}}), b(2);
    stria_link_t* link = a.connect(b);
    ASSERT_EQ(a.eager(link, header(0), {}), Status::ok);
    ASSERT_TRUE(until([&] { return b.got.size() == 1; }, [&] { b.progress(); }));
    for (std::uint64_t i = 1; i < 400; ++i) {
      const std::size_t sizes[] = {3073, 4096, 4097, 12287, 12288, 16383, 16384, 32768, 32769, 262144};
      const Bytes data = pattern(i, sizes[i % std::size(sizes)]);
      ASSERT_EQ(a.eager(link, header(i, 5), data), Status::ok) << i;
      Bytes memory(data.size());
      stria_header_t wanted = header(i);
      ASSERT_EQ(
          Node::ops().take(b.ups.at(1), &wanted, memory.data(), static_cast<std::uint32_t>(memory.size())),
          static_cast<std::int32_t>(data.size()));
      ASSERT_EQ(memory, data) << i << ", strings " << strings;
      EXPECT_EQ(wanted.immediate, 5u);
      b.progress();
    }
  }
}

TEST(ShmCells, long_payloads_to_a_far_peer_grow_in_longer_steps) {
  for (const bool far : {false, true}) {
    const Settings settings = {{"STRIA_SHM_DISTANCE", far ? "far" : "near"}};
    Node a(1, settings), b(2, settings);
    stria_link_t* link = a.connect(b);
    ASSERT_NE(link, nullptr) << a.error;
    b.progress();  // it sees us
    const auto hub = map_hub(b.address());
    ASSERT_TRUE(hub);
    const SegmentView segment = view(*hub);
    const std::byte* window = segment.window(segment.peer(slot_of(segment, 1)).window);
    // Of the record that names a payload of so many bytes; 0: there is none.
    const auto step_of = [&](std::uint32_t bytes) {
      a.progress();  // it is not part of a stream
      EXPECT_EQ(a.eager(link, header(bytes), pattern(bytes, bytes)), Status::ok);
      for (std::uint32_t at = 0; at < segment.shape().window_bytes; at += kLine / 2) {
        const std::uint64_t control = hw::load_word(window + at);
        if (control_bytes(control) == bytes && control_kind(control) == RecordKind::growing)
          return control_step(control);
      }
      return 0u;
    };
    EXPECT_EQ(step_of(kFarStepLeast - 1), kLongStep);
    EXPECT_EQ(step_of(kFarStepLeast), far ? kFarStep : kLongStep);
    ASSERT_TRUE(until([&] { return b.got.size() == 2; }, [&] { b.progress(); }));
    EXPECT_EQ(b.got.back().payload, pattern(kFarStepLeast, kFarStepLeast));
    EXPECT_EQ(b.got.back().is_near, !far) << "who copies it out chooses by that";
    for (std::uint32_t i = 0; i < 8; ++i)  // in a row they are written whole
      ASSERT_EQ(a.eager(link, header(i), pattern(i, kFarStepLeast - 1)), Status::ok);
    ASSERT_TRUE(until([&] { return b.got.size() == 10; }, [&] { b.progress(); }));
    EXPECT_FALSE(b.got.back().grows);
    EXPECT_EQ(b.got.back().is_near, !far);
  }
}

TEST(ShmCells, as_many_ordinary_ones_as_there_may_be_leave_no_room_for_long_ones) {
  Node many(1, {{"STRIA_SHM_CELLS", "65536"}, {"STRIA_SHM_CELL_BYTES", "4096"}}), peer(2);
  ASSERT_EQ(many.opened, Status::ok) << many.error;
  stria_link_t* link = many.connect(peer);
  ASSERT_NE(link, nullptr) << many.error;
  EXPECT_EQ(many.limits(link).eager_max, 4096u);
  ASSERT_EQ(many.eager(link, header(1), pattern(1, 4096)), Status::ok);
  ASSERT_TRUE(until([&] { return peer.got.size() == 1; }, [&] { peer.progress(); }));
  EXPECT_EQ(peer.got.front().payload, pattern(1, 4096));
}

TEST(ShmCells, a_record_that_names_memory_outside_of_the_cells_ends_the_link) {
  struct Forged {
    std::uint32_t bytes;
    CellPlace place;
  };
  const Forged made_up[] = {{1, {144, 0, 1}},       {1, {65535, 0, 1}},   {32769, {0, 0, 1}},
                            {64, {0, 32768, 1}},    {32768, {3, 64, 1}},  {262145, {128, 0, 1}},
                            {262144, {143, 64, 1}}, {1, {0, 1 << 20, 1}}, {1, {143, (1u << 24) - 64, 1}}};
  for (const std::uint64_t kind : {make_control(RecordKind::cell, 0),
                                   make_control(RecordKind::packet_cell, 0), make_growing(0, kLine)}) {
    for (const Forged& forged : made_up) {
      Visitor visitor(
          2, [=](const Visit& visit) { return forge(visit, kind | forged.bytes, forged.place.word()); });
      Node hub(1);
      visitor.connect_to(hub);
      ASSERT_TRUE(until([&] { return hub.ups.count(2) > 0; }, [&] { hub.progress(); }));
      visitor.act();
      Bytes memory(300000);
      stria_header_t wanted = header(7);
      EXPECT_LT(Node::ops().take(hub.ups.at(2), &wanted, memory.data(), 300000), 0);
      ASSERT_TRUE(until([&] { return hub.downs.count(2) > 0; }, [&] { hub.progress(), hub.check(); }))
          << "cell " << forged.place.cell << " at " << forged.place.at << ", " << forged.bytes << " bytes";
      EXPECT_EQ(hub.downs[2], Status::io_error);
      EXPECT_TRUE(hub.got.empty());
    }
  }
}

TEST(ShmCells, a_growing_record_whose_step_makes_no_sense_ends_the_link) {
  for (const std::uint64_t control :
       {make_growing(5000, 0), make_growing(4096, 4096), make_growing(64, 4096), make_growing(0, 64)}) {
    Visitor visitor(2, [=](const Visit& visit) { return forge(visit, control, CellPlace{0, 0, 1}.word()); });
    Node hub(1);
    visitor.connect_to(hub);
    ASSERT_TRUE(until([&] { return hub.ups.count(2) > 0; }, [&] { hub.progress(); }));
    visitor.act();
    Bytes memory(5000);
    stria_header_t wanted = header(7);
    EXPECT_LT(Node::ops().take(hub.ups.at(2), &wanted, memory.data(), 5000), 0);
    ASSERT_TRUE(until([&] { return hub.downs.count(2) > 0; }, [&] { hub.progress(), hub.check(); }));
    EXPECT_EQ(hub.downs[2], Status::io_error);
    EXPECT_TRUE(hub.got.empty());
  }
}

}  // namespace
}  // namespace stria::shm::test
