// Allocates the numbers by which packets and completions name links. Numbers are small, no two links have the
// same one at a time, and take() and give() are O(1). Each use of a number has its own generation, modulo
// 256, so that a completion of an earlier link with this number is told from one of the present link.
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
  /// `most`: how many numbers can be in use at a time.
  explicit LinkNumbers(std::uint32_t most) noexcept : most_(most) {}
  /// Allocates a number; std::nullopt when all are in use. Throws std::bad_alloc.
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
  /// Frees the number of a link that is gone. Never allocates.
  void give(LinkNumber number) noexcept { free_.push_back(number.number); }
  std::uint32_t in_use() const noexcept {
    return static_cast<std::uint32_t>(generations_.size() - free_.size());
  }
  std::uint32_t most() const noexcept { return most_; }

 private:
  std::uint32_t most_;
  std::vector<std::uint8_t> generations_;  // by number, of each number that was ever in use
  std::vector<std::uint32_t> free_;        // numbers that are not in use; take() takes the last
};

}  // namespace stria::verbs
