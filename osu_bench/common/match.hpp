// The matching benchmark: what a message costs while a queue of receives, or of unexpected messages, lies
// before it; and what it costs to take that queue itself.
//
//   slot, its tag      0 ... window-1 | window ... window+depth-1
//                      the window     | the standing queue, which is built first
//
// The standing queue has tags of its own and stays while windows of messages pass it, each timed by the
// receiver, rank 0: posted receives from the first that is posted until all are complete, the sender being
// told to go between; unexpected messages, which all lie in the queue by then, from the first receive to the
// last completion. At the end the standing queue is drained. Every payload says its tag and its round, and
// every one is checked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "osu_bench/common/match_cases.hpp"
#include "osu_bench/common/pt2pt.hpp"

namespace stria::bench {

/// A peer whose slots take messages of any tag. `Match` is what a receive names; its member `tag` may be set.
template <class T>
concept TaggedPeer = Peer<T> && requires(T peer, const void* from, void* to, std::size_t bytes, int number,
                                         bool any, typename T::Match match) {
  { peer.make_match(number, any, any) } -> std::same_as<typename T::Match>;  // tag, any source, any tag
  match.tag = number;
  peer.start_send(number, from, bytes, number);  // slot, …, tag
  peer.start_recv(number, to, bytes, match);
  peer.wait_slots(number, number);  // the first slot, and how many
  { peer.largest_tag() } -> std::convertible_to<long>;
};

template <TaggedPeer P>
class MatchRun {
 public:
  /// Collective, as all of it.
  MatchRun(P& peer, const Options& options, const Report& report, int most)
      : peer_(peer),
        options_(options),
        report_(report),
        receives_(leads(peer)),
        window_(options.window),
        distance_(peer),
        memory_(make_buffer(peer, options, sizeof(std::uint64_t) * static_cast<std::size_t>(window_ + most))),
        words_(reinterpret_cast<std::uint64_t*>(memory_.data())) {
    peer.make_slots(window_ + most);
    std::memset(memory_.data(), 0, memory_.bytes());
  }

  /// The last tag that a queue of that depth needs.
  static long last_tag(long window, long depth) { return kFirstTag + window + depth - 1; }

  /// The rows of a case and a depth; whether every payload was right.
  bool run(const MatchCase& which, int depth) {
    which_ = which;
    depth_ = depth;
    window_matches_.clear();
    for (int i = 0; i < window_; ++i)
      window_matches_.push_back(peer_.make_match(tag_of(i), which.any_source, which.any_tag));
    bool all_right = true;
    build();
    if (wants("window")) all_right = windows() && all_right;
    if (wants("drain") && depth >= kFewestDrained) {
      all_right = drains() && all_right;
    } else {
      right_ = true;
      std::vector<double> unused;
      drain(unused);
      all_right = all_agree(peer_, right_) && all_right;
    }
    return all_right;
  }

 private:
  static constexpr int kFirstTag = 2;        // 1 is that of what both sides tell each other
  static constexpr int kFewestDrained = 64;  // fewer are gone before a clock says anything
  static constexpr int kPart = 256;          // messages of the drain between two looks at the clock
  static constexpr long kDrains = 10;
  static constexpr std::size_t kBytes = sizeof(std::uint64_t);

  static int tag_of(int slot) { return kFirstTag + slot; }
  static std::uint64_t payload(std::uint64_t round, int slot) {
    return round << 32 | static_cast<std::uint64_t>(tag_of(slot));
  }
  bool wants(const char* way) const {
    return std::find(options_.ways.begin(), options_.ways.end(), way) != options_.ways.end();
  }
  void tell(std::uint64_t word) { peer_.send(&word, sizeof word); }
  std::uint64_t hear() {
    std::uint64_t word = 0;
    peer_.recv(&word, sizeof word);
    return word;
  }

  /// Calls f on the slots from `first` to before `last`, or the other way round.
  template <class F>
  static void each(int first, int last, bool backwards, F f) {
    if (backwards) {
      for (int slot = last; slot-- > first;) f(slot);
    } else {
      for (int slot = first; slot < last; ++slot) f(slot);
    }
  }
  void fill(int first, int last) {
    for (int slot = first; slot < last; ++slot) words_[slot] = payload(round_, slot);
  }
  void check(int first, int last, std::uint64_t round) {
    if (!options_.validate) return;
    for (int slot = first; slot < last; ++slot) {
      right_ = right_ && words_[slot] == payload(round, slot);
      words_[slot] = 0;
    }
  }
  void start_send(int slot) { peer_.start_send(slot, &words_[slot], kBytes, tag_of(slot)); }
  void post_window(bool backwards) {
    each(0, window_, backwards, [&](int slot) {
      peer_.start_recv(slot, &words_[slot], kBytes, window_matches_[static_cast<std::size_t>(slot)]);
    });
  }
  void post_standing(int first, int last, bool backwards) {
    typename P::Match match = peer_.make_match(0, which_.any_source, false);
    each(first, last, backwards, [&](int slot) {
      match.tag = static_cast<decltype(match.tag)>(tag_of(slot));
      peer_.start_recv(slot, &words_[slot], kBytes, match);
    });
  }

  /// The standing queue.
  void build() {
    standing_round_ = ++round_;
    const int end = window_ + depth_;
    if (!which_.unexpected) {
      if (receives_)
        post_standing(window_, end, false);
      else
        fill(window_, end);
    } else if (receives_) {
      hear();  // order: by now all of them came
    } else {
      fill(window_, end);
      each(window_, end, false, [&](int slot) { start_send(slot); });
      tell(0);
    }
  }

