// Atomics of the API by one way: by the peer's adapter, or by the engine of the owner. What they promise and
// how they end. Workers of one fake fabric; several ways for one region are in atomic_ways_test.cpp.
#include <deque>
#include <functional>
#include <set>

#include "tests/tag/atomic_region.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

struct Way {
  const char* name;
  bool adapter;  ///< its device has atomics
  unsigned access;
  bool performs;  ///< and performs those of the region
};
std::ostream& operator<<(std::ostream& out, const Way& way) {
  return out << way.name;
}

class Atomics : public testing::TestWithParam<Way> {
 protected:
  static fake::FabricOptions rough() {
    fake::FabricOptions out;
    out.seed = 77;
    out.delay = 5;
    out.queue = 4;
    out.no_resource_percent = 40;
    out.async_percent = 60;
    out.atomics = GetParam().adapter;
    return out;
  }
  explicit Atomics(unsigned size = 4) : world_(size, rough()) {}
  stria_status_t finish(AtomicOp& op) {
    EXPECT_TRUE(world_.run_until([&] { return op.answer < 0 || op.ended(); }));
    return op.outcome();
  }
  World world_;
  alignas(16) std::uint64_t words_[64] = {};
};

TEST_P(Atomics, of_many_workers_add_up_and_no_number_is_given_twice) {
  constexpr unsigned kEach = 200;
  words_[3] = 1000;
  const Shared region(world_.worker(0), words_, sizeof words_, GetParam().access);
  struct Side {
    stria_key_t* key;
    std::deque<AtomicOp> ops{};
  };
  std::vector<Side> sides;
  for (unsigned rank = 0; rank < world_.size(); ++rank)  // the owner, too
    sides.push_back({region.key_for(world_.endpoint(rank, 0))});
  for (unsigned i = 0; i < kEach; ++i) {
    for (unsigned rank = 0; rank < world_.size(); ++rank) {
      AtomicOp& op = sides[rank].ops.emplace_back();
      ASSERT_GE(op.add(world_.endpoint(rank, 0), sides[rank].key, 1, 24), 0) << stria_last_error();
    }
    if (i % 16 == 0) world_.step();
  }
  for (const Side& side : sides) stria_key_close(side.key);  // those under way do not need it
  std::set<std::uint64_t> numbers;
  for (Side& side : sides)
    for (AtomicOp& op : side.ops) {
      ASSERT_EQ(finish(op), STRIA_OK);
      EXPECT_TRUE(numbers.insert(op.before).second) << op.before << " was given twice";
      if (op.answer != STRIA_IN_PROGRESS) continue;
      EXPECT_EQ(op.callbacks, 1);
      EXPECT_EQ(op.info.length, 8u);
      EXPECT_EQ(op.info.received, 8u);
      EXPECT_EQ(op.info.source, stria_worker_id(world_.worker(0)));
    }
  EXPECT_EQ(*numbers.begin(), 1000u);
  EXPECT_EQ(words_[3], 1000 + kEach * world_.size());
  EXPECT_EQ(words_[2], 0u);
  EXPECT_EQ(words_[4], 0u);
  EXPECT_EQ(fake::statistics(world_.fabric()).atomics, GetParam().performs ? kEach * world_.size() : 0u)
      << "performed by the adapter";
}

