// Storms of resets over packets of short blocks, which are packed in parts, and placed into blocks of other
// lengths.
#include <map>
#include <memory>
#include <random>

#include "datatype/layout.hpp"
#include "tests/rounds.hpp"
#include "tests/transport/tcp/reset_rig.hpp"
#include "transport/payload.hpp"

namespace stria::tcp {
namespace {

using contract::Bytes;
using datatype::Layout;
using TcpResetPlaces = WithResets;

/// Memory in blocks of `block` bytes, `gap` bytes apart; in one run if block is 0.
struct Blocks {
  std::unique_ptr<Layout> layout;
  Bytes memory;
  std::int64_t count = 0;  // of blocks, each an instance
  void make(std::mt19937& random, std::int64_t bytes) {
    std::int64_t block = random() % 4 == 0 ? 0 : 1 + random() % (random() % 4 == 0 ? 1500 : 40);
    if (block == 0 || bytes == 0) {
      memory.resize(static_cast<std::size_t>(bytes));
      return;
    }
    const std::int64_t gap = random() % 50;
    count = (bytes + block - 1) / block;
    layout = std::make_unique<Layout>(*Layout::vector(count, 1, block + gap, Layout::bytes(block)));
    memory.resize(static_cast<std::size_t>(layout->extent()));
  }
  stria_payload_t payload(std::int64_t bytes) {
    if (layout == nullptr) return {nullptr, memory.data(), bytes, 0, bytes};
    return {layout.get(), memory.data(), 1, 0, bytes};
  }
};

TEST_F(TcpResetPlaces, packets_of_short_blocks_are_whole) {
  const auto seed = static_cast<unsigned>(test::from_environment("STRIA_TEST_SEED", 1));
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  ResetPair two;
  struct Half {
    Peer* peer;
    stria_link_t* link;
    std::uint64_t sent = 0, checked = 0;
    std::map<std::uint64_t, Blocks> rooms;  // by the packet's number
    std::map<std::uint64_t, Bytes> before;
  };
  Half halves[2] = {{&two.a, two.to_b, 0, 0, {}, {}}, {&two.b, two.to_a, 0, 0, {}, {}}};
  const auto size_of = [](std::uint64_t number) -> std::int64_t {
    return static_cast<std::int64_t>(number % 3 != 0 ? (number * 7919) % 65536 : (number * 31) % 900);
  };
  std::uint64_t placed = 0, resets = 0, full = 0;
  for (Half& half : halves) {
    half.peer->places = [&](const stria_header_t& header, std::uint32_t bytes, stria_payload_t& place) {
      EXPECT_EQ(bytes, size_of(header.tag));
      if (random() % 8 == 0) return false;
      Blocks& room = half.rooms[header.tag];
      room.make(random, bytes);
      room.memory = contract::pattern(random(), room.memory.size());
      half.before[header.tag] = room.memory;
      place = room.payload(bytes);
      return true;
    };
  }
  const auto check = [&] {
    for (Half& half : halves) {
      for (; !half.peer->received.empty(); half.peer->received.pop_front(), ++half.checked) {
        const auto& got = half.peer->received.front();
        ASSERT_EQ(got.header.tag, half.checked);
        const std::int64_t bytes = size_of(half.checked);
        const Bytes stream = contract::pattern(half.checked, static_cast<std::size_t>(bytes));
        if (!got.placed) {
          ASSERT_TRUE(got.payload == stream);
          continue;
        }
        ++placed;
        Blocks& room = half.rooms[half.checked];
        Bytes got_memory = std::move(room.memory);
        room.memory = std::move(half.before[half.checked]);
        transport::unpack(room.payload(bytes), stream.data());
        ASSERT_TRUE(got_memory == room.memory) << half.checked << ", " << bytes;
        half.rooms.erase(half.checked);
        half.before.erase(half.checked);
      }
    }
    ASSERT_TRUE(two.is_whole());
  };
  for (std::int64_t left = test::rounds(6000); left > 0 && !HasFatalFailure(); --left) {
    Half& half = halves[random() % 2];
    const std::int64_t bytes = size_of(half.sent);
    Blocks source;
    source.make(random, bytes);
    stria_payload_t payload = source.payload(bytes);
    transport::unpack(payload, contract::pattern(half.sent, static_cast<std::size_t>(bytes)).data());
    // Now and then the other side does not read until the system is full.
    const int burst = random() % 100 == 0 ? 200 : 1;
    for (int i = 0; i < burst; ++i) {
      const Status sent = half.peer->try_send(
          half.link, contract::header(static_cast<std::uint16_t>(half.sent), half.sent), payload);
      if (sent == Status::no_resource) ++full;
      if (sent != Status::ok) break;
      ++half.sent;
      std::fill(source.memory.begin(), source.memory.end(), std::byte{0x66});
      if (i + 1 == burst) break;
      const std::int64_t next = size_of(half.sent);
      source = {};
      source.make(random, next);
      payload = source.payload(next);
      transport::unpack(payload, contract::pattern(half.sent, static_cast<std::size_t>(next)).data());
    }
    if (random() % 3 == 0) half.peer->progress(1 + random() % 64);
    if (random() % 100 == 0) {
      const auto all = connections_of_this_process();
      const unsigned how = random() % 4;
      for (const int fd : all)
        if (how == 0 || random() % all.size() == 0) resets += reset_connection(fd) == 0;
    }
    if (random() % 16 == 0) check();
  }
  EXPECT_TRUE(two.run([&] {
    check();
    return HasFatalFailure() || (halves[0].checked == halves[1].sent && halves[1].checked == halves[0].sent);
  }));
  EXPECT_EQ(halves[0].checked, halves[1].sent);
  EXPECT_EQ(halves[1].checked, halves[0].sent);
  EXPECT_GT(placed, 0u);
  RecordProperty("placed", std::to_string(placed));
  RecordProperty("resets", std::to_string(resets));
  RecordProperty("full", std::to_string(full));
}

}  // namespace
}  // namespace stria::tcp
