// Placing: a provider that reads a header before its payload asks the sink where the payload is to go. It
// writes there and nowhere else, tells when all of it is there, and lets go of the memory with the link.
#include <algorithm>

#include "datatype/layout.hpp"
#include "tests/contract/subject.hpp"
#include "transport/payload.hpp"

namespace stria::contract {
namespace {

constexpr std::byte kUntouched{0xa5};

class PlacingContract : public Contract {
 protected:
  PlacingContract() : a(open(1)), b(open(2)), link(a->connect(*b)), bytes(a->limits(link).eager_max) {}
  bool can() const { return b->has(STRIA_CAP_PLACES); }
  /// Sends message i, by both ways of sending in turn where there are two.
  void send(std::uint16_t i) {
    memory.push_back(pattern(i, bytes));
    const Bytes& data = memory.back();
    Status answer = Status::unsupported;
    if (i % 2 == 0 && a->limits(link).zcopy_max >= data.size()) {
      drive({a.get(), b.get()}, [&] {
        answer = a->zcopy_send(link, header(i), contiguous(data), ending);
        return answer != Status::no_resource;
      });
    }
    if (answer == Status::unsupported)
      answer = contract::send({a.get(), b.get()}, *a, link, Path::buffered, header(i), data);
    ASSERT_TRUE(answer == Status::ok || answer == Status::in_progress);
  }
  std::unique_ptr<Peer> a, b;
  stria_link_t* link;
  std::size_t bytes;
  std::deque<Bytes> memory;
  Ending ending;
};

TEST_P(PlacingContract, a_payload_goes_where_the_sink_says_and_keeps_its_turn) {
  if (!can()) GTEST_SKIP() << lacks("placing");
  const std::uint16_t count = packets(40);
  constexpr std::size_t kGuard = 64;
  std::vector<Bytes> rooms(count);
  b->places = [&](const stria_header_t& header, std::uint32_t length, stria_payload_t& place) {
    Bytes& room = rooms[header.sequence];
    EXPECT_TRUE(room.empty()) << "asked twice for one packet";
    EXPECT_EQ(length, bytes);
    room.assign(length + 2 * kGuard, kUntouched);
    if (header.sequence % 4 == 3) return false;
    place = contiguous(room.data() + kGuard, length);
    return true;
  };
  for (std::uint16_t i = 0; i < count; ++i) send(i);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == count; }));
  unsigned placed = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    const Received& got = b->received[i];
    ASSERT_EQ(got.header.sequence, i) << "out of its turn";
    const Bytes& room = rooms[i];
    if (!got.placed) {
      EXPECT_EQ(got.payload, memory[i]);
      EXPECT_EQ(std::count(room.begin(), room.end(), kUntouched), static_cast<std::ptrdiff_t>(room.size()));
      continue;
    }
    ++placed;
    EXPECT_TRUE(std::equal(memory[i].begin(), memory[i].end(), room.begin() + kGuard)) << i;
    EXPECT_EQ(std::count(room.begin(), room.begin() + kGuard, kUntouched), std::ptrdiff_t{kGuard});
    EXPECT_EQ(std::count(room.end() - kGuard, room.end(), kUntouched), std::ptrdiff_t{kGuard});
  }
  EXPECT_GT(placed, 0u) << "the sink was never asked";
}

TEST_P(PlacingContract, a_payload_goes_into_a_layout) {
  if (!can()) GTEST_SKIP() << lacks("placing");
  const auto block = static_cast<std::int64_t>(bytes / 4);
  const datatype::Layout layout = *datatype::Layout::vector(5, 1, 2 * block, datatype::Layout::bytes(block));
  Bytes room;
  b->places = [&](const stria_header_t&, std::uint32_t length, stria_payload_t& place) {
    room.assign(static_cast<std::size_t>(layout.extent()), kUntouched);
    place = {&layout, room.data(), 1, block / 3, length};  // from within the first block into the last
    return true;
  };
  for (std::uint16_t i = 0; i < packets(40); ++i) {
    send(i);
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
    if (b->received.front().placed) {
      Bytes wanted(room.size(), kUntouched);
      transport::unpack({&layout, wanted.data(), 1, block / 3, static_cast<std::int64_t>(bytes)},
                        memory.back().data());
      EXPECT_EQ(room, wanted);
    }
    b->received.clear();
  }
}

TEST_P(PlacingContract, nothing_is_placed_once_the_link_is_down_or_the_device_closed) {
  if (!can()) GTEST_SKIP() << lacks("placing");
  for (const bool closes : {false, true}) {
    // A link that is not up yet takes no packet.
    ASSERT_EQ(contract::send({a.get(), b.get()}, *a, link, Path::buffered, header(0), pattern(0, 8)),
              Status::ok);
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
    std::deque<Bytes> rooms;
    b->places = [&](const stria_header_t&, std::uint32_t length, stria_payload_t& place) {
      place = contiguous(rooms.emplace_back(length, kUntouched).data(), length);
      return true;
    };
    for (std::uint16_t i = 0; i < 6; ++i) {
      const Bytes data = pattern(i, bytes);
      static_cast<void>(a->try_send(link, Path::buffered, header(i), data.data(), data.size()));
      b->progress(1);
    }
    if (closes) {
      b->close(0);
    } else {
      a->close(0);
      ASSERT_TRUE(drive({b.get()}, [&] { return b->downs.size() == 1; }));
    }
    std::deque<Bytes> after = rooms;
    drive_for({a.get(), b.get()}, 100);
    EXPECT_EQ(rooms, after);
    a = open(3);
    b = open(4);
    link = a->connect(*b);
  }
}

STRIA_CONTRACT_OF_CORE(PlacingContract);

}  // namespace
}  // namespace stria::contract
