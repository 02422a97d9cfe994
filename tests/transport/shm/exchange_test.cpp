// Packets between devices of one process: contents, order, full queues, budgets.
#include <algorithm>
#include <random>

#include "tests/transport/shm/node.hpp"

namespace stria::shm::test {
namespace {

const Settings kSmall = {{"STRIA_SHM_WINDOW_BYTES", "4096"},
                         {"STRIA_SHM_PIO_MTU", "1K"},
                         {"STRIA_SHM_INBOX_SLOTS", "16"},
                         {"STRIA_SHM_CELLS", "8"},
                         {"STRIA_SHM_CELL_BYTES", "4096"}};

Settings with(Settings settings, const char* name, const char* value) {
  settings[name] = value;
  return settings;
}

void random_exchange(const Settings& given, unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Settings settings =
      with(given, "STRIA_SHM_DISTANCE", "near");  // short ones to far peers change paths
  Node a(1, settings), b(2, settings);
  ASSERT_EQ(a.opened, Status::ok) << a.error;
  stria_link_t* link = a.connect(b);
  ASSERT_NE(link, nullptr) << a.error;
  std::mt19937 random(seed);
  const auto limits = a.limits(link);
  std::map<bool, std::vector<std::uint64_t>> sent, received;
  std::size_t arrived = 0;
  b.on_deliver = [&](const Got& one) {
    EXPECT_EQ(one.from, 1u);
    EXPECT_EQ(one.payload, pattern(one.header.tag, one.header.immediate)) << "packet " << one.header.tag;
    EXPECT_EQ(one.header.kind, 1);
    EXPECT_EQ(one.header.flags, 2);
    EXPECT_EQ(one.header.sequence, 3);
    received[one.buffered].push_back(one.header.tag);
    ++arrived;
  };
  constexpr std::uint64_t kPackets = 3000;
  for (std::uint64_t i = 0; i < kPackets; ++i) {
    const bool use_pio = limits.pio_max > 0 && random() % 2 == 0;
    const std::uint32_t max = use_pio ? limits.pio_max : limits.eager_max;
    const std::uint32_t bytes =
        random() % 3 == 0 ? random() % (max + 1) : std::min(max, static_cast<std::uint32_t>(random() % 130));
    const Bytes data = pattern(i, bytes);
    int refused = 0;
    for (;;) {
      const Status status =
          use_pio ? a.pio(link, header(i, bytes), data) : a.eager(link, header(i, bytes), data);
      if (status == Status::ok) break;
      ASSERT_EQ(status, Status::no_resource);
      ASSERT_LT(++refused, 1000) << "no progress";
      b.progress(1 + random() % 20);
    }
    sent[!use_pio].push_back(i);
    if (random() % 40 == 0) b.progress(random() % 50);
  }
  ASSERT_TRUE(until([&] { return arrived == kPackets; }, [&] { b.progress(); }));
  EXPECT_EQ(received, sent) << "each path keeps its order";
}

TEST(ShmExchange, random_packets_arrive_intact_and_in_order_of_their_path) {
  for (unsigned seed = 1; seed <= 5; ++seed) random_exchange(kSmall, seed);
  random_exchange({}, 6);
}

TEST(ShmExchange, random_packets_arrive_intact_without_any_window) {
  for (unsigned seed = 1; seed <= 3; ++seed) random_exchange(with(kSmall, "STRIA_SHM_WINDOWS", "0"), seed);
}

TEST(ShmExchange, stale_payload_bytes_are_never_taken_for_a_record) {
  // Payload that looks like valid control words everywhere, in records of all lengths, over many laps.
  Node a(1, kSmall), b(2, kSmall);
  stria_link_t* link = a.connect(b);
  std::size_t sent = 0, arrived = 0;
  b.on_deliver = [&](const Got& one) {
    EXPECT_EQ(one.header.tag, arrived);
    ++arrived;
  };
  std::mt19937 random(99);
  for (; sent < 20000; ++sent) {
    Bytes data(random() % 1000);
    const auto lap = static_cast<std::uint32_t>(1 + random() % 2500);  // about as many as there are
    const std::uint64_t fake = make_control(RecordKind::packet, 16, lap);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = reinterpret_cast<const std::byte*>(&fake)[(i + kRecordHeader) % 8];
    while (a.pio(link, header(sent), data) == Status::no_resource) b.progress(1 + random() % 8);
    if (random() % 4 == 0) b.progress(1);
  }
  ASSERT_TRUE(until([&] { return arrived == sent; }, [&] { b.progress(); }));
  EXPECT_EQ(b.progress(), 0u);
}

TEST(ShmExchange, every_line_of_a_lap_may_read_as_a_record_of_the_next) {
  Node a(1, kSmall), b(2, kSmall);
  stria_link_t* link = a.connect(b);
  constexpr std::uint32_t kLongOnes = 4, kShortOnes = 16;  // of 16 and of 4 lines: a lap of 64 each
  std::uint64_t sent = 0;
  const auto send = [&](std::uint32_t bytes, std::uint32_t fake_lap) {
    const std::uint64_t fake = make_control(RecordKind::packet, 16, fake_lap);
    Bytes data(bytes);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = reinterpret_cast<const std::byte*>(&fake)[(i + kRecordHeader) % 8];
    ASSERT_EQ(a.pio(link, header(sent++), data), Status::ok);
    b.progress();
    ASSERT_EQ(b.got.size(), sent) << bytes << " bytes, lap " << fake_lap - 1;
    ASSERT_EQ(b.got.back().payload, data);
  };
  for (std::uint32_t lap = 1; lap < 1000; lap += 2) {
    for (std::uint32_t i = 0; i < kLongOnes; ++i) send(1000, lap + 1);
    for (std::uint32_t i = 0; i < kShortOnes; ++i) send(200, 0);
    if (HasFatalFailure()) return;
  }
}

TEST(ShmExchange, a_full_window_a_full_inbox_and_used_up_cells_answer_no_resource_and_recover) {
  for (const char* windows : {"1", "0"}) {
    Node a(1, kSmall), b(2, with(kSmall, "STRIA_SHM_WINDOWS", windows));
    stria_link_t* link = a.connect(b);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{20}, std::size_t{3000}}) {
      unsigned sent = 0;
      while (a.eager(link, header(sent), pattern(sent, bytes)) == Status::ok) ASSERT_LT(++sent, 5000u);
      EXPECT_GE(sent, bytes == 3000 ? 4u : 14u);
      EXPECT_EQ(a.eager(link, header(0), pattern(0, bytes)), Status::no_resource);
      ASSERT_TRUE(until([&] { return b.got.size() == sent; }, [&] { b.progress(); }));
      for (unsigned i = 0; i < sent; ++i) EXPECT_EQ(b.got[i].payload, pattern(i, bytes));
      b.got.clear();
    }
  }
}

