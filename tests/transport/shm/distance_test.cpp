// How the distance of a peer is found out, by caches that the system tells and by probes; and that payloads
// arrive whatever it is. Nothing here depends on the cores of this machine.
#include "transport/shm/distance.hpp"

#include <sched.h>

#include <random>

#include "tests/rounds.hpp"
#include "tests/transport/shm/inside.hpp"
#include "transport/payload.hpp"

namespace stria::shm::test {
namespace {

constexpr double kNear = hw::kFarLineNs / 3, kFar = hw::kFarLineNs + 1, kInterrupted = 1e5;

TEST(Distance, is_near_until_something_says_otherwise) {
  const Distance distance;
  EXPECT_FALSE(distance.is_far());
  EXPECT_TRUE(distance.is_measured());
}

TEST(Distance, is_far_where_the_caches_are_two) {
  Distance distance;
  EXPECT_FALSE(distance.compare(1, 1)) << "near as before";
  EXPECT_FALSE(distance.is_measured());
  EXPECT_TRUE(distance.compare(1, 9)) << "the peer moved";
  EXPECT_TRUE(distance.is_far());
  EXPECT_FALSE(distance.compare(2, 9));
  EXPECT_TRUE(distance.compare(9, 9)) << "this process followed it";
  EXPECT_FALSE(distance.is_far());
}

TEST(Distance, is_measured_where_the_system_of_either_side_does_not_tell) {
  for (const auto& [own, peers] :
       {std::pair{hw::kNoCache, 1u}, {1u, hw::kNoCache}, {hw::kNoCache, hw::kNoCache}}) {
    Distance distance;
    EXPECT_FALSE(distance.compare(own, peers));
    EXPECT_TRUE(distance.is_measured());
  }
  Distance distance;
  EXPECT_TRUE(distance.compare(1, 2));
  EXPECT_FALSE(distance.note(kNear)) << "what the system tells is not measured";
  EXPECT_FALSE(distance.compare(1, hw::kNoCache));
  EXPECT_TRUE(distance.is_far()) << "until it is measured";
}

TEST(Distance, is_what_the_first_probe_says_and_then_what_the_last_ones_agree_on) {
  Distance first;
  EXPECT_FALSE(first.note(kInterrupted)) << "says nothing";
  EXPECT_TRUE(first.note(kFar));
  EXPECT_EQ(first.verdict(), Verdict::far);
  Distance distance;
  EXPECT_FALSE(distance.note(kNear)) << "near as before";
  EXPECT_EQ(distance.verdict(), Verdict::near);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(distance.note(i % 2 == 0 ? kFar : kNear)) << "they do not agree";
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(distance.note(kInterrupted)) << "says nothing";
  unsigned probes = 1;
  for (; !distance.note(kFar); ++probes) ASSERT_LT(probes, kProbes);
  EXPECT_TRUE(distance.is_far());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(distance.note(i % 2 == 0 ? kFar : kNear));
  for (probes = 1; !distance.note(kNear); ++probes) ASSERT_LT(probes, kProbes);
  EXPECT_FALSE(distance.is_far());
}

TEST(Distance, is_what_the_peer_has_measured_where_no_probe_decides) {
  Distance distance;
  EXPECT_FALSE(distance.believe(Verdict::none));
  EXPECT_TRUE(distance.believe(Verdict::far));
  EXPECT_TRUE(distance.is_far());
  EXPECT_EQ(distance.verdict(), Verdict::none) << "the peer is not told what it has said itself";
  for (std::uint32_t i = 0; i < kProbes; ++i) distance.note(kNear);
  EXPECT_FALSE(distance.is_far());
  EXPECT_EQ(distance.verdict(), Verdict::near);
  EXPECT_FALSE(distance.believe(Verdict::far)) << "probes have decided since the last call";
  EXPECT_EQ(distance.verdict(), Verdict::near);
  EXPECT_TRUE(distance.believe(Verdict::far)) << "none has";
  EXPECT_EQ(distance.verdict(), Verdict::none);
  EXPECT_FALSE(distance.compare(1, 2)) << "far, too";
  EXPECT_FALSE(distance.believe(Verdict::near)) << "the system tells";
}

TEST(Distance, that_the_user_says_stays) {
  for (const bool far : {false, true}) {
    Distance distance;
    distance.force(far);
    EXPECT_FALSE(distance.is_measured());
    EXPECT_FALSE(distance.compare(1, far ? 1 : 2));
    EXPECT_FALSE(distance.believe(far ? Verdict::near : Verdict::far));
    EXPECT_FALSE(distance.needs_probes()) << "the system tells the peer, too";
    EXPECT_FALSE(distance.compare(1, hw::kNoCache));
    EXPECT_TRUE(distance.needs_probes()) << "the peer may measure";
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(distance.note(far ? kNear : kFar));
    EXPECT_EQ(distance.is_far(), far);
  }
}

/// The calling thread stays where it is, so that a device need not ask for the cache again.
class Pinned {
 public:
  Pinned() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(::sched_getcpu(), &here);
    ::sched_setaffinity(0, sizeof here, &here);
  }
  ~Pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_;
};

/// Two devices that are told which caches they use.
class ToldDistance : public ::testing::Test {
 protected:
  ToldDistance() {
    const auto cache = [](const Attached& segment) -> auto& {
      return view(segment).header().last_cache;
    };
    own_ = map_hub(a_.address());
    peers_ = map_hub(b_.address());
    if (own_) cache(*own_).store(3);
    if (peers_) cache(*peers_).store(3);
    link_ = a_.connect(b_);
  }
  void move_peer(std::uint32_t cache) { view(*peers_).header().last_cache.store(cache); }
  bool is_far() const { return a_.limits(link_).far != 0; }

