// Messages that wait keep their order and their bytes, also while others are added from inside a handler.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "transport/uct/stash.hpp"

namespace stria::uct {
namespace {

using Bytes = std::vector<std::byte>;

Bytes pattern(unsigned seed, std::size_t bytes) {
  Bytes out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + seed);
  return out;
}

TEST(UctStash, gives_back_what_was_appended_in_order) {
  constexpr unsigned kSeed = 5;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  Stash stash;
  std::deque<std::pair<Am, Bytes>> model;
  for (unsigned step = 0; step < 20000; ++step) {
    if (random() % 16 != 0 ? random() % 2 == 0 || model.empty() : model.empty()) {
      const std::size_t bytes = random() % 64 == 0 ? random() % 300000 : random() % 200;
      const Am id = random() % 2 == 0 ? Am::short_packet : Am::buffered;
      const Bytes data = pattern(step, bytes);
      std::byte* const at = stash.append(id, bytes);
      ASSERT_NE(at, nullptr);
      if (bytes > 0) std::memcpy(at, data.data(), bytes);
      model.emplace_back(id, data);
    } else {
      const Stash::Message first = stash.first();
      ASSERT_EQ(first.id, model.front().first);
      ASSERT_EQ(Bytes(first.bytes.begin(), first.bytes.end()), model.front().second);
      stash.drop_first();
      model.pop_front();
    }
    ASSERT_EQ(stash.count(), model.size());
    ASSERT_EQ(stash.is_empty(), model.empty());
  }
}

TEST(UctStash, a_message_stays_where_it_is_while_others_are_appended) {
  Stash stash;
  const Bytes data = pattern(1, 100);
  std::memcpy(stash.append(Am::buffered, data.size()), data.data(), data.size());
  const Stash::Message first = stash.first();
  for (unsigned i = 0; i < 100; ++i) std::memset(stash.append(Am::buffered, 10000), 0xee, 10000);
  EXPECT_EQ(Bytes(first.bytes.begin(), first.bytes.end()), data);
  EXPECT_EQ(stash.first().bytes.data(), first.bytes.data());
}

}  // namespace
}  // namespace stria::uct
