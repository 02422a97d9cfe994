// Completions of what the links of a device posted. To take them makes no upcall, so that any call may do it.
#pragma once

#include <cstdint>

#include "transport/verbs/link_numbers.hpp"
#include "transport/verbs/shared.hpp"

namespace stria::verbs {

class Links;

class Completions {
 public:
  Completions(Shared& shared, Links& links) noexcept : shared_(shared), links_(links) {}
  /// Takes all that are there. Does nothing inside itself: a completion makes room, and asks for it.
  void reap() noexcept;

  /// How a work request is named: link | generation | sequence, and which of them a name has.
  static std::uint64_t request_id(LinkNumber link, std::uint32_t sequence) noexcept {
    return std::uint64_t{link.number} << 40 | std::uint64_t{link.generation} << 32 | sequence;
  }
  static LinkNumber link_of(std::uint64_t id) noexcept {
    return {static_cast<std::uint32_t>(id >> 40), static_cast<std::uint8_t>(id >> 32)};
  }
  static std::uint32_t sequence_of(std::uint64_t id) noexcept { return static_cast<std::uint32_t>(id); }

 private:
  Shared& shared_;
  Links& links_;
  bool reaping_ = false;
};

}  // namespace stria::verbs
