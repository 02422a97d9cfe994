// What packets promise: intact, once, in order per path, back-pressure instead of loss, from inside deliver
// as well.
#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "datatype/layout.hpp"
#include "tests/contract/subject.hpp"

namespace stria::contract {
namespace {

using datatype::Layout;

class PacketContract : public Contract {
 protected:
  PacketContract() : a(open(1)), b(open(2)), link(a->connect(*b)) {}
  bool arrives(std::size_t count) {
    return drive({a.get(), b.get()}, [&] { return b->received.size() >= count; });
  }
  Status send_to_b(Path path, const stria_header_t& head, const Bytes& data) {
    return send({a.get(), b.get()}, *a, link, path, head, data);
  }
  std::unique_ptr<Peer> a, b;
  stria_link_t* link;
};

std::vector<std::size_t> sizes_up_to(std::size_t max) {
  std::set<std::size_t> sizes = {0,   1,   2,    3,    4,    5,    7,    8,    9,    15,   16,   17,   31,
                                 32,  33,  47,   48,   49,   63,   64,   65,   100,  127,  128,  129,  255,
                                 256, 257, 1000, 1023, 1024, 1025, 2047, 2048, 4095, 4096, 8191, 16383};
  for (std::size_t below : {0u, 1u, 2u, 7u, 8u, 15u, 16u, 17u, 63u, 64u, 65u})
    if (below <= max) sizes.insert(max - below);
  sizes.erase(sizes.upper_bound(max), sizes.end());
  return {sizes.begin(), sizes.end()};
}

TEST_P(PacketContract, payload_and_header_are_intact_at_every_size_around_every_limit) {
  for (const Path path : paths(*a, link)) {
    for (const std::size_t bytes : sizes_up_to(limit(*a, link, path))) {
      b->received.clear();
      Bytes data = pattern(bytes + 1, bytes);
      const Bytes copy = data;
      stria_header_t head{};
      head.kind = static_cast<std::uint8_t>(1 + bytes % 255);
      head.flags = static_cast<std::uint8_t>(~bytes);
      head.sequence = static_cast<std::uint16_t>(0xf000 + bytes);
      head.immediate = 0x80000001u + static_cast<std::uint32_t>(bytes);
      head.tag = 0xfedcba9876543210u ^ bytes;
      ASSERT_EQ(send_to_b(path, head, data), Status::ok) << bytes << " bytes";
      std::fill(data.begin(), data.end(), std::byte{0xee});  // the memory is the caller's again
      ASSERT_TRUE(arrives(1)) << bytes << " bytes";
      const Received& got = b->received.front();
      ASSERT_EQ(got.payload, copy) << bytes << " bytes";
      EXPECT_EQ(got.path, path);
      EXPECT_EQ(got.header.kind, head.kind);
      EXPECT_EQ(got.header.flags, head.flags);
      EXPECT_EQ(got.header.sequence, head.sequence);
      EXPECT_EQ(got.header.immediate, head.immediate);
      EXPECT_EQ(got.header.tag, head.tag);
    }
  }
}

TEST_P(PacketContract, each_path_keeps_its_order_and_every_packet_comes_once) {
  const std::uint16_t all = packets(3000);
  const auto available = paths(*a, link);
  std::mt19937 random(4);
  std::vector<std::uint16_t> sent[2];
  for (std::uint16_t i = 0; i < all; ++i) {
    const Path path = available[random() % available.size()];
    const std::size_t bytes = random() % (std::min<std::size_t>(limit(*a, link, path), 700) + 1);
    ASSERT_EQ(send_to_b(path, header(i), pattern(i, bytes)), Status::ok);
    sent[static_cast<int>(path)].push_back(i);
    if (random() % 16 == 0) b->progress(1 + random() % 8);
  }
  ASSERT_TRUE(arrives(all));
  drive_for({a.get(), b.get()}, 50);
  ASSERT_EQ(b->received.size(), all) << "something came twice";
  std::vector<std::uint16_t> got[2];
  for (const Received& packet : b->received) {
    got[static_cast<int>(packet.path)].push_back(packet.header.sequence);
    ASSERT_EQ(packet.payload, pattern(packet.header.sequence, packet.payload.size()));
  }
  EXPECT_EQ(got[0], sent[0]);
  EXPECT_EQ(got[1], sent[1]);
}

TEST_P(PacketContract, a_full_queue_refuses_and_takes_more_after_progress) {
  drive({a.get(), b.get()}, [&] { return a->limits(link).pio_credits > 0 || !a->has(STRIA_CAP_PIO); });
  for (const Path path : paths(*a, link)) {
    b->received.clear();
    const std::size_t bytes = std::min<std::size_t>(limit(*a, link, path), 256);
    std::uint16_t count = 0;
    int refusals = 0;
    while (refusals < 64 && count < 60000) {  // b makes no progress
      const Bytes data = pattern(count, bytes);
      const Status status = a->try_send(link, path, header(count), data.data(), data.size());
      if (status == Status::no_resource) {
        ++refusals;
        a->progress();
        continue;
      }
      ASSERT_EQ(status, Status::ok);
      ++count;
    }
    EXPECT_EQ(refusals, 64) << "60000 packets were taken that nobody drained";
    EXPECT_TRUE(b->received.empty());
    ASSERT_TRUE(arrives(count));
    ASSERT_EQ(send_to_b(path, header(count), pattern(count, bytes)), Status::ok);
    ASSERT_TRUE(arrives(count + 1u));
    ASSERT_EQ(b->received.size(), count + 1u) << "a refused packet came nevertheless";
    for (std::uint16_t i = 0; i <= count; ++i) {
      ASSERT_EQ(b->received[i].header.sequence, i);
      ASSERT_EQ(b->received[i].payload, pattern(i, bytes));
    }
  }
}

TEST_P(PacketContract, progress_handles_no_more_than_its_budget) {
  std::uint16_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    const Bytes data = pattern(sent, 8);
    if (a->try_send(link, Path::buffered, header(sent), data.data(), data.size()) == Status::ok) ++sent;
    a->progress();
  }
  ASSERT_TRUE(drive({}, [&] {
    const std::size_t before = b->received.size();
    EXPECT_LE(b->progress(1), 1u);
    EXPECT_LE(b->received.size(), before + 1);
    return b->received.size() == sent;
  }));
}

// A check may handle events, too. The calls of progress() after it count them, so that a thread that sleeps
// learns of them, and count no more than their budget.
TEST_P(PacketContract, progress_after_a_check_handles_no_more_than_its_budget) {
  std::uint16_t sent = 0;
  const std::uint16_t most = packets(300);
  ASSERT_TRUE(drive({}, [&] {
    for (int burst = 0; burst < 150 && sent < most; ++burst) {
      const Bytes data = pattern(sent, 8);
      if (a->try_send(link, Path::buffered, header(sent), data.data(), data.size()) != Status::ok) break;
      ++sent;
    }
    a->progress();
    b->check();
    b->progress(3);  // progress() of these tests' peers expects no more than that of each call
    return sent == most && b->received.size() == sent;
  }));
}

TEST_P(PacketContract, sends_from_inside_deliver_arrive) {
  const std::uint16_t rounds = packets(300);
  std::deque<stria_header_t> pending_a, pending_b;
  stria_link_t* back = nullptr;
  b->on_peer_up = [&](std::uint64_t, stria_link_t* up) { back = up; };
  const auto reply = [&](Peer& me, stria_link_t* to, std::deque<stria_header_t>& pending,
                         const Received& got) {
    if (got.header.sequence >= rounds) return;
    const Bytes data = pattern(got.header.sequence + 1u, 40);
    const stria_header_t head = header(static_cast<std::uint16_t>(got.header.sequence + 1));
    if (me.try_send(to, Path::buffered, head, data.data(), data.size()) != Status::ok)
      pending.push_back(head);
  };
  const auto retry = [&](Peer& me, stria_link_t* to, std::deque<stria_header_t>& pending) {
    while (!pending.empty()) {
      const Bytes data = pattern(pending.front().sequence, 40);
      if (me.try_send(to, Path::buffered, pending.front(), data.data(), data.size()) != Status::ok) return;
      pending.pop_front();
    }
  };
  a->on_deliver = [&](const Received& got) { reply(*a, link, pending_a, got); };
  b->on_deliver = [&](const Received& got) { reply(*b, back, pending_b, got); };
  ASSERT_EQ(send_to_b(Path::buffered, header(0), pattern(0, 40)), Status::ok);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] {
    retry(*a, link, pending_a);
    retry(*b, back, pending_b);
    return a->received.size() + b->received.size() == rounds + 1u;
  }));
  for (std::size_t i = 0; i < b->received.size(); ++i) EXPECT_EQ(b->received[i].header.sequence, 2 * i);
  for (std::size_t i = 0; i < a->received.size(); ++i) {
    EXPECT_EQ(a->received[i].header.sequence, 2 * i + 1);
    EXPECT_EQ(a->received[i].payload, pattern(2 * i + 1, 40));
  }
}

