// Divisions: a pool of the objects that a receive needs while its message is divided among several links: a
// Division, and a RailReads where the message is read and not sent. An object has a number from 1 on, stays
// where it is, and is used again.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "rndv/division.hpp"
#include "rndv/rail_reads.hpp"

namespace stria::rndv {

class Divisions {
 public:
  /// Returns the number of an object whose Division has no pieces; 0: there is no memory. `reads`: the caller
  /// will use its reads().
  std::uint32_t acquire(bool reads = false) noexcept try {
    if (free_.empty()) {
      free_.reserve(all_.size() + 1);
      all_.push_back(std::make_unique<OfReceive>());
      free_.push_back(static_cast<std::uint32_t>(all_.size()));
    }
    const std::uint32_t number = free_.back();
    OfReceive& one = *all_[number - 1];
    if (reads && one.reads == nullptr) one.reads = std::make_unique<RailReads>();
    free_.pop_back();
    one.division.clear();
    if (reads) one.reads->clear();
    return number;
  } catch (const std::bad_alloc&) {
    return 0;
  }
  void release(std::uint32_t number) noexcept { free_.push_back(number); }
  Division& operator[](std::uint32_t number) noexcept { return all_[number - 1]->division; }
  RailReads& reads(std::uint32_t number) noexcept { return *all_[number - 1]->reads; }

 private:
  struct OfReceive {
    Division division;
    std::unique_ptr<RailReads> reads;  // made when a receive first needs it
  };
  std::vector<std::unique_ptr<OfReceive>> all_;
  std::vector<std::uint32_t> free_;  // numbers not in use; has capacity for all numbers
};

}  // namespace stria::rndv
