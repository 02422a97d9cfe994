// The processes of a native benchmark: forked by the program itself, each bound to a core of its own, with a
// page of shared memory for barriers and for what they tell each other outside the timed part.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stria::bench {

class Team {
 public:
  static constexpr int kMost = 64;
  static constexpr std::size_t kRoom = 512;  ///< bytes each member can publish

  /// Forks `members` processes that run `member(rank, team)` and waits for them. The answer is 0 when all
  /// returned 0; when one dies or fails, the others are ended and the answer says so.
  static int run(int members, const std::function<int(int, Team&)>& member);

  int size() const { return members_; }
  /// Every member arrives. Sleeps in short naps while it waits, so that it also works with fewer cores.
  void barrier();
  /// Each member publishes bytes; afterwards everybody has everybody's, in rank order. Collective.
  std::vector<std::string> exchange(int rank, const std::string& mine);

 private:
  struct Shared {
    std::atomic<std::uint32_t> arrived{0};
    std::atomic<std::uint32_t> generation{0};
    std::uint32_t bytes[kMost] = {};
    char texts[kMost][kRoom] = {};
  };

  Team(int members, Shared* shared) : members_(members), shared_(shared) {}

  int members_;
  Shared* shared_;
};

}  // namespace stria::bench