// A word is the lock, the next one a counter that is read and written by get and put under it.
TEST_P(Atomics, compare_swap_makes_a_lock) {
  constexpr unsigned kRounds = 20;
  const Shared region(world_.worker(0), words_, sizeof words_, GetParam().access | kMoves);
  struct Side {
    enum { wants, reads, writes, leaves } state = wants;
    stria_key_t* key = nullptr;
    unsigned rounds = 0;
    bool busy = false;
    AtomicOp lock{};
    Op move{};
    std::uint64_t value = 0;
  };
  std::deque<Side> sides(world_.size());
  for (unsigned rank = 0; rank < world_.size(); ++rank)
    sides[rank].key = region.key_for(world_.endpoint(rank, 0));
  unsigned inside = 0;
  const auto step = [&](unsigned rank) {
    Side& side = sides[rank];
    stria_endpoint_t* const to = world_.endpoint(rank, 0);
    const std::uint64_t name = rank + 1;
    const auto move = [&](bool put) {
      const stria_rma_t rma{&side.value, nullptr, 8, side.key, 8, &Op::on_done, &side.move};
      side.move.callbacks = 0;
      side.move.answer =
          put ? stria_put(to, &rma, &side.move.request) : stria_get(to, &rma, &side.move.request);
      ASSERT_GE(side.move.answer, 0) << stria_last_error();
    };
    if (side.rounds == kRounds) return;
    if (!side.busy) {  // start what the state is about
      side.busy = true;
      if (side.state == Side::wants) side.lock.swap(to, side.key, 0, name);
      if (side.state == Side::leaves) side.lock.swap(to, side.key, name, 0);
      if (side.state == Side::reads) move(false);
      if (side.state == Side::writes) move(true);
      return;
    }
    const bool moves = side.state == Side::reads || side.state == Side::writes;
    Op& op = moves ? side.move : side.lock;
    if (!op.ended()) return;
    side.busy = false;
    switch (side.state) {
      case Side::wants:
        ASSERT_EQ(side.lock.outcome(), STRIA_OK);
        if (side.lock.before != 0) return;  // it is another's: once more
        ASSERT_EQ(++inside, 1u) << "two hold the lock";
        side.state = Side::reads;
        break;
      case Side::reads:
        ++side.value;
        side.state = Side::writes;
        break;
      case Side::writes:
        --inside;
        side.state = Side::leaves;
        break;
      case Side::leaves:
        ASSERT_EQ(side.lock.before, name) << "the lock was not its own";
        ++side.rounds;
        side.state = Side::wants;
        break;
    }
  };
  EXPECT_TRUE(world_.run_until([&] {
    bool over = true;
    for (unsigned rank = 0; rank < world_.size(); ++rank) {
      step(rank);
      over = over && sides[rank].rounds == kRounds;
    }
    return over || HasFatalFailure();
  }));
  EXPECT_EQ(words_[0], 0u);
  EXPECT_EQ(words_[1], kRounds * world_.size());
  for (const Side& side : sides) stria_key_close(side.key);
}

TEST_P(Atomics, say_what_is_wrong_and_change_nothing) {
  stria_endpoint_t* const to = world_.endpoint(1, 0);
  AtomicOp op;
  const auto outcome_of = [&](const Shared& region, std::uint64_t offset) {
    stria_key_t* key = region.key_for(to);
    op.before = 77;
    op.add(to, key, 1, offset);
    const stria_status_t outcome = finish(op);
    stria_key_close(key);
    EXPECT_TRUE(outcome == STRIA_OK || op.before == 77u);
    return outcome;
  };
  {
    const Shared region(world_.worker(0), words_, sizeof words_, GetParam().access);
    EXPECT_EQ(outcome_of(region, 4), STRIA_ERR_INVALID);
    EXPECT_NE(std::string(stria_last_error()).find("multiple of 8"), std::string::npos) << stria_last_error();
    EXPECT_EQ(outcome_of(region, sizeof words_), STRIA_ERR_ACCESS);
    EXPECT_EQ(outcome_of(region, ~std::uint64_t{7}), STRIA_ERR_ACCESS);
    EXPECT_EQ(outcome_of(region, sizeof words_ - 8), STRIA_OK);
    EXPECT_EQ(words_[63]--, 1u);
  }
  {
    const Shared region(world_.worker(0), words_, 12, GetParam().access);
    EXPECT_EQ(outcome_of(region, 8), STRIA_ERR_ACCESS) << "half of the word is not the region's";
  }
  {
    const Shared region(world_.worker(0), words_, sizeof words_, kMoves);
    EXPECT_EQ(outcome_of(region, 0), STRIA_ERR_ACCESS) << "without the right";
  }
  {
    const Shared region(world_.worker(0), reinterpret_cast<char*>(words_) + 4, 64, GetParam().access);
    EXPECT_EQ(outcome_of(region, 8), STRIA_ERR_INVALID) << "misaligned";
  }
  {
    stria_layout_t *four = nullptr, *halves = nullptr;
    ASSERT_EQ(stria_layout_bytes(4, &four), STRIA_OK);
    ASSERT_EQ(stria_layout_vector(8, 1, 8, four, &halves), STRIA_OK);
    const Shared region(world_.worker(0), words_, 0, GetParam().access, halves);
    EXPECT_EQ(outcome_of(region, 8), STRIA_ERR_INVALID) << "the word lies in pieces";
    stria_layout_free(halves);
    stria_layout_free(four);
  }
  {
    Shared region(world_.worker(0), words_, sizeof words_, GetParam().access);
    stria_key_t* key = region.key_for(to);
    op.add(to, key);
    EXPECT_EQ(finish(op), STRIA_OK);
    --words_[0];
    region.end();
    op.add(to, key);
    EXPECT_EQ(finish(op), STRIA_ERR_ACCESS) << "a stale key";
    stria_key_close(key);
  }
  for (const std::uint64_t word : words_) EXPECT_EQ(word, 0u);
}