TEST_P(PacketContract, connecting_and_sending_from_inside_deliver_works) {
  auto c = open(3);
  stria_link_t* to_c = nullptr;
  bool sent = false;
  b->on_deliver = [&](const Received&) {
    if (to_c == nullptr) to_c = b->connect(*c);
  };
  ASSERT_EQ(send_to_b(Path::buffered, header(0), pattern(0, 10)), Status::ok);
  ASSERT_TRUE(arrives(1));
  ASSERT_TRUE(drive({a.get(), b.get(), c.get()}, [&] {
    const Bytes data = pattern(9, 10);
    if (!sent) sent = b->try_send(to_c, Path::buffered, header(9), data.data(), data.size()) == Status::ok;
    return !c->received.empty();
  }));
  EXPECT_EQ(c->received.front().from->worker, 2u);
}

TEST_P(PacketContract, both_directions_flow_at_once) {
  stria_link_t* back = b->connect(*a);
  const std::uint16_t all = packets(500);
  std::uint16_t next_a = 0, next_b = 0;
  const auto push = [&](Peer& me, stria_link_t* to, std::uint16_t& next) {
    if (next == all) return;
    const Bytes data = pattern(next, 64);
    if (me.try_send(to, Path::buffered, header(next), data.data(), data.size()) == Status::ok) ++next;
  };
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] {
    push(*a, link, next_a);
    push(*b, back, next_b);
    return a->received.size() == all && b->received.size() == all;
  }));
  for (std::uint16_t i = 0; i < all; ++i) {
    ASSERT_EQ(a->received[i].header.sequence, i);
    ASSERT_EQ(b->received[i].header.sequence, i);
  }
}

