#include "osu_bench/floor/two_cores.hpp"

#include <algorithm>

namespace stria::bench {

TwoCores::TwoCores(const Loops& sent, const Loops& received, const Sides& sides, std::int64_t fragment,
                   CoresOfBoth on)
    : sent_(sent), received_(received), sides_(sides) {
  // Plain memory can be cut anywhere, so the other side says where.
  const std::vector<std::int64_t> cuts = (sent.is_plain() ? received : sent).cuts(fragment);
  gathered_ = sent.fragments(cuts);
  scattered_ = received.fragments(cuts);
  std::int64_t longest = 0;
  std::int64_t begin = 0;
  for (const std::int64_t end : cuts) {
    longest = std::max(longest, end - begin);
    begin = end;
  }
  // Slots are lines apart from each other, and do not fall upon the same sets of the cache.
  slot_bytes_ = (static_cast<std::size_t>(longest) + kLine - 1) / kLine * kLine + kLine;
  for (Ring* ring : {&there_, &back_}) ring->slots = Buffer(kSlots * slot_bytes_);
  bind_to(on.here);
  other_ = std::thread([this, there = on.there] {
    bind_to(there);
    std::uint64_t trip = 0;
    while (receive(there_, sides_.in[1])) {
      const bool wanted = trips_;  // written before what was received
      send(back_, sides_.out[1]);
      if (wanted) answer_line_trips(lines_, trip, kRepeats * kTrips);
    }
  });
}

TwoCores::~TwoCores() {
  stop_.store(true, std::memory_order_relaxed);
  other_.join();
}

void TwoCores::exchange() {
  send(there_, sides_.out[0]);
  receive(back_, sides_.in[0]);
}

double TwoCores::line_ns() {
  trips_ = true;
  exchange();  // after it the other thread answers
  double least = begin_line_trips(lines_, trip_, kTrips);
  for (int i = 1; i < kRepeats; ++i) least = std::min(least, begin_line_trips(lines_, trip_, kTrips));
  trips_ = false;  // the other thread has read it
  return least;
}

void TwoCores::send(Ring& ring, const std::byte* from) {
  for (const std::vector<Part>& parts : gathered_) {
    while (ring.sender - ring.drained.load(std::memory_order_acquire) >= kSlots) pause_briefly();
    sent_.gather(parts, from, ring.slots.data() + ring.sender % kSlots * slot_bytes_);
    ring.filled.store(++ring.sender, std::memory_order_release);
  }
}

bool TwoCores::receive(Ring& ring, std::byte* to) {
  for (const std::vector<Part>& parts : scattered_) {
    while (ring.filled.load(std::memory_order_acquire) == ring.receiver) {
      if (stop_.load(std::memory_order_relaxed)) return false;
      pause_briefly();
    }
    received_.scatter(parts, ring.slots.data() + ring.receiver % kSlots * slot_bytes_, to);
    ring.drained.store(++ring.receiver, std::memory_order_release);
  }
  return true;
}

}  // namespace stria::bench