  const Pinned pinned_;
  Node a_{1, {{"STRIA_SHM_DISTANCE", "auto"}}}, b_{2, {{"STRIA_SHM_DISTANCE", "auto"}}};
  Result<Attached> own_ = Error{}, peers_ = Error{};
  stria_link_t* link_ = nullptr;
};

TEST_F(ToldDistance, is_compared_again_at_each_check) {
  ASSERT_NE(link_, nullptr) << a_.error;
  EXPECT_FALSE(is_far());
  move_peer(4);
  const unsigned before = a_.changes;
  a_.check();
  EXPECT_TRUE(is_far());
  EXPECT_EQ(a_.changes, before + 1);
  a_.check();
  EXPECT_EQ(a_.changes, before + 1) << "nothing new";
  move_peer(3);
  a_.check();
  EXPECT_FALSE(is_far());
  EXPECT_EQ(a_.changes, before + 2);
}

/// What probes lie in a window, taken or not.
std::uint32_t probes_in(const Node& node, std::uint64_t worker_id) {
  const auto segment = map_hub(node.address());
  if (!segment) return 0;
  const SegmentView hub = view(*segment);
  const std::byte* window = hub.window(hub.peer(slot_of(hub, worker_id)).window);
  std::uint32_t probes = 0;
  for (std::uint32_t at = 0; at < hub.shape().window_bytes; at += kLine)
    if (control_kind(hw::load_word(window + at)) == RecordKind::probe) ++probes;
  return probes;
}

TEST_F(ToldDistance, needs_no_probes) {
  ASSERT_NE(link_, nullptr) << a_.error;
  a_.progress(), b_.progress(), a_.progress();
  ASSERT_EQ(a_.pio(link_, header(1), {}), Status::ok);
  a_.check(), b_.check();
  EXPECT_EQ(probes_in(b_, 1), 0u);
}

TEST_F(ToldDistance, is_probed_once_a_side_tells_nothing) {
  ASSERT_NE(link_, nullptr) << a_.error;
  b_.progress(), a_.progress();
  move_peer(hw::kNoCache);
  a_.check();
  EXPECT_EQ(probes_in(b_, 1), 0u) << "the window was not used";
  ASSERT_EQ(a_.pio(link_, header(1), {}), Status::ok);
  a_.check();
  EXPECT_EQ(probes_in(b_, 1), 1u);
  a_.check();
  EXPECT_EQ(probes_in(b_, 1), 1u) << "and not since";
  EXPECT_EQ(b_.progress(), 1u) << "they are no packets";
  ASSERT_EQ(b_.got.size(), 1u);
  EXPECT_EQ(b_.got.front().header.tag, 1u);
}

TEST_F(ToldDistance, is_taken_from_the_peer_that_has_measured_it) {
  ASSERT_NE(link_, nullptr) << a_.error;
  b_.progress(), a_.progress();
  move_peer(hw::kNoCache);
  const SegmentView peers = view(*peers_);
  auto& verdict = peers.peer(slot_of(peers, 1)).distance;
  verdict.store(static_cast<std::uint32_t>(Verdict::far));
  const unsigned before = a_.changes;
  a_.check();
  EXPECT_TRUE(is_far());
  EXPECT_EQ(a_.changes, before + 1);
  verdict.store(static_cast<std::uint32_t>(Verdict::none));
  a_.check();
  EXPECT_TRUE(is_far()) << "nothing new";
}

TEST(Distance, a_probe_of_another_length_ends_the_link) {
  for (const std::uint32_t bytes : {0u, kProbeBytes - 1, kProbeBytes + 1, kMaxRecordBytes}) {
    Visitor visitor(
        2, [=](const Visit& visit) { return forge(visit, make_control(RecordKind::probe, bytes), 0); });
    Node hub(1);
    visitor.connect_to(hub);
    ASSERT_TRUE(until([&] { return hub.ups.count(2) > 0; }, [&] { hub.progress(); }));
    visitor.act();
    ASSERT_TRUE(until([&] { return hub.downs.count(2) > 0; }, [&] { hub.progress(), hub.check(); })) << bytes;
    EXPECT_EQ(hub.downs[2], Status::io_error);
  }
}

/// Random payloads, contiguous at any address and in blocks, through cells to a device that says `distance`.
void cells_arrive_intact(const char* distance, const char* cell_bytes) {
  SCOPED_TRACE(std::string(distance) + ", cells of " + cell_bytes);
  const auto seed = static_cast<unsigned>(stria::test::from_environment("STRIA_TEST_SEED", 20234));
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const Settings settings = {
      {"STRIA_SHM_DISTANCE", distance}, {"STRIA_SHM_CELL_BYTES", cell_bytes}, {"STRIA_SHM_CELLS", "40"}};
  Node a(1, settings), b(2, settings);
  ASSERT_EQ(a.opened, Status::ok) << a.error;
  stria_link_t* link = a.connect(b);
  ASSERT_NE(link, nullptr) << a.error;
  b.progress();  // it sees us, and probes go
  std::mt19937 random(seed);
  const std::uint32_t most = a.limits(link).eager_max;
  const Bytes memory = pattern(seed, 8 * most);
  for (unsigned i = 0; i < 2000; ++i) {
    const std::uint32_t bytes = 2000 + random() % (most - 2000 + 1);
    const std::int64_t block = 1 + random() % 200, gap = random() % 100;
    const auto blocks = static_cast<std::int64_t>(bytes) / block + 1;
    const auto layout = *datatype::Layout::strided(blocks, block + gap, datatype::Layout::bytes(block));
    stria_payload_t payload{nullptr, const_cast<std::byte*>(memory.data()) + random() % 100, most, 0, bytes};
    if (random() % 2 != 0 && layout.true_extent() < static_cast<std::int64_t>(7 * most)) {
      payload.layout = &layout;
      payload.count = 1;
      payload.offset =
          static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(layout.size()) - bytes + 1));
    }
    Bytes expected(bytes);
    transport::pack(payload, expected.data());
    const stria_header_t head = header(i);
    ASSERT_EQ(Node::ops().eager_send(link, &head, &payload), STRIA_OK);
    ASSERT_TRUE(until([&] { return !b.got.empty(); }, [&] { b.progress(); }));
    ASSERT_EQ(b.got.front().header.tag, i);
    ASSERT_EQ(b.got.front().payload, expected) << "packet " << i << ", " << bytes << " bytes";
    b.got.clear();
    if (i % 32 == 0) a.check(), b.check();
  }
}
TEST(Distance, cells_of_near_peers_arrive_intact) {
  cells_arrive_intact("near", "32K");
}
TEST(Distance, cells_of_far_peers_arrive_intact) {
  cells_arrive_intact("far", "32K");
}
TEST(Distance, odd_cells_of_far_peers_arrive_intact) {
  cells_arrive_intact("far", "4160");
}
TEST(Distance, cells_arrive_intact_while_it_is_found_out) {
  cells_arrive_intact("auto", "16K");
}

}  // namespace
}  // namespace stria::shm::test
