// Atomics through keys: each changes its word once, tells what it was, and touches nothing else; whoever they
// come from, they add up.
#include <algorithm>
#include <array>
#include <deque>
#include <set>

#include "datatype/layout.hpp"
#include "tests/contract/key_subject.hpp"

namespace stria::contract {
namespace {

using datatype::Layout;
constexpr unsigned kAtomic = STRIA_ACCESS_REMOTE_ATOMIC;
using Words = std::vector<std::uint64_t>;

stria_payload_t memory_of(Words& words) {
  return contiguous(words.data(), words.size() * 8);
}

class AtomicContract : public KeySubject {
 protected:
  bool can_atomic() const {
    return b->has(STRIA_CAP_FAST_REGISTER | STRIA_CAP_ATOMICS) && a->limits(link).can_atomic != 0;
  }
  /// One atomic of `a` from start to end; `before` is what it told.
  Status atomic(const stria_remote_atomic_t& wanted, const stria_provider_key_t& key) {
    Ending ending;
    Status status = Status::no_resource;
    stria_remote_atomic_t atomic = wanted;
    before = kUntold;
    atomic.result = &before;
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] {
      if (status == Status::no_resource) status = a->atomic(link, atomic, key, ending);
      return status != Status::no_resource && (status != Status::in_progress || ending.calls > 0);
    }));
    drive_for({a.get(), b.get()}, 5);  // a device in another process says what its memory holds now
    EXPECT_EQ(ending.calls, status == Status::in_progress ? 1 : 0);
    return status == Status::in_progress ? ending.status : status;
  }
  static stria_remote_atomic_t add(std::uint64_t offset, std::uint64_t operand) {
    return {STRIA_ATOMIC_FETCH_ADD, 0, offset, operand, 0, nullptr};
  }
  static stria_remote_atomic_t swap(std::uint64_t offset, std::uint64_t compare, std::uint64_t operand) {
    return {STRIA_ATOMIC_COMPARE_SWAP, 0, offset, operand, compare, nullptr};
  }
  static constexpr std::uint64_t kUntold = 0x5555555555555555;
  std::uint64_t before = kUntold;
};

TEST_P(AtomicContract, what_is_no_capability_is_unsupported) {
  if (can_atomic()) GTEST_SKIP() << GetParam().label << " has atomics";
  Words words(4);
  stria_provider_key_t key{};
  if (b->fast_register(memory_of(words), kRead, key, back()) != Status::ok) key.bytes = 4;
  EXPECT_EQ(atomic(add(0, 1), key), Status::unsupported);
  EXPECT_EQ(words, Words(4));
}

TEST_P(AtomicContract, fetch_add_adds_and_tells_what_was) {
  if (!can_atomic()) GTEST_SKIP() << lacks("atomics");
  Words words = {1, 0x0102030405060708, ~0ull, 7};
  const auto key = key_for(memory_of(words), kAtomic);
  EXPECT_EQ(atomic(add(8, 0x1000000000000001), key), Status::ok);
  EXPECT_EQ(before, 0x0102030405060708u);
  EXPECT_EQ(atomic(add(16, 5), key), Status::ok) << "beyond the end of 64 bits";
  EXPECT_EQ(before, ~0ull);
  EXPECT_EQ(atomic(add(24, ~0ull), key), Status::ok) << "less one";
  EXPECT_EQ(before, 7u);
  EXPECT_EQ(atomic(add(24, 0), key), Status::ok) << "only reads";
  EXPECT_EQ(before, 6u);
  EXPECT_EQ(words, (Words{1, 0x1102030405060709, 4, 6}));
  EXPECT_EQ(b->invalidate(key), Status::ok);
}

TEST_P(AtomicContract, compare_swap_stores_only_where_the_word_is_what_was_expected) {
  if (!can_atomic()) GTEST_SKIP() << lacks("atomics");
  Words words = {3, 0x8070605040302010, 5};
  const auto key = key_for(memory_of(words), kAtomic);
  EXPECT_EQ(atomic(swap(8, 0x8070605040302010, 42), key), Status::ok);
  EXPECT_EQ(before, 0x8070605040302010u);
  EXPECT_EQ(atomic(swap(8, 41, 43), key), Status::ok);
  EXPECT_EQ(before, 42u);
  EXPECT_EQ(words, (Words{3, 42, 5}));
  EXPECT_EQ(atomic(swap(0, 3, 3), key), Status::ok);
  EXPECT_EQ(before, 3u);
  EXPECT_EQ(words, (Words{3, 42, 5}));
  EXPECT_EQ(b->invalidate(key), Status::ok);
}

