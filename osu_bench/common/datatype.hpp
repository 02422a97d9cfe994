// The datatype benchmark: a ping-pong of each shape, as a derived type, packed by hand, and as contiguous
// bytes of the same number, which is the mark the other two are held to.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "osu_bench/common/cases.hpp"
#include "osu_bench/common/pt2pt.hpp"

namespace stria::bench {

/// A peer that also moves what a Recipe describes.
template <class T>
concept TypedPeer = Peer<T> && requires(T peer, const Recipe& recipe, typename T::Type& type,
                                        const void* from, void* to, std::size_t bytes) {
  { peer.make_type(recipe) } -> std::same_as<typename T::Type>;
  peer.send_typed(from, type);
  peer.recv_typed(to, type);
  peer.pack(from, type, to, bytes);  // into `bytes` of packed memory
  peer.unpack(from, bytes, to, type);
};

inline void fill_shape(const Recipe& shape, std::byte* base, std::uint64_t seed) {
  std::uint64_t position = 0;
  shape.walk(0, [&](std::int64_t at, std::int64_t bytes) {
    fill_pattern(base + at, static_cast<std::size_t>(bytes), seed, position);
    position += static_cast<std::uint64_t>(bytes);
  });
}

inline void clear_shape(const Recipe& shape, std::byte* base) {
  shape.walk(0, [&](std::int64_t at, std::int64_t bytes) {
    std::memset(base + at, 0, static_cast<std::size_t>(bytes));
  });
}

/// Whether the shape holds the stream `seed` and, in memory of at most 16 MiB, nothing else was written.
inline bool shape_is_right(const Recipe& shape, const std::byte* base, std::uint64_t seed) {
  constexpr std::int64_t kMostForGaps = 16 << 20;
  std::uint64_t position = 0;
  bool right = true;
  const std::int64_t end = shape.end();
  std::vector<bool> used(static_cast<std::size_t>(end <= kMostForGaps ? end : 0));
  shape.walk(0, [&](std::int64_t at, std::int64_t bytes) {
    right = right && has_pattern(base + at, static_cast<std::size_t>(bytes), seed, position);
    position += static_cast<std::uint64_t>(bytes);
    for (std::int64_t i = at; i < at + bytes && !used.empty(); ++i) used[static_cast<std::size_t>(i)] = true;
  });
  for (std::size_t i = 0; i < used.size(); ++i) right = right && (used[i] || base[i] == std::byte{0});
  return right;
}

template <TypedPeer P>
class DatatypeRun {
 public:
  DatatypeRun(P& peer, const Options& options, const Report& report)
      : peer_(peer), options_(options), report_(report), leader_(leads(peer)) {}

  bool run(const Case& shape) {
    const auto bytes = static_cast<std::size_t>(shape.sent.size());
    typename P::Type sent = peer_.make_type(shape.sent);
    typename P::Type received = peer_.make_type(shape.received);
    Buffer out_memory(static_cast<std::size_t>(shape.sent.end()));
    Buffer in_memory(static_cast<std::size_t>(shape.received.end()));
    Buffer out_packed(bytes);
    Buffer in_packed(bytes);
    std::byte* const out = out_memory.data();
    std::byte* const in = in_memory.data();
    std::byte* const out_bytes = out_packed.data();
    std::byte* const in_bytes = in_packed.data();
    fill_shape(shape.sent, out, leader_ ? 1 : 2);
    fill_pattern(out_bytes, bytes, leader_ ? 1 : 2);

    bool right = way(
        shape, "derived", bytes, [&] { peer_.send_typed(out, sent); },
        [&] { peer_.recv_typed(in, received); }, [&] { clear_shape(shape.received, in); },
        [&](std::uint64_t seed) { return shape_is_right(shape.received, in, seed); });
    right &= way(
        shape, "contiguous", bytes, [&] { peer_.send(out_bytes, bytes); },
        [&] { peer_.recv(in_bytes, bytes); }, [&] { std::memset(in_bytes, 0, bytes); },
        [&](std::uint64_t seed) { return has_pattern(in_bytes, bytes, seed); });
    right &= way(
        shape, "packed", bytes,
        [&] {
          peer_.pack(out, sent, out_bytes, bytes);
          peer_.send(out_bytes, bytes);
        },
        [&] {
          peer_.recv(in_bytes, bytes);
          peer_.unpack(in_bytes, bytes, in, received);
        },
        [&] { clear_shape(shape.received, in); },
        [&](std::uint64_t seed) { return shape_is_right(shape.received, in, seed); });
    return right;
  }

 private:
  template <class Send, class Recv, class Clear, class Right>
  bool way(const Case& shape, const std::string& name, std::size_t bytes, Send send, Recv recv, Clear clear,
           Right is_right) {
    if (!options_.ways.empty() && std::count(options_.ways.begin(), options_.ways.end(), name) == 0)
      return true;
    const Plan plan = plan_for(options_, bytes, false);
    const Measured took = leader_ ? measure(peer_, plan,
                                            [&] {
                                              send();
                                              recv();
                                            })
                                  : measure(peer_, plan, [&] {
                                      recv();
                                      send();
                                    });
    bool right = true;
    if (options_.validate) {
      clear();
      peer_.barrier();
      if (leader_) send();
      recv();
      if (!leader_) send();
      right = all_agree(peer_, is_right(leader_ ? 2 : 1));
    }
    const auto one_way = [&](double ns) { return mean_of_leaders(peer_, ns / 2 / kNsPerUs); };
    const double average = one_way(took.ns.average);
    const double least = one_way(took.ns.min);
    const double median = one_way(took.ns.median);
    const double p99 = one_way(took.ns.p99);
    report_.row({shape.name, static_cast<std::int64_t>(shape.parameter), name,
                 static_cast<std::int64_t>(bytes), average, least, median, p99,
                 static_cast<std::int64_t>(took.iterations), right});
    return right;
  }

  P& peer_;
  const Options& options_;
  const Report& report_;
  bool leader_;
};

template <TypedPeer P>
bool run_datatype(P& peer, const Program& program, const Options& options) {
  const Report report(program, options,
                      {{"case", "Case"},
                       {"parameter", "Parameter"},
                       {"way", "Way"},
                       {"size", "Size"},
                       {"latency_us", "Latency (us)", 3},
                       {"min_us", "Min (us)", 3},
                       {"median_us", "Median (us)", 3},
                       {"p99_us", "P99 (us)", 3},
                       {"iterations", "Iterations"},
                       {"valid", "Validation"}},
                      peer.rank() == 0);
  const Environment environment = peer.environment();
  report.header(environment);
  const auto wanted = [](const auto& list, const auto& value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  DatatypeRun<P> runs(peer, options, report);
  bool all_right = true;
  for (const Case& shape : datatype_cases()) {
    if (!wanted(options.cases, shape.name) || !wanted(options.parameters, shape.parameter)) continue;
    all_right = runs.run(shape) && all_right;
  }
  return all_right;
}

}  // namespace stria::bench
