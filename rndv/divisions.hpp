// Divisions: a pool of what receives need while they are divided among several links, by number: a Division,
// and Reads where the message is read and not sent. Objects stay where they are, and serve again.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "rndv/division.hpp"
#include "rndv/reads.hpp"

namespace stria::rndv {

class Divisions {
 public:
  /// The number of one in which nothing is asked for; 0 when there is no memory. `reads`: its reads() will be
  /// used.
  std::uint32_t take(bool reads = false) noexcept try {
    if (free_.empty()) {
      free_.reserve(all_.size() + 1);
      all_.push_back(std::make_unique<OfReceive>());
      free_.push_back(static_cast<std::uint32_t>(all_.size()));
    }
    const std::uint32_t number = free_.back();
    OfReceive& one = *all_[number - 1];
    if (reads && one.reads == nullptr) one.reads = std::make_unique<Reads>();
    free_.pop_back();
    one.division.clear();
    if (reads) one.reads->clear();
    return number;
  } catch (const std::bad_alloc&) {
    return 0;
  }
  void give_back(std::uint32_t number) noexcept { free_.push_back(number); }
  Division& operator[](std::uint32_t number) noexcept { return all_[number - 1]->division; }
  Reads& reads(std::uint32_t number) noexcept { return *all_[number - 1]->reads; }

 private:
  struct OfReceive {
    Division division;
    std::unique_ptr<Reads> reads;  // made when it is first used
  };
  std::vector<std::unique_ptr<OfReceive>> all_;
  std::vector<std::uint32_t> free_;  // with room for all
};

}  // namespace stria::rndv