TEST_P(AtomicContract, words_of_a_strided_region_are_reached_in_typemap_order) {
  if (!can_atomic() || !b->has(STRIA_CAP_STRIDED)) GTEST_SKIP() << lacks("atomics on strided regions");
  constexpr std::size_t kRows = 10, kRowWords = 6;
  const Layout column = *Layout::vector(kRows, 2, 8 * kRowWords, Layout::bytes(8));
  Words words(kRows * kRowWords), expected(kRows * kRowWords);
  const auto key = key_for({&column, words.data(), 1, 0, 0}, kAtomic);
  for (std::size_t i = 0; i < 2 * kRows; ++i) {
    EXPECT_EQ(atomic(add(8 * i, 100 + i), key), Status::ok);
    expected[i / 2 * kRowWords + i % 2] = 100 + i;
  }
  EXPECT_EQ(words, expected);
  EXPECT_EQ(atomic(add(std::uint64_t{16} * kRows, 1), key), Status::access_error);
  EXPECT_EQ(words, expected);
  EXPECT_EQ(b->invalidate(key), Status::ok);
}

TEST_P(AtomicContract, a_word_in_pieces_or_misaligned_is_invalid) {
  if (!can_atomic()) GTEST_SKIP() << lacks("atomics");
  Words words(32);
  const auto askew = key_for(contiguous(reinterpret_cast<std::byte*>(words.data()) + 4, 64), kAtomic);
  EXPECT_EQ(atomic(add(0, 1), askew), Status::invalid);
  EXPECT_EQ(atomic(swap(8, 0, 1), askew), Status::invalid);
  const auto straight = key_for(memory_of(words), kAtomic);
  EXPECT_EQ(atomic(add(12, 1), straight), Status::invalid);
  EXPECT_EQ(atomic(add(8, 1), straight), Status::ok);
  words[1] = 0;
  b->progress();
  if (b->has(STRIA_CAP_STRIDED)) {
    const Layout halves = *Layout::vector(16, 1, 16, Layout::bytes(4));
    const auto split = key_for({&halves, words.data(), 1, 0, 0}, kAtomic);
    EXPECT_EQ(atomic(add(0, 1), split), Status::invalid);
    EXPECT_EQ(atomic(add(8, 1), split), Status::invalid);
    EXPECT_EQ(b->invalidate(split), Status::ok);
  }
  EXPECT_EQ(words, Words(32));
  EXPECT_EQ(b->invalidate(askew), Status::ok);
  EXPECT_EQ(b->invalidate(straight), Status::ok);
}

TEST_P(AtomicContract, bounds_are_refused_and_nothing_changes) {
  if (!can_atomic()) GTEST_SKIP() << lacks("atomics");
  Words words(16, 9);
  const auto key = key_for(contiguous(words.data(), 80), kAtomic);
  const std::uint64_t outside[] = {80, 88, 1u << 20, 1ull << 40, 1ull << 63, ~0ull - 7, ~0ull - 15};
  for (const std::uint64_t offset : outside) {
    EXPECT_EQ(atomic(add(offset, 1), key), Status::access_error) << offset;
    EXPECT_EQ(before, kUntold);
  }
  EXPECT_EQ(words, Words(16, 9));
  EXPECT_EQ(atomic(add(72, 1), key), Status::ok) << "the last word";
  EXPECT_EQ(b->invalidate(key), Status::ok);
  const auto small = key_for(contiguous(words.data(), 4), kAtomic);
  EXPECT_EQ(atomic(add(0, 1), small), Status::access_error);
  EXPECT_EQ(words[0], 9u);
  EXPECT_EQ(b->invalidate(small), Status::ok);
}

TEST_P(AtomicContract, needs_its_right_and_gives_no_other) {
  if (!can_atomic()) GTEST_SKIP() << lacks("atomics");
  Words words(8, 9);
  Bytes local(64);
  const auto moves = key_for(memory_of(words), kRead | kWrite);
  EXPECT_EQ(atomic(add(0, 1), moves), Status::access_error);
  EXPECT_EQ(atomic(swap(0, 9, 1), moves), Status::access_error);
  const auto atomics = key_for(memory_of(words), kAtomic);
  if (can_get()) {
    EXPECT_EQ(move(Way::get, contiguous(local), atomics, 0), Status::access_error);
  }
  if (can_put()) {
    EXPECT_EQ(move(Way::put, contiguous(local), atomics, 0), Status::access_error);
  }
  EXPECT_EQ(words, Words(8, 9));
  const auto all = key_for(memory_of(words), kRead | kWrite | kAtomic);
  EXPECT_EQ(atomic(add(0, 1), all), Status::ok);
  if (can_get()) {
    ASSERT_EQ(move(Way::get, contiguous(local), all, 0), Status::ok);
    EXPECT_EQ(local.front(), std::byte{10}) << "a get after it sees it";
  }
  for (const auto& key : {moves, atomics, all}) EXPECT_EQ(b->invalidate(key), Status::ok);
}

