// What a benchmark asks of the library under test. The MPI programs and the native programs give it each in
// their own way; the benchmarks are templates over it, so that the timed loop contains nothing else.
#pragma once

#include <concepts>
#include <cstddef>
#include <vector>

#include "osu_bench/common/buffer.hpp"
#include "osu_bench/common/report.hpp"

namespace stria::bench {

/// Ranks 0 … n/2-1 lead; each has its partner n/2 ranks higher.
template <class T>
concept Peer = requires(T peer, const void* from, void* to, std::size_t bytes, int slot, long number,
                        double real) {
  { peer.rank() } -> std::convertible_to<int>;
  { peer.size() } -> std::convertible_to<int>;
  peer.send(from, bytes);              // blocking, to the partner
  peer.recv(to, bytes);                // blocking, from the partner
  peer.start_send(slot, from, bytes);  // slots below those reserved by make_slots
  peer.start_recv(slot, to, bytes);
  peer.wait_slots(slot);  // the first `slot` slots
  peer.make_slots(slot);
  { peer.allocate(bytes) } -> std::same_as<Buffer>;  // of the library's own, that other processes may map
  peer.barrier();
  { peer.broadcast(number) } -> std::same_as<long>;            // rank 0's number
  { peer.gather(real) } -> std::same_as<std::vector<double>>;  // to rank 0; empty elsewhere
  { peer.environment() } -> std::same_as<Environment>;         // collective
};

template <Peer P>
bool leads(P& peer) {
  return peer.rank() < peer.size() / 2;
}

/// Memory of the messages: the system's, or with --alloc-mem the library's.
template <Peer P>
Buffer make_buffer(P& peer, const Options& options, std::size_t bytes) {
  return options.alloc_mem ? peer.allocate(bytes) : Buffer(bytes);
}

/// True on every rank when `mine` is true on every rank. Collective.
template <Peer P>
bool all_agree(P& peer, bool mine) {
  const std::vector<double> answers = peer.gather(mine ? 1.0 : 0.0);
  long every = 1;
  for (double answer : answers) every = every != 0 && answer > 0.5 ? 1 : 0;
  return peer.broadcast(every) != 0;
}

}  // namespace stria::bench