TEST(ShmExchange, one_stuck_peer_takes_no_more_than_half_of_the_cells) {
  Node a(1, kSmall), stuck(2, kSmall), quick(3, kSmall);
  stria_link_t* to_stuck = a.connect(stuck);
  stria_link_t* to_quick = a.connect(quick);
  int sent = 0;
  while (a.eager(to_stuck, header(0), pattern(0, 2000)) == Status::ok) ++sent;
  EXPECT_EQ(sent, 4);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(a.eager(to_quick, header(1), pattern(1, 2000)), Status::ok);
    quick.progress();
  }
  EXPECT_EQ(quick.got.size(), 100u);
}

TEST(ShmExchange, both_sides_connecting_at_once_makes_one_link_on_each) {
  Node a(1), b(2);
  stria_link_t* ab = a.connect(b);
  stria_link_t* ba = b.connect(a);
  ASSERT_EQ(a.eager(ab, header(5), {}), Status::ok);
  ASSERT_EQ(b.eager(ba, header(6), {}), Status::ok);
  ASSERT_TRUE(
      until([&] { return a.got.size() == 1 && b.got.size() == 1; }, [&] { a.progress(), b.progress(); }));
  EXPECT_TRUE(a.ups.empty());
  EXPECT_TRUE(b.ups.empty());
  EXPECT_EQ(a.got[0].from, 2u);
  EXPECT_EQ(a.connect(b), ab);
}

TEST(ShmExchange, a_peer_that_connects_gets_a_link_back_and_connecting_to_it_returns_that) {
  Node a(1), b(2);
  a.connect(b);
  ASSERT_TRUE(until([&] { return b.ups.size() == 1; }, [&] { b.progress(); }));
  EXPECT_EQ(b.connect(a), b.ups[1]);
  ASSERT_EQ(b.pio(b.ups[1], header(9), pattern(1, 100)), Status::ok);
  ASSERT_TRUE(until([&] { return a.got.size() == 1; }, [&] { a.progress(); }));
  EXPECT_EQ(a.got[0].payload, pattern(1, 100));
}

TEST(ShmExchange, a_device_can_connect_to_itself) {
  Node a(1);
  stria_link_t* self = a.connect(a);
  ASSERT_NE(self, nullptr) << a.error;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{30000}})
    ASSERT_EQ(a.send(self, header(1), pattern(7, bytes), true), Status::ok);
  ASSERT_TRUE(until([&] { return a.got.size() == 2; }, [&] { a.progress(); }));
  EXPECT_EQ(a.got[1].payload, pattern(7, 30000));
  a.close(1000);
}

