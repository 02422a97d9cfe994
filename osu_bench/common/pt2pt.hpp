// OSU's five point-to-point questions, each as a template over the library that answers them.
#pragma once

#include <cstring>

#include "osu_bench/common/buffer.hpp"
#include "osu_bench/common/distance.hpp"
#include "osu_bench/common/measure.hpp"
#include "osu_bench/common/pattern.hpp"
#include "osu_bench/common/report.hpp"
#include "osu_bench/common/rewrite.hpp"

namespace stria::bench {

inline constexpr double kNsPerUs = 1e3;

/// The mean of the leading ranks' values on rank 0, 0 elsewhere. Collective.
template <Peer P>
double mean_of_leaders(P& peer, double value) {
  const std::vector<double> all = peer.gather(value);
  double sum = 0;
  const std::size_t leaders = all.size() / 2;
  for (std::size_t i = 0; i < leaders; ++i) sum += all[i];
  return leaders == 0 ? 0 : sum / static_cast<double>(leaders);
}

/// A ping-pong with a payload that both sides check; outside any timing. Collective.
template <Peer P>
bool check_ping_pong(P& peer, const Buffer& to_send, const Buffer& received, std::size_t bytes) {
  const bool leader = leads(peer);
  const auto seed = static_cast<std::uint64_t>(peer.rank() % (peer.size() / 2)) * 1000003 + bytes;
  fill_pattern(to_send.data(), bytes, seed + (leader ? 0 : 1));
  std::memset(received.data(), 0, bytes);
  if (leader) {
    peer.send(to_send.data(), bytes);
    peer.recv(received.data(), bytes);
  } else {
    peer.recv(received.data(), bytes);
    peer.send(to_send.data(), bytes);
  }
  return all_agree(peer, has_pattern(received.data(), bytes, seed + (leader ? 1 : 0)));
}

/// A window of different messages each way at once, into memory of their own: content and order are checked.
/// Collective. Uses at most 64 MiB a side.
template <Peer P>
bool check_window(P& peer, std::size_t bytes, int window) {
  constexpr std::size_t kMost = 64U << 20U;
  const int messages = static_cast<int>(std::min<std::size_t>(
      static_cast<std::size_t>(window), std::max<std::size_t>(1, kMost / std::max<std::size_t>(bytes, 1))));
  const auto count = static_cast<std::size_t>(messages);
  Buffer out(bytes * count);
  Buffer in(bytes * count);
  const auto mine = static_cast<std::uint64_t>(peer.rank()) * 65537;
  const auto half = static_cast<std::uint64_t>(peer.size() / 2);
  const std::uint64_t theirs = (leads(peer) ? static_cast<std::uint64_t>(peer.rank()) + half
                                            : static_cast<std::uint64_t>(peer.rank()) - half) *
                               65537;
  for (std::size_t i = 0; i < count; ++i) fill_pattern(out.data() + i * bytes, bytes, mine + i);
  for (int i = 0; i < messages; ++i)
    peer.start_recv(i, in.data() + static_cast<std::size_t>(i) * bytes, bytes);
  for (int i = 0; i < messages; ++i) {
    peer.start_send(messages + i, out.data() + static_cast<std::size_t>(i) * bytes, bytes);
  }
  peer.wait_slots(2 * messages);
  bool right = true;
  for (std::size_t i = 0; i < count; ++i)
    right = right && has_pattern(in.data() + i * bytes, bytes, theirs + i);
  return all_agree(peer, right);
}

/// Where a message of `bytes` bytes is sent from, and where one comes to.
struct Messages {
  std::byte* out;
  std::byte* in;
  std::size_t bytes;
};

/// The leader's or the follower's side of a ping-pong. `before` is done with what is sent, `after` with what
/// came.
template <Peer P, class Before, class After>
Measured measure_ping_pong(P& peer, const Plan& plan, const Messages& messages, Before&& before,
                           After&& after) {
  std::byte* const out = messages.out;
  std::byte* const in = messages.in;
  const std::size_t bytes = messages.bytes;
  if (leads(peer)) {
    return measure(peer, plan, [&] {
      before(out);
      peer.send(out, bytes);
      peer.recv(in, bytes);
      after(in);
    });
  }
  return measure(peer, plan, [&] {
    peer.recv(in, bytes);
    after(in);
    before(out);
    peer.send(out, bytes);
  });
}

/// osu_latency, and osu_multi_lat when there are several pairs. Returns whether every payload was right.
template <Peer P>
bool run_latency(P& peer, const Program& program, const Options& options) {
  const Report report(program, options,
                      with_distance({{"size", "Size"},
                                     {"latency_us", "Latency (us)", 3},
                                     {"min_us", "Min (us)", 3},
                                     {"median_us", "Median (us)", 3},
                                     {"p99_us", "P99 (us)", 3},
                                     {"iterations", "Iterations"},
                                     {"valid", "Validation"}}),
                      peer.rank() == 0);
  const Environment environment = peer.environment();
  report.header(environment);
  Distance<P> distance(peer);
  bool all_right = true;
  for (const std::size_t bytes : options.sizes) {
    const Buffer to_send = make_buffer(peer, options, bytes);
    const Buffer received = make_buffer(peer, options, bytes);
    std::memset(to_send.data(), 'a', bytes);
    std::memset(received.data(), 'b', bytes);
    std::byte* const out = to_send.data();
    std::byte* const in = received.data();
    const Plan plan = plan_for(options, bytes, false);
    const double line = distance.us();
    std::uint64_t first = 0;
    const Measured took =
        options.rewrite
            ? measure_ping_pong(
                  peer, plan, {out, in, bytes}, [&](std::byte* to) { write_all(to, bytes, ++first); },
                  [&](const std::byte* from) { read_all(from, bytes); })
            : measure_ping_pong(
                  peer, plan, {out, in, bytes}, [](std::byte*) {}, [](const std::byte*) {});
    const double line_after = distance.us();
    const auto one_way = [&](double ns) { return mean_of_leaders(peer, ns / 2 / kNsPerUs); };
    const double average = one_way(took.ns.average);
    const double least = one_way(took.ns.min);
    const double median = one_way(took.ns.median);
    const double p99 = one_way(took.ns.p99);
    const bool right = !options.validate || check_ping_pong(peer, to_send, received, bytes);
    all_right = all_right && right;
    report.row({static_cast<std::int64_t>(bytes), average, least, median, p99,
                static_cast<std::int64_t>(took.iterations), right, line, line_after});
  }
  return all_right;
}

/// One way for osu_bw and osu_mbw_mr; both ways at once for osu_bibw.
enum class Direction { one_way, both_ways };

/// The leader's or the follower's side of one window, then an acknowledgement.
template <Peer P>
Measured measure_window(P& peer, const Plan& plan, int window, Direction direction,
                        const Messages& messages) {
  std::byte* const out = messages.out;
  std::byte* const in = messages.in;
  const std::size_t bytes = messages.bytes;
  constexpr std::size_t kAck = 4;
  std::byte ack[kAck] = {};
  if (direction == Direction::both_ways) {
    return measure(peer, plan, [&] {
      for (int i = 0; i < window; ++i) peer.start_recv(i, in, bytes);
      for (int i = 0; i < window; ++i) peer.start_send(window + i, out, bytes);
      peer.wait_slots(2 * window);
    });
  }
  if (leads(peer)) {
    return measure(peer, plan, [&] {
      for (int i = 0; i < window; ++i) peer.start_send(i, out, bytes);
      peer.wait_slots(window);
      peer.recv(ack, kAck);
    });
  }
  return measure(peer, plan, [&] {
    for (int i = 0; i < window; ++i) peer.start_recv(i, in, bytes);
    peer.wait_slots(window);
    peer.send(ack, kAck);
  });
}

/// osu_bw, osu_bibw and osu_mbw_mr. The receives of a window share one buffer, as OSU's do.
template <Peer P>
bool run_bandwidth(P& peer, const Program& program, const Options& options, Direction direction) {
  const Report report(
      program, options,
      with_distance({{"size", "Size"},
                     {"bandwidth_mb_s", direction == Direction::one_way ? "MB/s" : "Bidir. MB/s"},
                     {"messages_per_s", "Messages/s", 0},
                     {"min_mb_s", "Min (MB/s)"},
                     {"median_mb_s", "Median (MB/s)"},
                     {"p99_mb_s", "P99 (MB/s)"},
                     {"iterations", "Windows"},
                     {"valid", "Validation"}}),
      peer.rank() == 0);
  const Environment environment = peer.environment();
  report.header(environment);
  peer.make_slots(2 * options.window);
  Distance<P> distance(peer);
  bool all_right = true;
  for (const std::size_t bytes : options.sizes) {
    const Buffer to_send = make_buffer(peer, options, bytes);
    const Buffer received = make_buffer(peer, options, bytes);
    std::memset(to_send.data(), 'a', bytes);
    std::memset(received.data(), 'b', bytes);
    const double line = distance.us();
    const Measured took = measure_window(peer, plan_for(options, bytes, true), options.window, direction,
                                         {to_send.data(), received.data(), bytes});
    const double line_after = distance.us();
    // Samples are a window's time: the 99th percentile is a slow window, and "min" the slowest of all.
    const double ways = direction == Direction::both_ways ? 2 : 1;
    const double messages = options.window * ways * (peer.size() / 2);
    const auto rate = [&](double ns) {
      const double mean = mean_of_leaders(peer, ns);
      return mean > 0 ? messages * static_cast<double>(bytes) * 1e3 / mean : 0.0;
    };
    const double average_ns = mean_of_leaders(peer, took.ns.average);
    const double average = rate(took.ns.average);
    const double least = rate(took.slowest_ns);
    const double median = rate(took.ns.median);
    const double p99 = rate(took.ns.p99);
    const bool right = !options.validate || check_window(peer, bytes, options.window);
    all_right = all_right && right;
    report.row({static_cast<std::int64_t>(bytes), average, average_ns > 0 ? messages * 1e9 / average_ns : 0.0,
                least, median, p99, static_cast<std::int64_t>(took.iterations), right, line, line_after});
  }
  return all_right;
}

}  // namespace stria::bench
