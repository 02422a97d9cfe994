// The key table alone: states, consumer keys, rights, and what a second thread sees while keys end.
#include "hw/key_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>

#include "tests/death_style.hpp"

namespace stria::hw {
namespace {

struct Table {
  explicit Table(std::uint32_t slots, std::uint32_t accessors = 4)
      : shape{slots, accessors},
        memory(static_cast<std::byte*>(std::aligned_alloc(kCacheLine, shape.bytes()))),
        table((std::memset(memory.get(), 0, shape.bytes()), memory.get()), shape),
        view(memory.get(), shape) {}
  KeyWord bind(const KeyRecord& record, std::uint8_t access) {
    std::uint32_t index = 0;
    EXPECT_EQ(table.allocate(index), Status::ok);
    const KeyWord word = table.bind(index, record, access);
    EXPECT_EQ(key_index(word), index);
    return word;
  }
  Status end(KeyWord word) {
    const Status status = table.invalidate(word, shape.accessors, [](std::uint32_t) { return true; });
    if (status == Status::ok) table.release(key_index(word));
    return status;
  }
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  KeyTableShape shape;
  std::unique_ptr<std::byte, Free> memory;
  KeyTable table;
  KeyTableView view;
};

TEST(KeyTable, a_word_is_24_bits_of_index_and_8_bits_of_consumer_key) {
  EXPECT_EQ(make_key_word(0x123456, 0xab), 0xab123456u);
  EXPECT_EQ(key_index(0xab123456u), 0x123456u);
  EXPECT_EQ(key_consumer(0xab123456u), 0xab);
}

TEST(KeyTable, a_slot_goes_from_free_to_invalid_to_valid_and_back) {
  Table t(4);
  std::uint32_t index = 0;
  KeyRecord record{.base = 0x1000, .count = 3, .bytes = 30}, seen;
  std::uint64_t control = 0;
  ASSERT_EQ(t.table.allocate(index), Status::ok);
  EXPECT_EQ(t.view.look_up(make_key_word(index, 0), 0, seen, control), Status::access_error);
  EXPECT_EQ(t.view.look_up(make_key_word(index, 1), 0, seen, control), Status::access_error);
  const KeyWord word = t.table.bind(index, record, kKeyRead);
  ASSERT_EQ(t.view.look_up(word, kKeyRead, seen, control), Status::ok);
  EXPECT_EQ(std::memcmp(&seen, &record, sizeof record), 0);
  EXPECT_EQ(t.view.check_unchanged(word, control), Status::ok);
  ASSERT_EQ(t.table.invalidate(word, 0, [](std::uint32_t) { return true; }), Status::ok);
  EXPECT_EQ(t.view.check_unchanged(word, control), Status::access_error);
  EXPECT_EQ(t.view.look_up(word, kKeyRead, seen, control), Status::access_error);
  EXPECT_EQ(t.table.invalidate(word, 0, [](std::uint32_t) { return true; }), Status::invalid);
}

// So whoever was given a slot has no failure to undo: fast_register() holds a slot and a layout's name by
// then.
TEST(KeyTable, binding_a_slot_that_was_allocated_cannot_fail_and_any_other_is_a_broken_invariant) {
  test::die_in_new_processes();
  static_assert(std::is_same_v<decltype(std::declval<KeyTable&>().bind(0, {}, 0)), KeyWord>);
  Table t(4);
  std::uint32_t index = 0;
  EXPECT_DEATH(t.table.bind(0, {}, kKeyRead), "not invalid") << "it is free";
  ASSERT_EQ(t.table.allocate(index), Status::ok);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const KeyRecord widest{~std::uint64_t{0}, kMost, kMost, ~0U, ~0U, ~std::uint64_t{0}, -kMost, -1, ~0U};
  const KeyWord word = t.table.bind(index, widest, kKeyAll);
  KeyRecord seen;
  std::uint64_t control = 0;
  ASSERT_EQ(t.view.look_up(word, kKeyAll, seen, control), Status::ok);
  EXPECT_EQ(std::memcmp(&seen, &widest, sizeof seen), 0);
  EXPECT_DEATH(t.table.bind(index, widest, kKeyRead), "not invalid") << "it is valid";
  ASSERT_EQ(t.table.end(word), Status::ok);
  EXPECT_NE(t.table.bind(index, {}, kKeyRead), word) << "a slot that is kept may be bound again";
}

TEST(KeyTable, rights_are_checked_one_by_one) {
  Table t(4);
  KeyRecord seen;
  std::uint64_t control = 0;
  for (std::uint8_t have = 0; have <= 3; ++have) {
    const KeyWord word = t.bind({}, have);
    for (std::uint8_t want = 0; want <= 3; ++want)
      EXPECT_EQ(t.view.look_up(word, want, seen, control),
                (have & want) == want ? Status::ok : Status::access_error);
  }
}

TEST(KeyTable, every_reuse_of_a_slot_bumps_the_consumer_key) {
  Table t(1);
  std::set<KeyWord> words;
  for (int i = 0; i < 256; ++i) {
    const KeyWord word = t.bind({}, kKeyRead);
    EXPECT_TRUE(words.insert(word).second);
    EXPECT_EQ(t.end(word), Status::ok);
    EXPECT_EQ(t.end(word), Status::invalid);
  }
}

TEST(KeyTable, a_full_table_has_no_resource_and_a_large_one_rests_its_slots) {
  Table t(300);
  std::uint32_t index = 0;
  for (int i = 0; i < 300; ++i) t.bind({}, kKeyRead);
  EXPECT_EQ(t.table.allocate(index), Status::no_resource);
  Table fresh(300);
  std::set<std::uint32_t> used;
  for (int i = 0; i < 256; ++i) {
    const KeyWord word = fresh.bind({}, kKeyRead);
    EXPECT_TRUE(used.insert(key_index(word)).second) << "a slot rests while others are fresh";
    ASSERT_EQ(fresh.end(word), Status::ok);
  }
}

TEST(KeyTable, an_index_beyond_the_table_is_refused) {
  Table t(4);
  KeyRecord seen;
  std::uint64_t control = 0;
  EXPECT_EQ(t.view.look_up(make_key_word(4, 0), 0, seen, control), Status::access_error);
  EXPECT_EQ(t.end(make_key_word(0xffffff, 3)), Status::invalid);
}

TEST(KeyTable, bounds_do_not_overflow) {
  const KeyRecord record{.bytes = 100};
  EXPECT_TRUE(in_bounds(record, 0, 100));
  EXPECT_TRUE(in_bounds(record, 100, 0));
  EXPECT_FALSE(in_bounds(record, 1, 100));
  EXPECT_FALSE(in_bounds(record, ~std::uint64_t{0}, 2));
  EXPECT_FALSE(in_bounds(record, 0, -1));
}

TEST(KeyTable, invalidate_waits_for_a_live_writer_and_passes_over_a_dead_one) {
  Table t(4);
  const KeyWord word = t.bind({}, kKeyWrite);
  KeyRecord seen;
  ASSERT_EQ(t.view.begin_pinned(2, word, kKeyWrite, seen), Status::ok);
  std::atomic<bool> returned{false};
  std::thread owner([&] {
    EXPECT_EQ(t.end(word), Status::ok);
    returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(returned);
  t.view.end_pinned(2);
  owner.join();

  const KeyWord next = t.bind({}, kKeyWrite);
  ASSERT_EQ(t.view.begin_pinned(2, next, kKeyWrite, seen), Status::ok);
  EXPECT_EQ(t.table.invalidate(next, 4, [](std::uint32_t accessor) { return accessor != 2; }), Status::ok);
  t.table.clear_accessor(2);
  t.table.release(key_index(next));
  const KeyWord third = t.bind({}, kKeyWrite);
  EXPECT_EQ(t.end(third), Status::ok) << "a count left too high by the dead writer does no harm";
}

TEST(KeyTable, an_owner_that_leaves_ends_all_keys) {
  Table t(8);
  const KeyWord first = t.bind({}, kKeyRead), second = t.bind({}, kKeyWrite), ended = t.bind({}, kKeyRead);
  ASSERT_EQ(t.end(ended), Status::ok);
  t.table.invalidate_all(4, [](std::uint32_t) { return true; });
  KeyRecord seen;
  std::uint64_t control = 0;
  for (const KeyWord word : {first, second, ended})
    EXPECT_EQ(t.view.look_up(word, 0, seen, control), Status::access_error);
}

TEST(KeyTable, no_write_happens_after_invalidate_and_no_read_of_a_later_record_is_accepted) {
  // Two threads use every key the owner makes while the owner ends it. Memory is "given back" (marked) after
  // invalidate: a write that lands later is a failure, and so is an accepted read that saw another key's
  // value.
  Table t(2);
  std::atomic<KeyWord> current{0};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> cell[2]{};
  std::atomic<std::uint64_t> late_writes{0}, mixed{0}, writes{0}, reads{0};
  std::atomic<std::uint64_t> open[2]{};  // 1 while a write may land, by slot
  const auto use = [&](std::uint32_t accessor, bool write) {
    while (!stop) {
      const KeyWord word = current.load();
      KeyRecord record;
      if (write) {
        if (t.view.begin_pinned(accessor, word, kKeyWrite, record) != Status::ok) continue;
        if (open[record.base & 1].load() == 0) ++late_writes;
        cell[record.base & 1].fetch_add(1);
        if (open[record.base & 1].load() == 0) ++late_writes;
        t.view.end_pinned(accessor);
        ++writes;
      } else {
        std::uint64_t control = 0;
        if (t.view.look_up(word, kKeyRead, record, control) != Status::ok) continue;
        const bool whole = static_cast<std::uint64_t>(record.count) == record.base &&
                           static_cast<std::uint64_t>(record.bytes) == record.base &&
                           record.segment == record.base;
        if (t.view.check_unchanged(word, control) == Status::ok) {
          if (!whole) ++mixed;
          ++reads;
        }
      }
    }
  };
  std::thread writer(use, 1, true), reader(use, 2, false);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
  for (std::uint64_t i = 2; std::chrono::steady_clock::now() < until; ++i) {
    const auto value = static_cast<std::int64_t>(i);
    open[i & 1] = 1;
    const KeyWord word =
        t.bind({.base = i, .count = value, .bytes = value, .segment = i}, kKeyRead | kKeyWrite);
    current = word;
    if (i % 16 == 0) std::this_thread::yield();
    for (int pause = 0; pause < 50; ++pause) cpu_relax();
    ASSERT_EQ(t.end(word), Status::ok);
    open[i & 1] = 0;
  }
  stop = true;
  writer.join();
  reader.join();
  EXPECT_EQ(late_writes, 0u);
  EXPECT_EQ(mixed, 0u);
  EXPECT_GT(writes + reads, 0u);
}

}  // namespace
}  // namespace stria::hw
