// Atomics on a real device: what the owner's adapter refuses, what one costs, many among reads and messages;
// and through the API, where the adapter performs them if the owner has nothing else, and its engine if it
// has.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <set>

#include "stria/stria.hpp"
#include "tests/transport/verbs/world.hpp"
#include "transport/verbs/packets.hpp"

namespace stria::verbs::test {
namespace {

namespace st = stria::api;
constexpr unsigned kAtomic = STRIA_ACCESS_REMOTE_ATOMIC;

class AtomicPair : public Pair {
 protected:
  void SetUp() override {
    if (!a->has(STRIA_CAP_ATOMICS)) GTEST_SKIP() << "the device has no atomics";
  }
  stria_provider_key_t key_of_words(unsigned access) {
    stria_provider_key_t key{};
    EXPECT_EQ(b->fast_register(contract::contiguous(words_.data(), sizeof words_), access, key), Status::ok);
    return key;
  }
  static stria_remote_atomic_t add(std::uint64_t& before, std::uint64_t operand = 1) {
    return {STRIA_ATOMIC_FETCH_ADD, 0, 8, operand, 0, &before};
  }
  alignas(64) std::array<std::uint64_t, 8> words_{};
};

TEST_F(AtomicPair, is_one_work_request_and_one_doorbell) {
  const auto key = key_of_words(kAtomic);
  std::uint64_t before = 9;
  Ending ending;
  const Costs costs(*a);
  ASSERT_EQ(a->atomic(to_b, add(before), key, ending), Status::in_progress);
  ASSERT_TRUE(progress_until([&] { return ending.calls == 1; }));
  EXPECT_EQ(ending.status, Status::ok);
  EXPECT_EQ(before, 0u);
  EXPECT_EQ(words_[1], 1u);
  EXPECT_EQ(costs.work_requests(), 1u);
  EXPECT_EQ(costs.doorbells(), 1u);
  EXPECT_EQ(b->invalidate(key), Status::ok);
}

TEST_F(AtomicPair, without_the_right_is_refused_by_the_owners_adapter) {
  auto key = key_of_words(STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE);
  KeyData data{};
  std::memcpy(&data, key.data, sizeof data);
  data.access |= kAtomic;  // else it is refused here
  std::memcpy(key.data, &data, sizeof data);
  std::uint64_t before = 9;
  Ending ending;
  ASSERT_EQ(a->atomic(to_b, add(before), key, ending), Status::in_progress);
  ASSERT_TRUE(drive([&] { return ending.calls == 1; }));
  EXPECT_TRUE(ending.status == Status::access_error || ending.status == Status::peer_failed)
      << to_string(ending.status);
  EXPECT_EQ(before, 9u) << "nothing was told";
  EXPECT_EQ(words_[1], 0u);
}

TEST_F(AtomicPair, by_a_key_that_ended_is_refused_by_the_owners_adapter) {
  const auto key = key_of_words(kAtomic);
  EXPECT_EQ(b->invalidate(key), Status::ok);
  std::uint64_t before = 9;
  Ending ending;
  ASSERT_EQ(a->atomic(to_b, add(before), key, ending), Status::in_progress);
  ASSERT_TRUE(drive([&] { return ending.calls == 1; }));
  EXPECT_TRUE(ending.status == Status::access_error || ending.status == Status::peer_failed)
      << to_string(ending.status);
  EXPECT_EQ(before, 9u);
  EXPECT_EQ(words_[1], 0u);
  EXPECT_TRUE(drive([&] { return a->downs.size() == 1 && b->downs.size() == 1; }));
}

// More than the adapters let be under way, than the ring holds, and than there are slots; reads and packets
// between them.
TEST_F(AtomicPair, many_among_reads_and_packets_are_performed_once_each) {
  constexpr std::size_t kAtomics = 2000;
  const auto key = key_of_words(kAtomic);
  Bytes source = pattern(1, 100000), sink(source.size());
  const auto readable = key_of_b(source, STRIA_ACCESS_REMOTE_READ);
  struct One {
    Ending ending;
    std::uint64_t before = 0;
  };
  std::deque<One> all(kAtomics);
  std::deque<Ending> reads;
  std::size_t started = 0, packets = 0;
  const std::size_t received = b->received.size();
  ASSERT_TRUE(drive([&] {
    for (; started < kAtomics; ++started) {
      const Status status = a->atomic(to_b, add(all[started].before), key, all[started].ending);
      if (status == Status::no_resource) break;
      EXPECT_EQ(status, Status::in_progress);
      if (started % 50 == 0) {
        Ending& read = reads.emplace_back();
        const Status reading = a->get(to_b, contract::contiguous(sink), readable, 0, read);
        if (reading != Status::in_progress) reads.pop_back();
      }
      const Bytes data = pattern(started, 20);
      if (started % 10 == 0 && a->try_send(to_b, Path::buffered, header(1), data.data(), 20) == Status::ok)
        ++packets;
    }
    return started == kAtomics && all.back().ending.calls > 0;
  }));
  ASSERT_TRUE(drive([&] {
    return b->received.size() == received + packets &&
           std::all_of(reads.begin(), reads.end(), [](const Ending& one) { return one.calls == 1; }) &&
           std::all_of(all.begin(), all.end(), [](const One& one) { return one.ending.calls == 1; });
  }));
  std::set<std::uint64_t> numbers;
  for (const One& one : all) {
    EXPECT_EQ(one.ending.status, Status::ok);
    EXPECT_TRUE(numbers.insert(one.before).second) << one.before << " was given twice";
  }
  for (const Ending& one : reads) EXPECT_EQ(one.status, Status::ok);
  EXPECT_FALSE(reads.empty());
  EXPECT_GT(packets, 0u);
  EXPECT_EQ(words_[1], kAtomics);
  EXPECT_EQ(sink, source);
}

// ---- through the API --------------------------------------------------------------------------------------

bool device_has_atomics() {
  return Peer(verbs_provider(), 1).has(STRIA_CAP_ATOMICS);
}

struct Opened {
  static st::Context open(const char* providers) {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", providers, "test"), STRIA_OK);
    return st::Context();
  }
  explicit Opened(const char* providers) : context(open(providers)), worker(context) {}
  st::Context context;
  st::Worker worker;
};

struct Adds {
  struct One {
    st::Request request;
    std::uint64_t before = 0;
    st::Status answer = STRIA_OK;
  };
  Adds(const Opened& from, const Opened& owner, const st::Region& region)
      : to(from.worker, owner.worker.address()), key(to, region.key()) {}
  void start(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      One& one = all.emplace_back();
      one.answer = to.fetch_add(key, 8, 1, one.before, one.request);
      ASSERT_GE(one.answer, STRIA_OK) << stria_last_error();
    }
  }
  bool ended() const {
    return std::none_of(all.begin(), all.end(), [](const One& one) { return one.request.active(); });
  }
  void expect_all_good() const {
    for (const One& one : all) EXPECT_EQ(one.request.test(), STRIA_OK);
  }
  st::Endpoint to;
  st::Key key;
  std::deque<One> all;
};

bool progress_until(std::initializer_list<Opened*> who, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done() && std::chrono::steady_clock::now() < end) {
    unsigned handled = 0;
    for (Opened* one : who) handled += one->worker.progress();
    if (handled == 0) std::this_thread::yield();
  }
  return done();
}