// The oracle: every byte's offset in typemap order, written out.
struct Shape {
  const char* name;
  Layout layout;
  std::vector<std::int64_t> offsets;  // of one instance
};

std::vector<Shape> shapes() {
  std::vector<Shape> list;
  Shape column{"a column", *Layout::vector(6, 1, 40, Layout::bytes(8)), {}};
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 8; ++j) column.offsets.push_back(i * 40 + j);
  list.push_back(column);
  const std::array<std::int64_t, 3> lengths = {3, 1, 5};
  const std::array<std::int64_t, 3> places = {50, 0, 11};
  Shape irregular{"blocks out of order", *Layout::indexed(lengths, places, Layout::bytes(1)), {}};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < lengths[i]; ++j) irregular.offsets.push_back(places[i] + j);
  list.push_back(irregular);
  const std::array<std::int64_t, 2> counts = {1, 2};
  const std::array<std::int64_t, 2> at = {96, 0};
  const std::array<Layout, 2> children = {Layout::bytes(5), *Layout::vector(2, 1, 7, Layout::bytes(3))};
  Shape composite{"a composite", *Layout::composite(counts, at, children), {}};
  for (std::int64_t j = 0; j < 5; ++j) composite.offsets.push_back(96 + j);
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t j = 0; j < 3; ++j) composite.offsets.push_back(n * 10 + i * 7 + j);
  list.push_back(composite);
  list.push_back({"dense bytes", Layout::bytes(9), {0, 1, 2, 3, 4, 5, 6, 7, 8}});
  return list;
}

