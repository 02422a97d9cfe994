// Atomics of the API, whatever way they go: by the peer's adapter, by the engine of the owner, by this CPU in
// memory of the owner, or by several of these for one region.
#include <deque>
#include <functional>
#include <set>

#include "tests/tag/shm_team.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

constexpr unsigned kMoves = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;
constexpr unsigned kAtomic = STRIA_ACCESS_REMOTE_ATOMIC;
constexpr unsigned kWithCpu = kAtomic | STRIA_ACCESS_ATOMIC_WITH_CPU;

/// A region and its packed key.
class Shared {
 public:
  Shared(stria_worker_t* owner, void* memory, std::uint64_t bytes, unsigned access,
         const stria_layout_t* layout = nullptr) {
    EXPECT_EQ(stria_region_register(owner, memory, layout, layout == nullptr ? bytes : 1, access, &region_),
              STRIA_OK)
        << stria_last_error();
    EXPECT_EQ(stria_region_key(region_, packed_, &bytes_), STRIA_OK);
  }
  ~Shared() { end(); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  /// A key of an endpoint that leads to the owner; null: the region's memory was not named so.
  stria_key_t* key_for(stria_endpoint_t* endpoint) const {
    stria_key_t* key = nullptr;
    EXPECT_EQ(stria_key_open(endpoint, packed_, bytes_, &key), STRIA_OK) << stria_last_error();
    return key;
  }
  void end() {
    if (region_ != nullptr) {
      EXPECT_EQ(stria_region_deregister(region_), STRIA_OK);
    }
    region_ = nullptr;
  }
  /// The worker that owns it was closed, and the region with it.
  void forget() { region_ = nullptr; }

 private:
  stria_region_t* region_ = nullptr;
  char packed_[STRIA_KEY_MAX];
  size_t bytes_ = sizeof(packed_);
};

struct AtomicOp : Op {
  std::uint64_t before = 0;