TEST(ShmExchange, peers_beyond_the_windows_use_the_inbox_and_low_latency_links_get_a_window) {
  Node hub(100, {{"STRIA_SHM_WINDOWS", "8"}, {"STRIA_SHM_INBOX_SLOTS", "64"}});
  std::vector<std::unique_ptr<Node>> peers;
  std::vector<stria_link_t*> links;
  int windows = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    peers.push_back(std::make_unique<Node>(i + 1));
    links.push_back(peers.back()->connect(hub));
    ASSERT_NE(links.back(), nullptr) << peers.back()->error;
    windows += peers.back()->limits(links.back()).pio_max > 0 ? 1 : 0;
  }
  EXPECT_EQ(windows, 7) << "one of eight waits for a low-latency link";
  Node fast(50);
  stria_link_t* link = fast.connect(hub, true);
  EXPECT_GT(fast.limits(link).pio_max, 0u);
  EXPECT_EQ(fast.limits(link).low_latency, 1u);
  std::map<std::uint64_t, std::uint64_t> next;
  hub.on_deliver = [&](const Got& one) {
    EXPECT_EQ(one.header.tag, next[one.from]++);
    EXPECT_EQ(one.payload, pattern(one.from + one.header.tag, one.payload.size()));
  };
  std::mt19937 random(3);
  for (std::uint64_t n = 0; n < 200; ++n)
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Bytes data = pattern(i + 1 + n, random() % 600);
      while (peers[i]->eager(links[i], header(n), data) == Status::no_resource) hub.progress();
    }
  ASSERT_TRUE(until(
      [&] {
        return std::all_of(next.begin(), next.end(), [](auto& e) { return e.second == 200; }) &&
               next.size() == 20;
      },
      [&] { hub.progress(); }));
}

TEST(ShmExchange, an_upcall_may_send) {
  Node a(1), b(2);
  stria_link_t* ab = a.connect(b);
  b.on_deliver = [&](const Got& one) {
    EXPECT_EQ(b.pio(b.ups[1], header(one.header.tag + 1), {}), Status::ok);
  };
  for (int i = 0; i < 50; ++i) ASSERT_EQ(a.pio(ab, header(10), {}), Status::ok);
  ASSERT_TRUE(until([&] { return a.got.size() == 50; }, [&] { b.progress(), a.progress(); }));
  EXPECT_EQ(a.got[49].header.tag, 11u);
}

TEST(ShmExchange, a_sleeping_device_is_woken_by_a_packet_and_arm_refuses_when_something_waits) {
  Node a(1), b(2);
  stria_link_t* ab = a.connect(b);
  ASSERT_TRUE(until([&] { return b.ups.size() == 1; }, [&] { b.progress(); }));
  const int fd = Node::table().event_fd(b.device());
  ASSERT_GE(fd, 0);
  const auto readable = [&](int ms) {
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, ms) > 0;
  };
  ASSERT_EQ(Node::table().arm(b.device()), STRIA_OK);
  EXPECT_FALSE(readable(0));
  ASSERT_EQ(a.pio(ab, header(1), {}), Status::ok);
  EXPECT_TRUE(readable(1000));
  EXPECT_EQ(Node::table().arm(b.device()), STRIA_ERR_NO_RESOURCE);
  EXPECT_EQ(b.progress(), 1u);
  EXPECT_FALSE(readable(0));
  ASSERT_EQ(a.pio(ab, header(1), {}), Status::ok);
  EXPECT_FALSE(readable(0)) << "nobody notifies a device that is awake";
  EXPECT_EQ(b.progress(), 1u);
}

TEST(ShmExchange, link_limits_and_capabilities_say_what_there_is) {
  Node a(1, {{"STRIA_SHM_DISTANCE", "near"}}), b(2);  // to a far peer 1000 bytes go by a cell
  stria_link_t* link = a.connect(b);
  const auto limits = a.limits(link);
  EXPECT_EQ(limits.pio_max, 3072u);
  EXPECT_EQ(limits.eager_max, 262144u);
  EXPECT_THAT(std::string(limits.path), ::testing::HasSubstr("pio window 16 KiB"));
  const auto before = limits.pio_credits;
  ASSERT_EQ(a.pio(link, header(1), pattern(1, 1000)), Status::ok);
  EXPECT_EQ(before - a.limits(link).pio_credits, 1024u);
  EXPECT_EQ(a.pio(link, header(1), pattern(1, 3073)), Status::invalid);
  EXPECT_EQ(a.eager(link, header(1), pattern(1, 262145)), Status::invalid);
}

}  // namespace
}  // namespace stria::shm::test
