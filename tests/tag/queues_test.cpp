// The two matching queues, each beside a list that is searched from the front: random operations from a
// printed seed, few keys and many, deep queues, and every shape of receive.
#include <algorithm>
#include <cstdint>
#include <list>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tag/posted_queue.hpp"
#include "tag/unexpected_queue.hpp"
#include "tests/rounds.hpp"

namespace stria::test {
namespace {

using tag::kAnySource;
using tag::PostedQueue;
using tag::PostedRecv;
using tag::Unexpected;
using tag::UnexpectedQueue;

constexpr std::uint64_t kContext = ~0ull << 32;  // the bits that no receive of MPI's ignores

/// How a run chooses: sources and tags, and the shapes of its receives (ignored bits; any source or not).
struct Mix {
  unsigned sources, tags, tag_step;
  std::vector<std::uint64_t> ignores;
  unsigned depth;
};

const Mix kMixes[] = {
    {2, 3, 1, {0}, 40},         {3, 4, 1, {0, ~kContext}, 300},         {40, 500, 1, {0, ~kContext}, 3000},
    {2, 4000, 1024, {0}, 6000}, {2, 3, 1, {0, 1, 2, 3, 7, ~0ull}, 200},
};

class QueuesTest : public testing::TestWithParam<unsigned> {
 protected:
  QueuesTest() : mix_(kMixes[GetParam() % std::size(kMixes)]), random_(seed_ + GetParam()) {
    RecordProperty("seed", std::to_string(seed_));
  }
  unsigned below(std::size_t n) {
    return std::uniform_int_distribution<unsigned>(0, unsigned(n) - 1)(random_);
  }
  std::uint32_t source() { return below(mix_.sources); }
  std::uint64_t tag() {
    return (std::uint64_t{below(2)} << 40) | std::uint64_t{below(mix_.tags)} * mix_.tag_step;
  }
  /// Grows to the mix's depth, shrinks to nothing, and so on.
  bool grows(std::size_t size) {
    if (size == 0) growing_ = true;
    if (size >= mix_.depth) growing_ = false;
    return below(8) < (growing_ ? 6u : 2u);
  }

  static constexpr std::uint64_t seed_ = 20260211;
  const Mix& mix_;
  std::mt19937_64 random_;
  bool growing_ = true;
};

TEST_P(QueuesTest, PostedReceivesAreMatchedAsByAListSearchedFromTheFront) {
  PostedQueue queue;
  std::list<PostedRecv> posted;
  for (std::int64_t round = 0; round < rounds(40000); ++round) {
    if (grows(posted.size())) {
      PostedRecv& recv = posted.emplace_back();
      recv.source = below(3) == 0 ? kAnySource : source();
      recv.ignore = mix_.ignores[below(mix_.ignores.size())];
      recv.tag = tag();
      queue.push(&recv);
    } else if (below(10) == 0 && !posted.empty()) {
      const auto cancelled = std::next(posted.begin(), below(std::min<std::size_t>(posted.size(), 50)));
      queue.remove(&*cancelled);
      posted.erase(cancelled);
    } else if (below(2000) == 0) {
      const std::uint32_t gone = source();
      std::vector<PostedRecv*> taken;
      PostedRecv* next = queue.remove_if([&](const PostedRecv& recv) { return recv.source == gone; });
      for (; next != nullptr; next = next->next) taken.push_back(next);
      const auto expected =
          std::erase_if(posted, [&](const PostedRecv& recv) { return recv.source == gone; });
      ASSERT_EQ(taken.size(), expected);
    } else {
      const std::uint32_t from = source();
      const std::uint64_t with = tag();
      const auto expected = std::find_if(posted.begin(), posted.end(),
                                         [&](const PostedRecv& recv) { return recv.accepts(from, with); });
      ASSERT_EQ(queue.match(from, with), expected == posted.end() ? nullptr : &*expected)
          << "seed " << seed_ << " mix " << GetParam() << " round " << round;
      if (expected != posted.end() && below(3) == 0)
        queue.put_back(&*expected);  // where it was
      else if (expected != posted.end())
        posted.erase(expected);
    }
    ASSERT_EQ(queue.size(), posted.size());
  }
}

TEST_P(QueuesTest, UnexpectedMessagesAreFoundAsInAListSearchedFromTheFront) {
  UnexpectedQueue queue;
  std::list<Unexpected*> waiting;
  const auto forget = [&](Unexpected* entry) {
    queue.release(entry);
    return true;
  };
  for (std::int64_t round = 0; round < rounds(40000); ++round) {
    if (grows(waiting.size())) {
      Unexpected* entry = queue.allocate();
      ASSERT_NE(entry, nullptr);
      entry->source = source();
      entry->tag = tag();
      entry->immediate = round;
      queue.push(entry);
      waiting.push_back(entry);
    } else if (below(2000) == 0) {
      const std::uint32_t gone = source();
      const unsigned every = 1 + below(3);
      const auto goes = [&](const Unexpected& entry) {
        return entry.source == gone && entry.immediate % every == 0;
      };
      std::erase_if(waiting, [&](const Unexpected* entry) { return goes(*entry); });
      queue.remove_if([&](Unexpected& entry) { return goes(entry) && forget(&entry); });
    } else {
      PostedRecv recv;
      recv.source = below(3) == 0 ? kAnySource : source();
      recv.ignore = mix_.ignores[below(mix_.ignores.size())];
      recv.tag = tag();
      const auto expected = std::find_if(waiting.begin(), waiting.end(), [&](const Unexpected* entry) {
        return recv.accepts(entry->source, entry->tag);
      });
      const unsigned way = below(4);  // a receive, a matched probe, a probe
      Unexpected* const found = way < 2 ? queue.take(recv.source, recv.tag, recv.ignore)
                                        : queue.find(recv.source, recv.tag, recv.ignore);
      ASSERT_EQ(found, expected == waiting.end() ? nullptr : *expected)
          << "seed " << seed_ << " mix " << GetParam() << " round " << round;
      if (found != nullptr && way < 3) {
        waiting.erase(expected);
        if (way == 2) queue.remove(found);
        queue.release(found);
      }
    }
    ASSERT_EQ(queue.size(), waiting.size());
    ASSERT_EQ(queue.first(), waiting.empty() ? nullptr : waiting.front());
  }
}

INSTANTIATE_TEST_SUITE_P(Mixes, QueuesTest, testing::Range(0u, unsigned{2 * std::size(kMixes)}));

}  // namespace
}  // namespace stria::test
