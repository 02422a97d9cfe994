// Completions of the work requests that the links of a device posted. Polling for them makes no upcall to the
// worker, so any call of the provider may do it.
#pragma once

#include <cstdint>

#include "transport/verbs/link_numbers.hpp"
#include "transport/verbs/shared.hpp"

namespace stria::verbs {

class Links;

class Completions {
 public:
  Completions(Shared& shared, Links& links) noexcept : shared_(shared), links_(links) {}
  /// Polls the send completion queue until it is empty, and passes each completion to the send queue of its
  /// link. A nested call returns at once: a completion may let a get or put post more, which looks for room
  /// by reap().
  void reap() noexcept;

  /// The id of a work request: link number 24 bits | generation 8 | sequence 32.
  static std::uint64_t request_id(LinkNumber link, std::uint32_t sequence) noexcept {
    return std::uint64_t{link.number} << 40 | std::uint64_t{link.generation} << 32 | sequence;
  }
  /// The number and the generation in a work request's id.
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
