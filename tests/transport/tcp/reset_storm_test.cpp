// Storms of resets over long messages of blocks, keys that end at any time, and devices that sleep.
#include <poll.h>

#include <deque>
#include <memory>
#include <random>

#include "datatype/layout.hpp"
#include "tests/rounds.hpp"
#include "tests/transport/tcp/reset_rig.hpp"
#include "transport/payload.hpp"

namespace stria::tcp {
namespace {

using contract::Bytes;
using contract::contiguous;
using contract::Ending;
using datatype::Layout;
using TcpResetStorm = WithResets;

constexpr std::size_t kMiB = 1 << 20;

/// Both devices sleep on their descriptors whenever they may.
TEST_F(TcpResetStorm, devices_that_sleep_are_woken_until_all_is_made_anew) {
  ResetPair two;
  const auto sleep = [&](const Ending& ending, int& quiet) {
    bool may_sleep = ending.calls == 0;
    for (Peer* peer : {&two.a, &two.b})
      may_sleep = peer->table().arm(peer->device()) == STRIA_OK && may_sleep;
    if (!may_sleep) return;
    pollfd fds[2] = {{two.a.table().event_fd(two.a.device()), POLLIN, 0},
                     {two.b.table().event_fd(two.b.device()), POLLIN, 0}};
    if (::poll(fds, 2, 1500) == 0) ++quiet;
  };
  for (int round = 0; round < 8; ++round) {
    Bytes remote = contract::pattern(3, 6 * kMiB), local(remote.size());
    Ending ending;
    const bool from_a = round % 2 == 0;
    Peer& reader = from_a ? two.a : two.b;
    Peer& owner = from_a ? two.b : two.a;
    const auto key = key_for(owner, from_a ? two.to_a : two.to_b, contiguous(remote));
    Status status = Status::no_resource;
    int quiet = 0, calls = 0;
    const std::uint64_t begun = now_ms();
    while (ending.calls == 0 && quiet < 2 && two.is_whole()) {
      two.a.progress();
      two.b.progress();
      if (status == Status::no_resource)
        status = reader.get(from_a ? two.to_b : two.to_a, contiguous(local), key, 0, ending);
      sleep(ending, quiet);
      if (++calls == 2 + round / 2 || calls == 8 + round)
        for (const int fd : connections_of_this_process())
          if (round % 3 != 0 || fd % 3 != 0) reset_connection(fd);
    }
    EXPECT_EQ(quiet, 0) << "round " << round << ", " << now_ms() - begun << " ms";
    EXPECT_EQ(ending.calls, 1);
    EXPECT_EQ(ending.status, Status::ok);
    EXPECT_TRUE(local == remote);
    EXPECT_TRUE(two.is_whole());
  }
}

std::unique_ptr<Layout> blocks(std::int64_t bytes, std::int64_t block, std::int64_t gap) {
  return std::make_unique<Layout>(*Layout::vector(bytes / block, 1, block + gap, Layout::bytes(block)));
}

/// A get of blocks out of blocks, whose key may end at any time.
struct BlockGet {
  std::unique_ptr<Layout> source, sink;
  Bytes memory, local, expected, untouched;
  stria_provider_key_t key{};
  Ending ending;
  bool is_ended = false;
};

/// Packets, gets of blocks, keys that end, pauses of either side, and resets of some or all connections.
TEST_F(TcpResetStorm, storms_of_blocks_and_keys_that_end) {
  const auto seed = static_cast<unsigned>(test::from_environment("STRIA_TEST_SEED", 1));
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  ResetPair two;
  struct Half {
    Peer* peer;
    stria_link_t* link;
    std::uint64_t sent = 0, checked = 0;
    std::deque<BlockGet> gets;
  };
  Half halves[2] = {{&two.a, two.to_b, 0, 0, {}}, {&two.b, two.to_a, 0, 0, {}}};
  std::uint64_t refused = 0, whole = 0;
  const auto size_of = [](std::uint64_t number) {
    return number % 13 == 0 ? (number * 7919) % 65536 : (number * 31) % 900;
  };
  const auto check = [&] {
    for (Half& half : halves) {
      for (; !half.peer->received.empty(); half.peer->received.pop_front(), ++half.checked) {
        const auto& got = half.peer->received.front();
        ASSERT_EQ(got.header.tag, half.checked);
        ASSERT_TRUE(got.payload == contract::pattern(half.checked, size_of(half.checked)));
      }
      Half& owner = half.peer == &two.a ? halves[1] : halves[0];
      while (!half.gets.empty() && half.gets.front().ending.calls > 0) {
        BlockGet& get = half.gets.front();
        ASSERT_EQ(get.ending.calls, 1);
        ASSERT_TRUE(get.ending.status == Status::ok ||
                    (get.is_ended && get.ending.status == Status::access_error))
            << to_string(get.ending.status);
        (get.ending.status == Status::ok ? whole : refused) += 1;
        if (get.ending.status == Status::ok) {
          ASSERT_TRUE(get.local == get.expected);
        } else {
          for (std::size_t i = 0; i < get.local.size(); ++i)
            ASSERT_TRUE(get.local[i] == get.expected[i] || get.local[i] == get.untouched[i]) << i;
        }
        if (!get.is_ended) {
          ASSERT_EQ(owner.peer->invalidate(get.key), Status::ok);
        }
        half.gets.pop_front();
      }
    }
    ASSERT_TRUE(two.is_whole());
  };
  const auto begin_get = [&](Half& reader, Half& owner) {
    BlockGet& get = reader.gets.emplace_back();
    const std::int64_t block = 1 + random() % (random() % 2 == 0 ? 300 : 9000);
    const std::int64_t bytes = block * (1 + static_cast<std::int64_t>(random() % (2 * kMiB)) / block);
    get.source = blocks(bytes, block, random() % 100);
    std::int64_t sink_block = block;
    while (random() % 2 == 0 && sink_block % 2 == 0) sink_block /= 2;
    get.sink = blocks(bytes, sink_block, random() % 100);
    get.memory = contract::pattern(random(), static_cast<std::size_t>(get.source->extent()));
    get.local = contract::pattern(random(), static_cast<std::size_t>(get.sink->extent()));
    get.untouched = get.expected = get.local;
    Bytes stream(static_cast<std::size_t>(bytes));
    transport::pack({get.source.get(), get.memory.data(), 1, 0, bytes}, stream.data());
    transport::unpack({get.sink.get(), get.expected.data(), 1, 0, bytes}, stream.data());
    get.key = key_for(*owner.peer, owner.link, {get.source.get(), get.memory.data(), 1, 0, 0});
    const stria_payload_t target{get.sink.get(), get.local.data(), 1, 0, bytes};
    Status status = Status::no_resource;
    ASSERT_TRUE(two.run([&] {
      status = reader.peer->get(reader.link, target, get.key, 0, get.ending);
      return status != Status::no_resource;
    }));
    ASSERT_EQ(status, Status::in_progress);
  };
  for (std::int64_t left = test::rounds(6000); left > 0 && !HasFatalFailure(); --left) {
    Half& half = halves[random() % 2];
    Half& other = &half == &halves[0] ? halves[1] : halves[0];
    const Bytes payload = contract::pattern(half.sent, size_of(half.sent));
    if (half.peer->try_send(half.link, contract::Path::buffered, contract::header(1, half.sent),
                            payload.data(), payload.size()) == Status::ok)
      ++half.sent;
    if (random() % 200 == 0) begin_get(half, other);
    if (!half.gets.empty() && random() % 300 == 0) {
      BlockGet& get = half.gets[random() % half.gets.size()];
      if (!get.is_ended && get.ending.calls == 0) {
        ASSERT_EQ(other.peer->invalidate(get.key), Status::ok);
        get.is_ended = true;
        std::fill(get.memory.begin(), get.memory.end(), std::byte{0x66});
      }
    }
    if (random() % 3 == 0) half.peer->progress(64);
    if (random() % 1000 == 0) contract::drive_for({half.peer}, 2000);  // the other one is away
    if (random() % 100 == 0) {
      const auto all = connections_of_this_process();
      const unsigned how = random() % 8;
      for (const int fd : all)
        if (how == 0 || random() % all.size() == 0) reset_connection(fd);
    }
    if (random() % 64 == 0) check();
  }
  EXPECT_TRUE(two.run([&] {
    check();
    return HasFatalFailure() || (halves[0].checked == halves[1].sent && halves[1].checked == halves[0].sent &&
                                 halves[0].gets.empty() && halves[1].gets.empty());
  }));
  EXPECT_EQ(halves[0].checked, halves[1].sent);
  EXPECT_EQ(halves[1].checked, halves[0].sent);
  EXPECT_EQ(halves[0].gets.size() + halves[1].gets.size(), 0u);
  RecordProperty("whole", std::to_string(whole));
  RecordProperty("refused", std::to_string(refused));
}

/// The owner's memory and its layout are the caller's again when the key has ended, also of pieces that are
/// to be refused.
TEST_F(TcpResetStorm, a_layout_is_not_looked_at_behind_the_end_of_its_key) {
  ResetPair two;
  auto layout = blocks(24 * kMiB, 64, 8);
  auto memory = std::make_unique<Bytes>(contract::pattern(1, static_cast<std::size_t>(layout->extent())));
  const auto key = key_for(two.b, two.to_a, {layout.get(), memory->data(), 1, 0, 0});
  Bytes local(24 * kMiB);
  Ending ending;
  ASSERT_EQ(two.a.get(two.to_b, contiguous(local), key, 0, ending), Status::in_progress);
  const std::uint64_t until = now_ms() + 20000;
  while (local.front() != memory->front() && now_ms() < until) contract::drive_for({&two.a, &two.b}, 1);
  for (int i = 0; i < 300; ++i) two.b.progress();  // the owner sends until the system is full
  EXPECT_EQ(two.b.invalidate(key), Status::ok);
  layout.reset();
  memory.reset();
  ASSERT_TRUE(two.run([&] { return ending.calls > 0; }));
  EXPECT_TRUE(ending.status == Status::ok || ending.status == Status::access_error);
}

}  // namespace
}  // namespace stria::tcp
