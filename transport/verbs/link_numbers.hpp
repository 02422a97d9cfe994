// The numbers by which packets and completions name links: small, each in use once at a time, and taken and
// given back in O(1). A number that is used again has another generation, so that a completion of its earlier
// use is known as such.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace stria::verbs {

struct LinkNumber {
  std::uint32_t number = 0;
  std::uint8_t generation = 0;
};

class LinkNumbers {
 public:
  explicit LinkNumbers(std::uint32_t most) noexcept : most_(most) {}
  /// Nothing: all are in use. Throws std::bad_alloc.
  std::optional<LinkNumber> take() {
    if (free_.empty()) {
      if (generations_.size() == most_) return std::nullopt;
      free_.reserve(generations_.size() + 1);  // give() allocates nothing
      generations_.push_back(0);
      free_.push_back(static_cast<std::uint32_t>(generations_.size() - 1));
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return LinkNumber{number, ++generations_[number]};
  }
  void give(LinkNumber number) noexcept { free_.push_back(number.number); }
  std::uint32_t in_use() const noexcept {
    return static_cast<std::uint32_t>(generations_.size() - free_.size());
  }
  std::uint32_t most() const noexcept { return most_; }

 private:
  std::uint32_t most_;
  std::vector<std::uint8_t> generations_;  // of the numbers that were ever used
  std::vector<std::uint32_t> free_;        // of those; the last one is used next
};

}  // namespace stria::verbs