TEST_P(Atomics, reach_the_words_of_a_layout) {
  stria_layout_t *eight = nullptr, *column = nullptr;
  ASSERT_EQ(stria_layout_bytes(8, &eight), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(8, 1, 64, eight, &column), STRIA_OK);
  const Shared region(world_.worker(0), words_ + 2, 0, GetParam().access, column);
  stria_layout_free(column);
  stria_layout_free(eight);
  stria_key_t* key = region.key_for(world_.endpoint(1, 0));
  for (std::uint64_t row = 0; row < 8; ++row) {
    AtomicOp op;
    op.add(world_.endpoint(1, 0), key, 10 + row, 8 * row);
    ASSERT_EQ(finish(op), STRIA_OK);
    EXPECT_EQ(words_[2 + 8 * row], 10 + row);
  }
  stria_key_close(key);
}

TEST_P(Atomics, cannot_be_cancelled) {
  const Shared region(world_.worker(0), words_, sizeof words_, GetParam().access);
  stria_key_t* key = region.key_for(world_.endpoint(1, 0));
  AtomicOp op;
  do op.add(world_.endpoint(1, 0), key);
  while (op.answer == STRIA_OK);
  EXPECT_EQ(stria_request_cancel(world_.worker(1), &op.request), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(finish(op), STRIA_OK);
  stria_key_close(key);
}

TEST_P(Atomics, to_a_peer_that_dies_all_end) {
  Shared region(world_.worker(0), words_, sizeof words_, GetParam().access);
  stria_endpoint_t* const to = world_.endpoint(1, 0);
  stria_key_t* key = region.key_for(to);
  std::deque<AtomicOp> ops(100);
  unsigned started = 0;
  for (AtomicOp& op : ops) {
    ASSERT_GE(op.add(to, key), 0);
    started += op.answer == STRIA_IN_PROGRESS ? 1 : 0;
  }
  for (int i = 0; i < 3; ++i) world_.step();
  world_.kill(0, fake::Loss::random);
  EXPECT_GT(started, 0u);
  unsigned failed = 0;
  for (AtomicOp& op : ops) {
    ASSERT_TRUE(world_.run_until([&] { return op.ended(); })) << "an atomic hangs";
    const stria_status_t outcome = op.outcome();
    EXPECT_TRUE(outcome == STRIA_OK || outcome == STRIA_ERR_PEER_FAILED) << stria_status_string(outcome);
    failed += outcome == STRIA_OK ? 0 : 1;
  }
  EXPECT_GT(failed, 0u);
  AtomicOp late;
  EXPECT_EQ(late.add(to, key), STRIA_ERR_PEER_FAILED);
  stria_key_close(key);
  region.end();
}

TEST_P(Atomics, of_a_worker_that_closes_end) {
  const Shared region(world_.worker(0), words_, sizeof words_, GetParam().access);
  stria_key_t* key = region.key_for(world_.endpoint(1, 0));
  AtomicOp first;
  first.add(world_.endpoint(1, 0), key);
  ASSERT_EQ(finish(first), STRIA_OK);
  std::deque<AtomicOp> ops(100);
  unsigned cancelled = 0;
  for (AtomicOp& op : ops) ASSERT_GE(op.add(world_.endpoint(1, 0), key), 0);
  stria_key_close(key);
  world_.close(1);  // nobody lets the owner progress
  for (AtomicOp& op : ops) {
    EXPECT_TRUE(op.ended());
    cancelled += op.outcome() == STRIA_ERR_CANCELLED ? 1 : 0;
  }
  EXPECT_TRUE(GetParam().performs || cancelled == ops.size()) << cancelled;
}

// The provider has them, and keeps them for long.
TEST(AtomicsOfAProvider, end_when_their_worker_closes) {
  auto options = quick();
  options.async_percent = 99;
  options.delay = 1000000;
  World world(2, options);
  alignas(8) std::uint64_t words[2] = {};
  const Shared region(world.worker(1), words, sizeof words, kAtomic);
  stria_key_t* key = region.key_for(world.endpoint(0, 1));
  std::deque<AtomicOp> ops(20);
  unsigned waiting = 0;
  for (AtomicOp& op : ops) waiting += op.add(world.endpoint(0, 1), key) == STRIA_IN_PROGRESS ? 1 : 0;
  stria_key_close(key);
  world.close(0);
  EXPECT_GT(waiting, 10u);
  for (AtomicOp& op : ops) {
    EXPECT_EQ(op.callbacks, op.answer == STRIA_IN_PROGRESS ? 1 : 0);
    EXPECT_TRUE(op.outcome() == STRIA_OK || op.outcome() == STRIA_ERR_CANCELLED);
  }
}

// Each callback starts the next one.
TEST_P(Atomics, may_be_started_by_a_callback) {
  const Shared region(world_.worker(0), words_, sizeof words_, GetParam().access);
  struct Chain {
    stria_endpoint_t* to;
    stria_key_t* key;
    stria_request_t requests[2];
    std::uint64_t before = 0;
    unsigned left = 50, at = 0;
    void start() {
      while (left > 0) {
        --left;
        const stria_atomic_t args{sizeof args,
                                  STRIA_ATOMIC_FETCH_ADD,
                                  key,
                                  0,
                                  1,
                                  0,
                                  &before,
                                  [](stria_request_t*, const stria_info_t* info, void* user) {
                                    EXPECT_EQ(info->status, STRIA_OK);
                                    static_cast<Chain*>(user)->start();
                                  },
                                  this};
        const stria_status_t answer = stria_atomic(to, &args, &requests[at ^= 1]);
        ASSERT_GE(answer, 0);
        if (answer == STRIA_IN_PROGRESS) return;
      }
    }
  } chain{world_.endpoint(2, 0), region.key_for(world_.endpoint(2, 0)), {}};
  chain.start();
  EXPECT_TRUE(world_.run_until([&] { return words_[0] == 50; }));
  for (int i = 0; i < 100; ++i) world_.step();
  stria_key_close(chain.key);
}

INSTANTIATE_TEST_SUITE_P(Ways, Atomics,
                         testing::Values(Way{"adapter", true, kAtomic, true},
                                         Way{"engine", false, kAtomic, false},
                                         Way{"engine_for_the_cpus_sake", true, kWithCpu, false}),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace stria::test
