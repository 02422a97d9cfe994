// The matching benchmark over a library made of two lists that are searched from the front: what lies before
// the window, in which order it is taken, and that a wrong payload anywhere fails it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <sstream>
#include <thread>

#include "osu_bench/common/match.hpp"

namespace stria::bench {
namespace {

constexpr int kWindow = 4;
constexpr int kWindowTags = 2;  // their tags are 2, 3, 4 and 5

/// Where in its queue a message of the window found what it matched.
struct Place {
  std::size_t at;
  std::size_t size;
};

/// What two threads share in place of two processes.
struct Hall {
  struct Match {
    bool any_tag;
    int tag;
    bool accepts(int with) const { return any_tag || tag == with; }
  };
  struct Receive {
    Match match;
    void* to;
    bool* active;
  };
  struct Message {
    int tag;
    std::uint64_t word;
  };
  struct Side {
    std::list<Receive> posted;
    std::list<Message> unexpected;
  };

  std::mutex mutex;
  std::condition_variable changed;
  Side sides[2];
  std::vector<Place> posted_places, unexpected_places;
  long spoilt = -1;  // which message of a queue or of a window arrives wrong
  long matched = 0;
  int arrived = 0;
  long generation = 0;
  long word = 0;
  double reals[2] = {};

  void complete(const Receive& receive, Message message) {
    if (message.tag >= kWindowTags && matched++ == spoilt) message.word ^= 1;  // that of a neighbouring tag
    std::memcpy(receive.to, &message.word, sizeof message.word);
    *receive.active = false;
    changed.notify_all();
  }
  static bool of_window(int tag) { return tag >= kWindowTags && tag < kWindowTags + kWindow; }
};

class ListPeer {
 public:
  using Match = Hall::Match;

  ListPeer(int rank, Hall& hall) : rank_(rank), hall_(hall) {}
  int rank() const { return rank_; }
  int size() const { return 2; }

  void start_send(int, const void* from, std::size_t, int tag) {
    const std::lock_guard lock(hall_.mutex);
    Hall::Side& other = hall_.sides[1 - rank_];
    Hall::Message message{tag, 0};
    std::memcpy(&message.word, from, sizeof message.word);
    std::size_t at = 0;
    for (auto receive = other.posted.begin(); receive != other.posted.end(); ++receive, ++at) {
      if (!receive->match.accepts(tag)) continue;
      if (Hall::of_window(tag)) hall_.posted_places.push_back({at, other.posted.size()});
      hall_.complete(*receive, message);
      other.posted.erase(receive);
      return;
    }
    other.unexpected.push_back(message);
  }
  void start_recv(int slot, void* to, std::size_t, const Match& match) {
    const std::lock_guard lock(hall_.mutex);
    bool& active = slots_[static_cast<std::size_t>(slot)];
    EXPECT_FALSE(active) << "a slot is taken twice";
    active = true;
    Hall::Side& mine = hall_.sides[rank_];
    std::size_t at = 0;
    for (auto message = mine.unexpected.begin(); message != mine.unexpected.end(); ++message, ++at) {
      if (!match.accepts(message->tag)) continue;
      if (Hall::of_window(message->tag)) hall_.unexpected_places.push_back({at, mine.unexpected.size()});
      hall_.complete({match, to, &active}, *message);
      mine.unexpected.erase(message);
      return;
    }
    mine.posted.push_back({match, to, &active});
  }
  void wait_slots(int first, int count) {
    std::unique_lock lock(hall_.mutex);
    for (int slot = first; slot < first + count; ++slot)
      hall_.changed.wait(lock, [&] { return !slots_[static_cast<std::size_t>(slot)]; });
  }
  void make_slots(int count) { slots_.assign(static_cast<std::size_t>(count) + 1, false); }
  Match make_match(int tag, bool, bool any_tag) const { return {any_tag, tag}; }
  long largest_tag() const { return largest; }

  void send(const void* from, std::size_t bytes) { start_send(0, from, bytes, 1); }
  void recv(void* to, std::size_t bytes) {
    const int spare = static_cast<int>(slots_.size()) - 1;
    start_recv(spare, to, bytes, {false, 1});
    wait_slots(spare, 1);
  }
  // What the matching benchmark has no use for.
  void start_send(int, const void*, std::size_t) { std::abort(); }
  void start_recv(int, void*, std::size_t) { std::abort(); }
  void wait_slots(int) { std::abort(); }

