// Names of operations: a name finds its operation while it is there, and nothing before or after.
#include "rndv/op_table.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <unordered_map>

namespace stria::rndv {
namespace {

TEST(OpTable, no_name_is_zero_and_invented_names_find_nothing) {
  OpTable table;
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(~0ull), nullptr);
  SendOp op;
  const wire::OpId id = table.insert(&op);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(table.find(id), &op);
  EXPECT_EQ(table.find(id + 1), nullptr);
  EXPECT_EQ(table.find(id ^ (1ull << 32)), nullptr);
  EXPECT_EQ(table.find(static_cast<std::uint32_t>(id)), nullptr) << "a slot without its generation";
  EXPECT_EQ(table.find(0), nullptr);
}

TEST(OpTable, a_name_dies_with_its_operation_although_its_slot_is_used_again) {
  OpTable table;
  SendOp first, second;
  const wire::OpId old = table.insert(&first);
  table.erase(old);
  EXPECT_EQ(table.find(old), nullptr);
  const wire::OpId fresh = table.insert(&second);
  EXPECT_NE(fresh, old);
  EXPECT_EQ(table.find(old), nullptr);
  EXPECT_EQ(table.find(fresh), &second);
}

TEST(OpTable, low_slots_are_found_whatever_came_and_went) {
  constexpr unsigned kMany = 1000;
  OpTable table;
  std::vector<SendOp> ops(kMany);
  std::vector<wire::OpId> ids;
  for (auto& op : ops) ids.push_back(table.insert(&op));
  SendOp none;
  EXPECT_EQ(table.insert_low(&none), 0u) << "others have them";
  for (const wire::OpId id : ids) table.erase(id);  // the highest comes last
  std::vector<bool> seen(wire::kSyncSlots);
  for (unsigned i = 0; i < wire::kSyncSlots; ++i) {
    const auto slot = static_cast<std::uint32_t>(table.insert_low(&ops[i]));
    ASSERT_LT(slot, wire::kSyncSlots);
    ASSERT_FALSE(seen[slot]);
    seen[slot] = true;
    ASSERT_EQ(table.at(slot), &ops[i]);
    ASSERT_GE(static_cast<std::uint32_t>(table.insert(&none)), wire::kSyncSlots) << "they are left to others";
  }
  EXPECT_EQ(table.insert_low(&none), 0u);
  EXPECT_EQ(table.at(~0u), nullptr);
}

TEST(OpTable, keeps_every_name_apart_while_operations_come_and_go) {
  const unsigned seed = 4242;
  std::mt19937 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  OpTable table;
  std::unordered_map<wire::OpId, std::unique_ptr<SendOp>> present;
  std::vector<wire::OpId> gone;
  for (int step = 0; step < 20000; ++step) {
    if (present.size() < 300 && random() % 5 != 0) {
      auto op = std::make_unique<SendOp>();
      const wire::OpId id = table.insert(op.get());
      ASSERT_TRUE(present.emplace(id, std::move(op)).second) << "a name was given twice";
    } else if (!present.empty()) {
      const auto victim = present.begin();
      table.erase(victim->first);
      gone.push_back(victim->first);
      present.erase(victim);
    }
    if (!gone.empty()) {
      ASSERT_EQ(table.find(gone[random() % gone.size()]), nullptr);
    }
  }
  ASSERT_EQ(table.size(), present.size());
  for (const auto& [id, op] : present) EXPECT_EQ(table.find(id), op.get());
  std::size_t seen = 0;
  table.for_each([&](Operation& op) {
    ++seen;
    table.erase(op.id = [&] {
      for (const auto& [id, owned] : present)
        if (owned.get() == &op) return id;
      return wire::OpId{0};
    }());
  });
  EXPECT_EQ(seen, present.size());
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace stria::rndv
