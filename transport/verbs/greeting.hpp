// The first packet of a connection. The side that connected speaks first (iWARP's rule), and the other side
// sends nothing before it heard that.
#pragma once

#include <cstdint>

#include "transport/verbs/packets.hpp"

namespace stria::verbs {

class Greeting {
 public:
  /// It was sent, or came: from here on packets may be sent.
  void pass() noexcept { passed_ = true; }
  bool has_passed() const noexcept { return passed_; }
  /// Something came from the peer, which knows then that we are here.
  void hear() noexcept { heard_ = true; }

  /// Whether one that may have been lost is to be sent again, as the peer says nothing.
  bool is_due_again(std::uint64_t now_ms) noexcept {
    constexpr std::uint64_t kPatienceMs = 100;
    if (heard_ || !passed_ || repeated_ == kMoreGreetings) return false;
    if (sent_ms_ == 0) sent_ms_ = now_ms;
    return now_ms - sent_ms_ >= kPatienceMs;
  }
  void repeat(std::uint64_t now_ms) noexcept {
    sent_ms_ = now_ms;
    ++repeated_;
  }
  /// How long this side has waited for the peer's, since it was asked first.
  std::uint64_t waited_ms(std::uint64_t now_ms) noexcept {
    if (waits_ms_ == 0) waits_ms_ = now_ms;
    return now_ms - waits_ms_;
  }

 private:
  bool passed_ = false;
  bool heard_ = false;
  std::uint8_t repeated_ = 0;
  std::uint64_t sent_ms_ = 0;
  std::uint64_t waits_ms_ = 0;
};

}  // namespace stria::verbs
