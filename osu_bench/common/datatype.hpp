// The datatype benchmark: a ping-pong of each shape, as a derived type, packed by hand, and as contiguous
// bytes of the same number, which is the mark the other two are held to; and packing and unpacking alone.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "osu_bench/common/cases.hpp"
#include "osu_bench/common/pt2pt.hpp"
#include "osu_bench/common/shape.hpp"

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

template <TypedPeer P>
class DatatypeRun {
 public:
  DatatypeRun(P& peer, const Options& options, const Report& report)
      : peer_(peer), options_(options), report_(report), leader_(leads(peer)), distance_(peer) {}

  bool run(const Case& shape) {
    const auto bytes = static_cast<std::size_t>(shape.sent.size());
    typename P::Type sent = peer_.make_type(shape.sent);
    typename P::Type received = peer_.make_type(shape.received);
    const auto room = [&](std::int64_t size) {
      Buffer made = make_buffer(peer_, options_, static_cast<std::size_t>(size));
      // MPI_Alloc_mem promises nothing about its contents. Larger memory is left untouched where it is
      // unused.
      if (options_.alloc_mem && size <= kMostForGaps)
        std::memset(made.data(), 0, static_cast<std::size_t>(size));
      return made;
    };
    const Buffer out_memory = room(shape.sent.end());
    const Buffer in_memory = room(shape.received.end());
    const Buffer out_packed = room(shape.sent.size());
    const Buffer in_packed = room(shape.sent.size());
    std::byte* const out = out_memory.data();
    std::byte* const in = in_memory.data();
    std::byte* const out_bytes = out_packed.data();
    std::byte* const in_bytes = in_packed.data();
    const std::uint64_t seed = leader_ ? 1 : 2;
    fill_shape(shape.sent, out, seed);
    fill_pattern(out_bytes, bytes, seed);
    const auto clear_in = [&] { clear_shape(shape.received, in); };
    const auto in_is_right = [&](std::uint64_t of) { return shape_is_right(shape.received, in, of); };

    bool right = true;
    for (const std::string& way : options_.ways) {
      if (way == "derived") {
        right &= exchange(
            shape, way, [&] { peer_.send_typed(out, sent); }, [&] { peer_.recv_typed(in, received); },
            clear_in, in_is_right);
      } else if (way == "contiguous") {
        right &= exchange(
            shape, way, [&] { peer_.send(out_bytes, bytes); }, [&] { peer_.recv(in_bytes, bytes); },
            [&] { std::memset(in_bytes, 0, bytes); },
            [&](std::uint64_t of) { return has_pattern(in_bytes, bytes, of); });
      } else if (way == "packed") {
        right &= exchange(
            shape, way,
            [&] {
              peer_.pack(out, sent, out_bytes, bytes);
              peer_.send(out_bytes, bytes);
            },
            [&] {
              peer_.recv(in_bytes, bytes);
              peer_.unpack(in_bytes, bytes, in, received);
            },
            clear_in, in_is_right);
      } else if (way == "pack") {
        right &= alone(
            shape, way, [&] { peer_.pack(out, sent, in_bytes, bytes); },
            [&] { std::memset(in_bytes, 0, bytes); }, [&] { return has_pattern(in_bytes, bytes, seed); });
      } else if (way == "unpack") {
        right &= alone(
            shape, way, [&] { peer_.unpack(out_bytes, bytes, in, received); }, clear_in,
            [&] { return in_is_right(seed); });
      }
    }
    return right;
  }

 private:
  /// A ping-pong; the figures are of one way. Six parameters: the last four are steps, and the timed loop is
  /// compiled for the first two.
  template <class Send, class Recv, class Clear, class Right>
  bool exchange(const Case& shape, const std::string& way, Send send, Recv recv, Clear clear,
                Right is_right) {
    const Plan plan = plan_for(options_, static_cast<std::size_t>(shape.sent.size()), false);
    Distances distances{.before = distance_.us()};
    const Measured took = leader_ ? measure(peer_, plan,
                                            [&] {
                                              send();
                                              recv();
                                            })
                                  : measure(peer_, plan, [&] {
                                      recv();
                                      send();
                                    });
    distances.after = distance_.us();
    bool right = true;
    if (options_.validate) {
      clear();
      peer_.barrier();
      if (leader_) send();
      recv();
      if (!leader_) send();
      right = all_agree(peer_, is_right(leader_ ? 2 : 1));
    }
    row(shape, way, {took, 2, right, distances});
    return right;
  }

  /// What the leaders do alone, while their partners wait.
  template <class Step, class Clear, class Right>
  bool alone(const Case& shape, const std::string& way, Step step, Clear clear, Right is_right) {
    const Plan plan = plan_for(options_, static_cast<std::size_t>(shape.sent.size()), false);
    const Measured took = leader_ ? measure(peer_, plan, step) : measure(peer_, plan, [] {});
    bool right = true;
    if (options_.validate) {
      clear();
      step();
      right = all_agree(peer_, is_right());
    }
    row(shape, way, {took, 1, right, {}});
    return right;
  }

  struct Outcome {
    const Measured& took;
    int parts;  ///< of what was timed; the figures are of one
    bool right;
    Distances distances;
  };
  void row(const Case& shape, const std::string& way, const Outcome& of) {
    const auto of_part = [&](double ns) { return mean_of_leaders(peer_, ns / of.parts / kNsPerUs); };
    const double average = of_part(of.took.ns.average);
    const double least = of_part(of.took.ns.min);
    const double median = of_part(of.took.ns.median);
    const double p99 = of_part(of.took.ns.p99);
    report_.row({shape.name, static_cast<std::int64_t>(shape.parameter), way, shape.sent.size(), average,
                 least, median, p99, static_cast<std::int64_t>(of.took.iterations), of.right,
                 of.distances.before, of.distances.after});
  }

  P& peer_;
  const Options& options_;
  const Report& report_;
  bool leader_;
  Distance<P> distance_;
};

template <TypedPeer P>
bool run_datatype(P& peer, const Program& program, const Options& options) {
  const Report report(program, options, datatype_columns(), peer.rank() == 0);
  Environment environment = peer.environment();
  environment.emplace_back("seed", std::to_string(options.shapes.seed));
  report.header(environment);
  DatatypeRun<P> runs(peer, options, report);
  bool all_right = true;
  for (const Case& shape : datatype_cases(options.shapes)) all_right = runs.run(shape) && all_right;
  return all_right;
}

}  // namespace stria::bench