  Buffer allocate(std::size_t bytes) { return Buffer(bytes); }
  void barrier() {
    std::unique_lock lock(hall_.mutex);
    const long now = hall_.generation;
    if (++hall_.arrived == 2) {
      hall_.arrived = 0;
      ++hall_.generation;
      hall_.changed.notify_all();
    }
    hall_.changed.wait(lock, [&] { return hall_.generation != now; });
  }
  long broadcast(long number) {
    if (rank_ == 0) hall_.word = number;
    barrier();
    const long answer = hall_.word;
    barrier();
    return answer;
  }
  std::vector<double> gather(double mine) {
    hall_.reals[rank_] = mine;
    barrier();
    std::vector<double> all;
    if (rank_ == 0) all.assign(hall_.reals, hall_.reals + 2);
    barrier();
    return all;
  }
  Environment environment() { return {}; }

  long largest = 1 << 20;

 private:
  int rank_;
  Hall& hall_;
  std::deque<bool> slots_;  // true: a receive is active
};
static_assert(TaggedPeer<ListPeer>);

}  // namespace

/// The real one spins, and two threads may share a core.
template <>
class Distance<ListPeer> {
 public:
  explicit Distance(ListPeer&) {}
  double us() { return 0; }
};

namespace {

struct Outcome {
  bool right;
  std::string rows;
};

Outcome run(Hall& hall, const std::string& which, long depth, long largest_tag = 1 << 20) {
  Options options;
  options.iterations = 2;
  options.warmup = 1;
  options.window = kWindow;
  options.json = true;
  options.ways = {"window", "drain"};
  options.shapes.cases = {which};
  options.depths = {depth};
  const Program program{.name = "osu_match", .title = "lists", .match = true};
  bool right[2] = {};
  testing::internal::CaptureStdout();
  std::thread other;
  const auto member = [&](int rank) {
    ListPeer peer(rank, hall);
    peer.largest = largest_tag;
    right[rank] = run_match(peer, program, options);
  };
  other = std::thread(member, 1);
  member(0);
  other.join();
  EXPECT_EQ(right[0], right[1]);
  return {right[0], testing::internal::GetCapturedStdout()};
}

class MatchTest : public testing::TestWithParam<MatchCase> {};

TEST_P(MatchTest, TheWindowLiesBehindTheQueueAndIsTakenInTheOrderOfTheCase) {
  const MatchCase& which = GetParam();
  Hall hall;
  EXPECT_TRUE(run(hall, which.name, 100).right);
  const std::vector<Place>& places = which.unexpected ? hall.unexpected_places : hall.posted_places;
  EXPECT_TRUE((which.unexpected ? hall.posted_places : hall.unexpected_places).empty());
  ASSERT_EQ(places.size(), std::size_t{3 * kWindow});  // one window to warm up
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(places[i].size, 100 + kWindow - i % kWindow) << i;
    EXPECT_EQ(places[i].at, which.reversed ? places[i].size - 1 : 100) << i;
  }
  EXPECT_TRUE(hall.sides[0].posted.empty() && hall.sides[0].unexpected.empty());
}

TEST_P(MatchTest, AWrongPayloadFailsItWhereverItArrives) {
  for (const long depth : {3, 100}) {
    Hall counting;
    EXPECT_TRUE(run(counting, GetParam().name, depth).right);
    EXPECT_GE(counting.matched, depth + 3 * kWindow);
    // Every message of the windows; some of the queue, at its begin, its end, and between.
    std::vector<long> spoilt = {0, 5, 3 * kWindow - 1, 3 * kWindow, 3 * kWindow + 1, 3 * kWindow + depth - 1};
    for (const long message : spoilt) {
      Hall hall;
      hall.spoilt = message;
      EXPECT_FALSE(run(hall, GetParam().name, depth).right) << "depth " << depth << ", message " << message;
    }
  }
}

TEST_P(MatchTest, AQueueHasARowForTheWindowAndOneForItself) {
  const auto rows = [&](long depth) {
    Hall hall;
    const std::string text = run(hall, GetParam().name, depth).rows;
    std::vector<std::string> ways;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      for (const char* way : {"window", "drain"})
        if (line.find(std::string(R"("way":")") + way) != std::string::npos) ways.emplace_back(way);
    return ways;
  };
  EXPECT_THAT(rows(0), testing::ElementsAre("window"));
  EXPECT_THAT(rows(10), testing::ElementsAre("window")) << "too few to look at a clock";
  EXPECT_THAT(rows(300), testing::ElementsAre("window", "drain"));
}

std::string name_of(const testing::TestParamInfo<MatchCase>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cases, MatchTest, testing::ValuesIn(kMatchCases), name_of);

TEST(Match, ADepthThatNeedsMoreTagsThanThereAreIsRefused) {
  testing::internal::CaptureStderr();
  Hall hall;
  EXPECT_FALSE(run(hall, "posted", 100, 50).right);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("tags up to 105, and the largest is 50"));
  EXPECT_TRUE(run(hall, "posted", 100, 105).right);
}

}  // namespace
}  // namespace stria::bench