  /// One window; the receiver's time in nanoseconds.
  double window() {
    ++round_;
    double took = 0;
    if (!receives_) {
      fill(0, window_);
      hear();
      each(0, window_, which_.reversed && !which_.unexpected, [&](int slot) { start_send(slot); });
      if (which_.unexpected) tell(0);
      peer_.wait_slots(0, window_);
      return took;
    }
    if (which_.unexpected) {
      tell(0);
      hear();
      const double from = now_ns();
      post_window(which_.reversed);
      peer_.wait_slots(0, window_);
      took = now_ns() - from;
    } else {
      const double from = now_ns();
      post_window(false);
      tell(0);
      peer_.wait_slots(0, window_);
      took = now_ns() - from;
    }
    check(0, window_, round_);
    return took;
  }

  bool windows() {
    right_ = true;
    Distances distances{.before = distance_.us()};
    Measured took = measure_part(peer_, plan_for(options_, kBytes, true), [&] { return window(); });
    distances.after = distance_.us();
    return row("window", took.ns, window_, took.iterations, distances);
  }

  /// Takes the standing queue; a sample is the time of a message, the mean of a part. From its end only until
  /// the time for a row is over, since a library that searches a list needs a quadratic number of steps for
  /// that; the rest from its begin, and without samples. Returns the time of what was timed.
  double drain(std::vector<double>& samples) {
    int first = window_;
    int last = window_ + depth_;
    double total = 0;
    const double budget = options_.row_ms * 1e6;
    while (receives_ && first < last) {
      const int part = std::min(kPart, last - first);
      const bool timed = total < budget;
      const bool backwards = which_.reversed && timed;
      const int from_slot = backwards ? last - part : first;
      const double from = now_ns();
      if (which_.unexpected)
        post_standing(from_slot, from_slot + part, backwards);
      else
        tell(backwards ? 1 : 0);
      peer_.wait_slots(from_slot, part);
      const double took = now_ns() - from;
      if (timed) samples.push_back(took / part);
      total += timed ? took : 0;
      (backwards ? last : first) += backwards ? -part : part;
    }
    while (!receives_ && !which_.unexpected && first < last) {
      const int part = std::min(kPart, last - first);
      const bool backwards = hear() != 0;
      const int from_slot = backwards ? last - part : first;
      each(from_slot, from_slot + part, backwards, [&](int slot) { start_send(slot); });
      peer_.wait_slots(from_slot, part);
      (backwards ? last : first) += backwards ? -part : part;
    }
    if (receives_)
      check(window_, window_ + depth_, standing_round_);
    else if (which_.unexpected)
      peer_.wait_slots(window_, depth_);
    return total;
  }

  /// Drains the queue that is there, and builds and drains it again while the time for a row lasts.
  bool drains() {
    right_ = true;
    Distances distances{.before = distance_.us()};
    std::vector<double> samples;
    double total = 0;
    long count = 0;
    do {
      if (count > 0) build();
      total += drain(samples);
      ++count;
    } while (peer_.broadcast(count < kDrains && total < options_.row_ms * 1e6 ? 1 : 0) != 0);
    distances.after = distance_.us();
    return row("drain", summarise(std::move(samples)), 1, count, distances);
  }

  bool row(const char* way, const Summary& ns, int messages, long iterations, Distances distances) {
    const bool right = all_agree(peer_, right_);
    report_.row({std::string(which_.name), static_cast<std::int64_t>(depth_), std::string(way),
                 static_cast<std::int64_t>(kBytes), ns.average / messages, ns.min / messages,
                 ns.median / messages, ns.p99 / messages, static_cast<std::int64_t>(iterations), right,
                 distances.before, distances.after});
    return right;
  }

  P& peer_;
  const Options& options_;
  const Report& report_;
  bool receives_;
  int window_;
  Distance<P> distance_;
  Buffer memory_;
  std::uint64_t* words_;  // a slot's payload
  MatchCase which_{};
  int depth_ = 0;
  std::vector<typename P::Match> window_matches_;
  std::uint64_t round_ = 0;
  std::uint64_t standing_round_ = 0;
  bool right_ = true;
};

template <TaggedPeer P>
bool run_match(P& peer, const Program& program, const Options& options) {
  const long most = *std::max_element(options.depths.begin(), options.depths.end());
  if (const long last = MatchRun<P>::last_tag(options.window, most); last > peer.largest_tag()) {
    if (peer.rank() == 0) {
      std::fprintf(stderr, "%s: depth %ld needs tags up to %ld, and the largest is %ld\n",
                   program.name.c_str(), most, last, static_cast<long>(peer.largest_tag()));
    }
    return false;
  }
  const Report report(program, options,
                      with_distance({{"case", "Case"},
                                     {"parameter", "Depth"},
                                     {"way", "Way"},
                                     {"size", "Size"},
                                     {"average_ns", "Avg (ns)", 1},
                                     {"min_ns", "Min (ns)", 1},
                                     {"median_ns", "Median (ns)", 1},
                                     {"p99_ns", "P99 (ns)", 1},
                                     {"iterations", "Iterations"},
                                     {"valid", "Validation"}}),
                      peer.rank() == 0);
  Environment environment = peer.environment();
  environment.emplace_back("window", std::to_string(options.window));
  report.header(environment);
  MatchRun<P> runs(peer, options, report, static_cast<int>(most));
  bool all_right = true;
  for (const MatchCase& which : match_cases(options.shapes.cases)) {
    for (const long depth : options.depths) all_right = runs.run(which, static_cast<int>(depth)) && all_right;
  }
  return all_right;
}

}  // namespace stria::bench
