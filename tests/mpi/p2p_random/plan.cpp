// Drawing a plan; see plan.hpp.
#include "tests/mpi/p2p_random/plan.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace p2p_random {
namespace {

using mpitest::Rng;

// Beyond this a round only gets short messages: many small rounds find more than a few long ones.
constexpr std::uint64_t kRoundBytes = 4 << 20;
constexpr std::uint64_t kShort = 4097;

std::uint64_t draw_bytes(Rng& rng, std::uint64_t largest) {
  static const std::vector<std::uint64_t> sizes = mpitest::threshold_sizes();
  std::uint64_t bytes = sizes[rng.below(sizes.size())];
  while (bytes > largest) bytes = sizes[rng.below(sizes.size())];
  const std::uint64_t kind = rng.below(4);
  if (kind == 0) return rng.below(bytes + 2);
  return kind == 1 && bytes > 0 ? bytes - 1 + rng.below(3) : bytes;
}

std::vector<Message> draw_messages(Rng& rng, Arrival arrival, const PlanRules& rules) {
  const auto ranks = static_cast<std::uint64_t>(rules.ranks);
  const auto modes = static_cast<std::uint64_t>(SendMode::kinds);
  std::vector<Message> messages(1 + rng.below(rng.chance(15) ? 100 : 25));
  const std::uint64_t tags = 1 + rng.below(4);
  std::uint64_t total = 0;
  for (Message& m : messages) {
    m.source = static_cast<int>(rng.below(ranks));
    m.destination = static_cast<int>(rng.below(ranks));
    if (m.destination == m.source && rng.chance(60)) m.destination = (m.source + 1) % rules.ranks;
    m.comm = static_cast<int>(rng.below(kComms));
    m.tag = static_cast<int>(rng.below(tags));
    m.bytes = draw_bytes(rng, total > kRoundBytes ? std::min(kShort, rules.largest) : rules.largest);
    total += m.bytes;
    m.mode = static_cast<SendMode>(rng.below(modes));
    // Ready sends need their receive; the attached buffer belongs to all threads.
    if (m.mode == SendMode::ready && arrival != Arrival::expected) m.mode = SendMode::standard;
    if (m.mode == SendMode::buffered && rules.threads) m.mode = SendMode::standard;
    m.key = rng.next();
  }
  return messages;
}

bool same_channel(const Message& a, const Message& b) {
  return a.source == b.source && a.tag == b.tag;
}

using Sent = std::vector<const Message*>;

// A random order that keeps that of each channel.
Sent draw_order(Rng& rng, Sent sent) {
  Sent order;
  while (!sent.empty()) {
    const Message& drawn = *sent[rng.below(sent.size())];
    const auto first =
        std::find_if(sent.begin(), sent.end(), [&](const Message* m) { return same_channel(*m, drawn); });
    order.push_back(*first);
    sent.erase(first);
  }
  return order;
}

// With room for the message, for more, or for less.
std::uint64_t draw_capacity(Rng& rng, std::uint64_t bytes, bool truncate) {
  if (truncate && rng.chance(20)) return rng.below(bytes + 1);
  return rng.chance(20) ? bytes + rng.below(3000) : bytes;
}

// Receives for what one rank is sent on one communicator, in the order of posting, each for one message:
//   1. of a known source; it may take any tag if no earlier message of the source is left to those behind it,
//      as MPI's order gives it its message then, whatever the timing;
//   2. of any source, with a tag;
//   3. of any source and tag.
// Who gets what in 2 and 3 depends on the order of arrival. But what 2 leaves, whichever that is, 3 takes, so
// nobody waits for a message that went elsewhere.
std::vector<Receive> draw_receives(Rng& rng, const Sent& sent, bool truncate) {
  const Sent order = draw_order(rng, sent);
  const std::size_t known = rng.chance(40) ? order.size() : rng.below(order.size() + 1);
  const std::size_t tagged = known + rng.below(order.size() - known + 1);
  std::uint64_t longest_of_any = 0;
  for (std::size_t i = known; i < order.size(); ++i)
    longest_of_any = std::max(longest_of_any, order[i]->bytes);

  std::vector<Receive> receives;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Message& m = *order[i];
    const std::uint64_t longest = i < known ? m.bytes : longest_of_any;
    Receive r{m.comm, m.source, m.tag, draw_capacity(rng, longest, truncate), false};
    r.may_fail = r.capacity < longest;
    if (i >= known) r.source = MPI_ANY_SOURCE;
    const auto overtaken = [&](const Message* later) { return later->source == m.source && later < &m; };
    const bool may_widen =
        i < known && std::none_of(order.begin() + static_cast<std::ptrdiff_t>(i), order.end(), overtaken);
    if (i >= tagged || (may_widen && rng.chance(40))) r.tag = MPI_ANY_TAG;
    receives.push_back(r);
  }
  return receives;
}

// The order on each communicator is kept, that between them is drawn.
std::vector<Receive> interleave(Rng& rng, std::vector<std::vector<Receive>> lists) {
  std::vector<Receive> all;
  std::vector<std::size_t> next(lists.size(), 0);
  std::erase_if(lists, [](const auto& list) { return list.empty(); });
  while (!lists.empty()) {
    const std::size_t i = rng.below(lists.size());
    all.push_back(lists[i][next[i]++]);
    if (next[i] < lists[i].size()) continue;
    lists.erase(lists.begin() + static_cast<std::ptrdiff_t>(i));
    next.erase(next.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return all;
}

}  // namespace

bool selects(const Receive& receive, const Message& message) {
  return (receive.source == MPI_ANY_SOURCE || receive.source == message.source) &&
         (receive.tag == MPI_ANY_TAG || receive.tag == message.tag);
}

Plan draw_plan(std::uint64_t seed, std::uint64_t round, const PlanRules& rules) {
  Rng rng(mpitest::mix(seed) + round);
  Plan plan;
  plan.arrival = static_cast<Arrival>(rng.below(static_cast<std::uint64_t>(Arrival::kinds)));
  plan.meet_before_receives = rng.chance(50);
  plan.renew_transient = rng.chance(30);
  plan.messages = draw_messages(rng, plan.arrival, rules);
  const bool truncate = rules.truncate && rng.chance(60);
  for (int rank = 0; rank < rules.ranks; ++rank) {
    std::vector<std::vector<Receive>> lists;
    for (int comm = 0; comm < kComms; ++comm) {
      Sent sent;
      for (const Message& m : plan.messages) {
        if (m.destination == rank && m.comm == comm) sent.push_back(&m);
      }
      const bool freed = comm == kTransient && plan.renew_transient;
      lists.push_back(draw_receives(rng, sent, truncate && !freed));  // README.md says why
    }
    plan.receives.push_back(interleave(rng, std::move(lists)));
  }
  return plan;
}

}  // namespace p2p_random