  stria_status_t start(stria_endpoint_t* endpoint, const stria_key_t* key, std::uint64_t offset,
                       stria_atomic_op_t what, std::uint64_t operand, std::uint64_t compare = 0) {
    const stria_atomic_t args{sizeof args, what, key, offset, operand, compare, &before, &Op::on_done, this};
    callbacks = 0;
    answer = stria_atomic(endpoint, &args, &request);
    if (answer == STRIA_OK) info.status = STRIA_OK;
    return answer;
  }
  stria_status_t add(stria_endpoint_t* endpoint, const stria_key_t* key, std::uint64_t operand = 1,
                     std::uint64_t offset = 0) {
    return start(endpoint, key, offset, STRIA_ATOMIC_FETCH_ADD, operand);
  }
  stria_status_t swap(stria_endpoint_t* endpoint, const stria_key_t* key, std::uint64_t compare,
                      std::uint64_t operand, std::uint64_t offset = 0) {
    return start(endpoint, key, offset, STRIA_ATOMIC_COMPARE_SWAP, operand, compare);
  }
  stria_status_t outcome() const { return answer == STRIA_IN_PROGRESS ? info.status : answer; }
};

// ---- every way, workers of one fake fabric ----------------------------------------------------------------

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

// ---- several ways for one region
// ---------------------------------------------------------------------------

/// A worker with the providers named, in the fabric that is selected.
class Opened {
 public:
  explicit Opened(const char* providers) {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", providers, "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_CLOSE_TIMEOUT_MS", "20", "test"), STRIA_OK);
    EXPECT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
    EXPECT_EQ(stria_worker_open(context, nullptr, &worker), STRIA_OK) << stria_last_error();
  }
  ~Opened() {
    stria_worker_close(worker);
    stria_context_close(context);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  stria_endpoint_t* to(const Opened& peer) const {
    char address[STRIA_ADDRESS_MAX];
    size_t bytes = sizeof(address);
    EXPECT_EQ(stria_worker_address(peer.worker, address, &bytes), STRIA_OK);
    stria_endpoint_params_t params{};
    params.size = sizeof(params);
    params.address = address;
    params.address_bytes = bytes;
    stria_endpoint_t* endpoint = nullptr;
    EXPECT_EQ(stria_endpoint_open(worker, &params, &endpoint), STRIA_OK) << stria_last_error();
    return endpoint;
  }
  stria_context_t* context = nullptr;
  stria_worker_t* worker = nullptr;
};

// The owner has an adapter, and shared memory beside it: then the adapter performs nothing.
void add_by_two_devices(unsigned access) {
  const bool with_cpu = (access & STRIA_ACCESS_ATOMIC_WITH_CPU) != 0;
  const auto fabric = fake::make_fabric({.seed = 3, .delay = 3, .async_percent = 60});
  const fake::UseFabric use(fabric);
  const Opened owner("fake,shm"), by_fake("fake"), by_shm("shm"), both("shm,fake");
  alignas(16) std::uint64_t words[2] = {};
  const Shared region(owner.worker, words, sizeof words, access | kMoves);
  const Opened* peers[] = {&by_fake, &by_shm, &both, &owner};
  std::vector<stria_key_t*> keys;
  std::vector<stria_endpoint_t*> endpoints;
  for (const Opened* peer : peers) {
    endpoints.push_back(peer->to(owner));
    keys.push_back(region.key_for(endpoints.back()));
  }
  std::deque<AtomicOp> ops;
  constexpr unsigned kEach = 100;
  for (unsigned i = 0; i < kEach; ++i) {
    for (std::size_t p = 0; p < keys.size(); ++p)
      ASSERT_GE(ops.emplace_back().add(endpoints[p], keys[p]), 0) << stria_last_error();
    if (with_cpu) __atomic_fetch_add(&words[0], 1, __ATOMIC_RELAXED);
    for (const Opened* peer : peers) stria_worker_progress(peer->worker);
  }
  const auto over = [&] {
    return std::all_of(ops.begin(), ops.end(), [](AtomicOp& op) { return op.ended(); });
  };
  for (int i = 0; i < 100000 && !over(); ++i)
    for (const Opened* peer : peers) stria_worker_progress(peer->worker);
  ASSERT_TRUE(over());
  for (AtomicOp& op : ops) EXPECT_EQ(op.outcome(), STRIA_OK);
  EXPECT_EQ(words[0], kEach * (keys.size() + (with_cpu ? 1 : 0)));
  EXPECT_EQ(fake::statistics(*fabric).atomics, 0u) << "the adapter knows nothing of the others";
  for (stria_key_t* key : keys) stria_key_close(key);
}
TEST(AtomicWays, of_two_devices_add_up) {
  add_by_two_devices(kAtomic);
}
TEST(AtomicWays, of_two_devices_add_up_with_the_owners_cpu) {
  add_by_two_devices(kWithCpu);
}

// Where the memory is this process's, or mapped, nobody has to progress for the answer.
TEST(AtomicWays, by_shared_memory_are_over_at_once) {
  for (const char* attach : {"auto", "off"}) {
    ASSERT_EQ(stria_config_set("STRIA_SHM_CMA", attach, "test"), STRIA_OK);
    ShmTeam team;
    const unsigned owner = team.join({}), peer = team.join({});
    void* mapped = nullptr;
    ASSERT_EQ(stria_mem_alloc(team.context(owner), 4096, &mapped), STRIA_OK);
    alignas(16) std::uint64_t plain[4] = {};
    Shared a(team.worker(owner), mapped, 4096, kAtomic), b(team.worker(owner), plain, sizeof plain, kAtomic);
    stria_endpoint_t* const to = team.endpoint(peer, owner);
    stria_key_t *key_a = a.key_for(to), *key_b = b.key_for(to);
    AtomicOp op;
    EXPECT_EQ(op.add(to, key_a, 5, 8), STRIA_OK) << attach;
    EXPECT_EQ(op.swap(to, key_a, 5, 6, 8), STRIA_OK);
    EXPECT_EQ(op.before, 5u);
    EXPECT_EQ(static_cast<std::uint64_t*>(mapped)[1], 6u);
    op.add(to, key_b, 5, 8);
    EXPECT_EQ(op.answer, *attach == 'a' ? STRIA_OK : STRIA_IN_PROGRESS) << "of memory that is not mapped";
    for (int i = 0; i < 100 && !op.ended(); ++i) team.progress(owner), team.progress(peer);
    EXPECT_EQ(op.outcome(), STRIA_OK);
    EXPECT_EQ(plain[1], 5u);
    a.end();
    EXPECT_EQ(op.add(to, key_a), STRIA_ERR_ACCESS) << "a stale key";
    stria_key_close(key_a);
    stria_key_close(key_b);
    b.end();
    EXPECT_EQ(stria_mem_free(team.context(owner), mapped), STRIA_OK);
  }
  ASSERT_EQ(stria_config_set("STRIA_SHM_CMA", "auto", "test"), STRIA_OK);
}

TEST(AtomicRights, are_checked_when_a_region_is_registered) {
  World world(1, quick());
  std::uint64_t word = 0;
  stria_region_t* region = nullptr;
  EXPECT_EQ(stria_region_register(world.worker(0), &word, nullptr, 8, 16, &region), STRIA_ERR_INVALID);
  EXPECT_EQ(stria_region_register(world.worker(0), &word, nullptr, 8, STRIA_ACCESS_ATOMIC_WITH_CPU, &region),
            STRIA_ERR_INVALID);
  EXPECT_NE(std::string(stria_last_error()).find("REMOTE_ATOMIC"), std::string::npos) << stria_last_error();
}

// A region whose atomics are an adapter's, and a link that has none any more: never done by other means.
TEST(AtomicRights, of_an_adapter_are_not_taken_by_anybody_else) {
  World world(2, quick());
  alignas(8) std::uint64_t words[2] = {};
  const Shared region(world.worker(0), words, sizeof words, kAtomic);
  stria_key_t* key = region.key_for(world.endpoint(1, 0));
  AtomicOp op;
  op.add(world.endpoint(1, 0), key);
  ASSERT_TRUE(world.run_until([&] { return op.ended(); }));
  EXPECT_EQ(words[0], 1u);
  fake::refuse_copies(world.fabric());
  EXPECT_EQ(op.add(world.endpoint(1, 0), key), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(op.add(world.endpoint(1, 0), key), STRIA_ERR_UNSUPPORTED) << "the link says so by now";
  EXPECT_NE(std::string(stria_last_error()).find("adapter"), std::string::npos) << stria_last_error();
  for (int i = 0; i < 100; ++i) world.step();
  EXPECT_EQ(words[0], 1u);
  stria_key_close(key);
}

}  // namespace
}  // namespace stria::test
