// Puts, gets and atomics beyond what the provider has room for: they wait, in order, and nobody else does
// them in the provider's place.
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

#include "tests/tag/atomic_region.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

constexpr unsigned kAll = kMoves | kAtomic;

class FullQueue : public testing::Test {
 protected:
  static fake::FabricOptions few_at_a_time(std::uint32_t accesses) {
    fake::FabricOptions options = quick();
    options.seed = 38;
    options.delay = 3;
    options.accesses = accesses;
    options.async_percent = 100;
    return options;
  }
  explicit FullQueue(std::uint32_t accesses = 2) : world_(2, few_at_a_time(accesses)) {
    std::iota(there_.begin(), there_.end(), std::uint64_t{1000});
    region_.emplace(world_.worker(1), there_.data(), sizeof there_, kAll);
    key_ = region_->key_for(to());
    ops_.resize(kOps);
  }
  ~FullQueue() override {
    if (key_ != nullptr) stria_key_close(key_);
    region_.reset();
  }
  stria_endpoint_t* to() { return world_.endpoint(0, 1); }
  /// Word `i` of the region, to or from word `i` of here_.
  void move(unsigned i, bool put) {
    const stria_rma_t rma{&here_[i], nullptr, 8, key_, 8 * std::uint64_t{i}, &FullQueue::on_done, &ops_[i]};
    ops_[i].answer = put ? stria_put(to(), &rma, &ops_[i].request) : stria_get(to(), &rma, &ops_[i].request);
    ASSERT_EQ(ops_[i].answer, STRIA_IN_PROGRESS) << stria_last_error();
  }
  void move_all() {
    for (unsigned i = 0; i < kOps; ++i) move(i, i % 2 == 0);
  }
  static void on_done(stria_request_t* request, const stria_info_t* info, void* user) {
    Op::on_done(request, info, user);
    ended().push_back(static_cast<Op*>(user));
  }
  static std::vector<Op*>& ended() {
    static std::vector<Op*> all;
    return all;
  }
  /// The target is passive: its worker is not called at all.
  bool initiator_ends_all() {
    for (int i = 0; i < 100000 && ended().size() < kOps; ++i) stria_worker_progress(world_.worker(0));
    return ended().size() == kOps;
  }
  void SetUp() override { ended().clear(); }

  static constexpr unsigned kOps = 300;
  World world_;
  std::array<std::uint64_t, kOps> here_{}, there_{};
  std::optional<Shared> region_;
  stria_key_t* key_ = nullptr;
  std::deque<Op> ops_;
};

class QueueOfOne : public FullQueue {
 protected:
  QueueOfOne() : FullQueue(1) {}
};

TEST_F(FullQueue, makes_puts_and_gets_wait_for_the_provider_and_no_engine_serves_them) {
  std::iota(here_.begin(), here_.end(), std::uint64_t{5000});
  move_all();
  EXPECT_GT(fake::statistics(world_.fabric()).refused, 0u) << "the queue was never full";
  ASSERT_TRUE(initiator_ends_all()) << ended().size() << " ended without the target's help";
  for (unsigned i = 0; i < kOps; ++i) {
    const std::uint64_t expected = i % 2 == 0 ? 5000 + i : 1000 + i;
    ASSERT_EQ(here_[i], expected) << i;
    ASSERT_EQ(there_[i], expected) << i;
    ASSERT_EQ(ops_[i].info.status, STRIA_OK);
    ASSERT_EQ(ops_[i].info.received, 8u);
    ASSERT_EQ(ops_[i].callbacks, 1);
  }
  EXPECT_EQ(counters(world_, 0).fallbacks, 0u) << "operations that the target's engine was asked for";
  EXPECT_EQ(fake::statistics(world_.fabric()).completed_later, kOps);
}

TEST_F(QueueOfOne, lets_operations_begin_in_the_order_of_the_calls) {
  move_all();
  ASSERT_TRUE(initiator_ends_all());
  for (unsigned i = 0; i < kOps; ++i) ASSERT_EQ(ended()[i], &ops_[i]) << "at place " << i;
}