TEST(AtomicLibrary, leaves_them_to_the_adapter_where_the_owner_has_nothing_else) {
  const bool adapter = device_has_atomics();
  Opened owner("verbs"), peer("verbs");
  std::vector<std::uint64_t> words(4);
  const st::Region region(owner.worker, words, kAtomic);
  Adds adds(peer, owner, region), own(owner, owner, region);
  adds.start(1);
  ASSERT_TRUE(progress_until({&owner, &peer}, [&] { return adds.ended(); }));
  adds.start(500);
  // The owner makes no progress from here on.
  if (adapter) {
    EXPECT_TRUE(progress_until({&peer}, [&] { return adds.ended(); }));
  } else {
    for (int i = 0; i < 1000; ++i) peer.worker.progress();
    EXPECT_FALSE(adds.ended()) << "nobody can have performed them";
  }
  own.start(50);
  ASSERT_TRUE(progress_until({&owner, &peer}, [&] { return adds.ended() && own.ended(); }));
  adds.expect_all_good();
  own.expect_all_good();
  EXPECT_EQ(words[1], 551u);
}

TEST(AtomicLibrary, has_the_engine_perform_them_where_the_owner_wants_to_take_part) {
  Opened owner("verbs"), peer("verbs");
  std::vector<std::uint64_t> words(4);
  const st::Region region(owner.worker, words, kAtomic | STRIA_ACCESS_ATOMIC_WITH_CPU);
  Adds adds(peer, owner, region);
  adds.start(500);
  std::uint64_t own = 0;
  ASSERT_TRUE(progress_until({&owner, &peer}, [&] {
    __atomic_fetch_add(&words[1], 1, __ATOMIC_RELAXED);
    ++own;
    return adds.ended();
  }));
  adds.expect_all_good();
  EXPECT_EQ(words[1], 500 + own);
  adds.start(1);
  for (int i = 0; i < 1000; ++i) peer.worker.progress();
  EXPECT_FALSE(adds.ended()) << "somebody else performed it";
  ASSERT_TRUE(progress_until({&owner, &peer}, [&] { return adds.ended(); }));
}

TEST(AtomicLibrary, adds_up_what_comes_by_the_adapter_and_by_shared_memory) {
  Opened owner("shm,verbs"), by_verbs("verbs"), by_shm("shm");
  std::vector<std::uint64_t> words(4);
  const st::Region region(owner.worker, words, kAtomic);
  Adds far(by_verbs, owner, region), near(by_shm, owner, region), own(owner, owner, region);
  constexpr unsigned kEach = 300;
  for (unsigned i = 0; i < kEach; i += 20)
    for (Adds* adds : {&far, &near, &own}) adds->start(20);
  ASSERT_TRUE(progress_until({&owner, &by_verbs, &by_shm},
                             [&] { return far.ended() && near.ended() && own.ended(); }));
  std::set<std::uint64_t> numbers;
  for (const Adds* adds : {&far, &near, &own}) {
    adds->expect_all_good();
    for (const Adds::One& one : adds->all) EXPECT_TRUE(numbers.insert(one.before).second);
  }
  EXPECT_EQ(words[1], 3 * kEach);
}

}  // namespace
}  // namespace stria::verbs::test