TEST_P(PacketContract, any_range_of_a_layouts_stream_is_gathered) {
  constexpr std::int64_t kCount = 5;
  const auto max = static_cast<std::int64_t>(a->limits(link).eager_max);
  Bytes memory = pattern(77, 1 << 12);
  for (const Shape& shape : shapes()) {
    const auto size = static_cast<std::int64_t>(shape.offsets.size());
    ASSERT_EQ(shape.layout.size(), size) << shape.name;
    Bytes stream;
    for (std::int64_t n = 0; n < kCount; ++n)
      for (const std::int64_t offset : shape.offsets)
        stream.push_back(memory[static_cast<std::size_t>(n * shape.layout.extent() + offset)]);
    std::mt19937 random(3);
    for (int i = 0; i < 60; ++i) {
      const std::int64_t offset = i == 0 ? 0 : static_cast<std::int64_t>(random() % stream.size());
      const std::int64_t rest = static_cast<std::int64_t>(stream.size()) - offset;
      const std::int64_t length =
          std::min(max, i < 2 ? rest : static_cast<std::int64_t>(random()) % (rest + 1));
      const stria_payload_t payload{&shape.layout, memory.data(), kCount, offset, length};
      b->received.clear();
      ASSERT_TRUE(drive({a.get(), b.get()}, [&] {
        const Status status = a->try_send(link, header(1), payload);
        EXPECT_TRUE(status == Status::ok || status == Status::no_resource);
        return status == Status::ok;
      }));
      ASSERT_TRUE(arrives(1));
      ASSERT_EQ(b->received.front().payload, Bytes(stream.begin() + offset, stream.begin() + offset + length))
          << shape.name << " from " << offset << ", " << length << " bytes";
    }
  }
}

TEST_P(PacketContract, what_the_capabilities_lack_answers_unsupported) {
  const stria_header_t head = header(1);
  const stria_payload_t memory = contiguous(nullptr, 0);
  stria_provider_key_t key{};
  Ending ending;
  const Bytes nothing;
  if (!a->has(STRIA_CAP_PIO)) {
    EXPECT_EQ(a->try_send(link, Path::pio, head, nullptr, 0), Status::unsupported);
  }
  if (!a->has(STRIA_CAP_GET)) {
    EXPECT_EQ(a->get(link, memory, key, 0, ending), Status::unsupported);
  }
  if (!a->has(STRIA_CAP_PUT)) {
    EXPECT_EQ(a->put(link, memory, key, 0, ending), Status::unsupported);
  }
  if (!a->has(STRIA_CAP_FAST_REGISTER)) {
    EXPECT_EQ(a->fast_register(memory, 1, key), Status::unsupported);
  }
  if (!a->has(STRIA_CAP_SEND_INVALIDATE)) {
    EXPECT_EQ(a->try_send_invalidate(link, head, nothing, key), Status::unsupported);
  }
  if (!a->has(STRIA_CAP_EVENT_FD)) {
    EXPECT_EQ(a->table().event_fd(a->device()), -1);
  }
  EXPECT_EQ(ending.calls, 0);
}

STRIA_CONTRACT_OF_CORE(PacketContract);

}  // namespace
}  // namespace stria::contract