TEST_P(AtomicContract, a_key_that_ended_is_refused) {
  if (!can_atomic()) GTEST_SKIP() << lacks("atomics");
  Words words(8, 9);
  const auto key = key_for(memory_of(words), kAtomic);
  EXPECT_EQ(atomic(add(0, 1), key), Status::ok);
  EXPECT_EQ(b->invalidate(key), Status::ok);
  const Words before_it = words;
  const Status refused = atomic(add(0, 1), key);
  EXPECT_TRUE(refused == Status::access_error || (refusals_end_links() && refused == Status::peer_failed))
      << to_string(refused);
  EXPECT_EQ(words, before_it);
  if (refusals_end_links()) start_again();
}

TEST_P(AtomicContract, a_device_performs_them_on_its_own_memory) {
  stria_link_t* self = b->connect(*b);
  if (!b->has(STRIA_CAP_FAST_REGISTER | STRIA_CAP_ATOMICS) || b->limits(self).can_atomic == 0)
    GTEST_SKIP() << lacks("atomics");
  Words words(2, 40);
  stria_provider_key_t key{};
  ASSERT_EQ(b->fast_register(memory_of(words), kAtomic, key), Status::ok);
  Ending ending;
  Status status = Status::no_resource;
  stria_remote_atomic_t atomic = add(8, 2);
  atomic.result = &before;
  ASSERT_TRUE(drive({b.get()}, [&] {
    if (status == Status::no_resource) status = b->atomic(self, atomic, key, ending);
    return status != Status::no_resource && (status != Status::in_progress || ending.calls > 0);
  }));
  EXPECT_TRUE(status == Status::ok || ending.status == Status::ok);
  drive_for({b.get()}, 5);
  EXPECT_EQ(before, 40u);
  EXPECT_EQ(words, (Words{40, 42}));
  EXPECT_EQ(b->invalidate(key), Status::ok);
}

// Many under way at a time, of three devices, by a key for every link: no number is given twice, none left
// out.
TEST_P(AtomicContract, of_many_devices_add_up) {
  if (!can_atomic()) GTEST_SKIP() << lacks("atomics");
  auto c = open(3);
  Words words(4, 100);
  stria_provider_key_t key{};
  ASSERT_EQ(b->fast_register(memory_of(words), kAtomic, key), Status::ok);
  struct One {
    Ending ending;
    std::uint64_t before = 0;
    Status status = Status::no_resource;
  };
  struct Team {
    Peer* peer;
    stria_link_t* link;
    std::deque<One> all{};
    unsigned started = 0;
  };
  std::array<Team, 3> teams = {Team{a.get(), link}, Team{b.get(), b->connect(*b)},
                               Team{c.get(), c->connect(*b)}};
  const unsigned each = packets(300);
  for (Team& team : teams) team.all.resize(each);
  ASSERT_TRUE(drive({a.get(), b.get(), c.get()}, [&] {
    bool over = true;
    for (Team& team : teams) {
      for (; team.started < each; ++team.started) {
        One& one = team.all[team.started];
        stria_remote_atomic_t atomic = add(16, 1);
        atomic.result = &one.before;
        one.status = team.peer->atomic(team.link, atomic, key, one.ending);
        if (one.status == Status::no_resource) break;
      }
      over =
          over && team.started == each && std::all_of(team.all.begin(), team.all.end(), [](const One& one) {
            return one.status != Status::in_progress || one.ending.calls > 0;
          });
    }
    return over;
  }));
  drive_for({a.get(), b.get(), c.get()}, 5);
  std::set<std::uint64_t> numbers;
  for (const Team& team : teams)
    for (const One& one : team.all) {
      ASSERT_EQ(one.status == Status::in_progress ? one.ending.status : one.status, Status::ok);
      EXPECT_TRUE(numbers.insert(one.before).second) << one.before << " was given twice";
    }
  EXPECT_EQ(*numbers.begin(), 100u);
  EXPECT_EQ(words, (Words{100, 100, 100 + 3 * each, 100}));
  EXPECT_EQ(b->invalidate(key), Status::ok);
}

TEST_P(AtomicContract, those_under_way_end_before_their_link_is_down) {
  if (!can_atomic()) GTEST_SKIP() << lacks("atomics");
  Words words(4);
  const auto key = key_for(memory_of(words), kAtomic);
  constexpr std::size_t kMost = 20;
  std::array<Ending, kMost> endings;
  std::array<std::uint64_t, kMost> results{};
  std::array<Status, kMost> answers{};
  for (std::size_t i = 0; i < kMost; ++i) {
    stria_remote_atomic_t atomic = add(0, 1);
    atomic.result = &results[i];
    answers[i] = a->atomic(link, atomic, key, endings[i]);
  }
  b->close(0);
  ASSERT_TRUE(drive({a.get()}, [&] { return a->downs.size() == 1; }));
  for (std::size_t i = 0; i < kMost; ++i)
    EXPECT_EQ(endings[i].calls, answers[i] == Status::in_progress ? 1 : 0) << "link_down is last";
}

STRIA_CONTRACT_OF_GROUP(AtomicContract, atomic);

}  // namespace
}  // namespace stria::contract