TEST_F(QueueOfOne, lets_atomics_and_puts_begin_in_one_order) {
  std::deque<AtomicOp> atomics(10);
  for (unsigned i = 0; i < 10; ++i) {
    here_[i] = 100 * i;
    const stria_rma_t put{&here_[i], nullptr, 8, key_, 0, &FullQueue::on_done, &ops_[i]};
    ops_[i].answer = stria_put(to(), &put, &ops_[i].request);
    ASSERT_EQ(atomics[i].add(to(), key_), STRIA_IN_PROGRESS);
  }
  for (int i = 0; i < 10000 && !atomics.back().ended(); ++i) stria_worker_progress(world_.worker(0));
  for (unsigned i = 0; i < 10; ++i) {
    ASSERT_EQ(atomics[i].outcome(), STRIA_OK);
    EXPECT_EQ(atomics[i].before, 100 * i) << "the atomic behind put " << i;
  }
}

TEST_F(FullQueue, does_not_need_the_key_that_the_caller_closed) {
  move_all();
  stria_key_close(std::exchange(key_, nullptr));
  ASSERT_TRUE(initiator_ends_all());
  for (const Op& op : ops_) ASSERT_EQ(op.info.status, STRIA_OK);
}

TEST_F(FullQueue, is_ended_by_the_death_of_the_peer) {
  move_all();
  world_.kill(1, fake::Loss::none);
  ASSERT_TRUE(world_.run_until([&] { return ended().size() == kOps; })) << "an operation hangs";
  unsigned failed = 0;
  for (const Op& op : ops_) {
    ASSERT_EQ(op.callbacks, 1);
    ASSERT_TRUE(op.info.status == STRIA_OK || op.info.status == STRIA_ERR_PEER_FAILED);
    failed += op.info.status == STRIA_OK ? 0 : 1;
  }
  EXPECT_GT(failed, kOps / 2);
}

TEST_F(FullQueue, is_ended_by_the_worker_that_closes) {
  move_all();
  world_.close(0);
  for (const Op& op : ops_) {
    ASSERT_EQ(op.callbacks, 1);
    ASSERT_TRUE(op.info.status == STRIA_OK || op.info.status == STRIA_ERR_CANCELLED);
  }
}

TEST_F(FullQueue, ends_what_waits_for_a_region_that_goes) {
  move_all();
  region_.reset();
  ASSERT_TRUE(initiator_ends_all());
  for (const Op& op : ops_) ASSERT_EQ(op.info.status, STRIA_ERR_ACCESS);
}

TEST_F(FullQueue, of_a_path_that_is_refused_later_goes_to_the_engine) {
  std::iota(here_.begin(), here_.end(), std::uint64_t{5000});
  move_all();
  fake::refuse_copies(world_.fabric());
  ASSERT_TRUE(world_.run_until([&] { return ended().size() == kOps; })) << "an operation hangs";
  for (unsigned i = 0; i < kOps; ++i) {
    ASSERT_EQ(ops_[i].info.status, STRIA_OK);
    ASSERT_EQ(here_[i], there_[i]) << i;
  }
  EXPECT_GT(counters(world_, 0).fallbacks, kOps / 2);
}

// Each callback starts one more, which has to wait behind those that wait already.
TEST_F(FullQueue, takes_what_callbacks_start) {
  struct Chain {
    stria_endpoint_t* to = nullptr;
    const stria_key_t* key = nullptr;
    unsigned left = 20;
    std::uint64_t word = 7;
    stria_request_t requests[2];
    void start() {
      const stria_rma_t put{&word, nullptr, 8, key, 0, &Chain::on_done, this};
      ASSERT_EQ(stria_put(to, &put, &requests[--left % 2]), STRIA_IN_PROGRESS);
    }
    static void on_done(stria_request_t*, const stria_info_t* info, void* user) {
      EXPECT_EQ(info->status, STRIA_OK);
      auto& chain = *static_cast<Chain*>(user);
      chain.left > 0 ? chain.start() : static_cast<void>(++over());
    }
    static unsigned& over() {
      static unsigned count = 0;
      return count;
    }
  };
  std::deque<Chain> chains;
  for (unsigned i = 0; i < 10; ++i) {
    Chain& chain = chains.emplace_back();
    chain.to = to();
    chain.key = key_;
    chain.start();
  }
  for (int i = 0; i < 100000 && Chain::over() < 10; ++i) stria_worker_progress(world_.worker(0));
  EXPECT_EQ(Chain::over(), 10u);
  EXPECT_EQ(counters(world_, 0).fallbacks, 0u);
}

}  // namespace
}  // namespace stria::test
