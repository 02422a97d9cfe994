// The greeting, the first packet of a connection. The side that connected sends it (iWARP requires that the
// active side sends first), and the passive side sends nothing before it has received the greeting.
#pragma once

#include <cstdint>

#include "transport/verbs/packets.hpp"

namespace stria::verbs {

class Greeting {
 public:
  /// The greeting was sent (active side) or received (passive side): from now on this side may send packets.
  void pass() noexcept { passed_ = true; }
  bool has_passed() const noexcept { return passed_; }
  /// A packet came from the peer, so the peer has received the greeting: it need not be repeated.
  void hear() noexcept { heard_ = true; }

  /// Whether the greeting is to be sent again: no packet has come from the peer for kPatienceMs, so the
  /// greeting may be lost. The first call after the greeting starts the time.
  bool is_due_again(std::uint64_t now_ms) noexcept {
    constexpr std::uint64_t kPatienceMs = 100;
    if (heard_ || !passed_ || repeated_ == kMoreGreetings) return false;
    if (last_sent_ms_ == 0) last_sent_ms_ = now_ms;
    return now_ms - last_sent_ms_ >= kPatienceMs;
  }
  /// The greeting is about to be sent again.
  void repeat(std::uint64_t now_ms) noexcept {
    last_sent_ms_ = now_ms;
    ++repeated_;
  }
  /// How long the passive side has waited for the peer's greeting. The first call starts the time.
  std::uint64_t waited_ms(std::uint64_t now_ms) noexcept {
    if (waiting_since_ms_ == 0) waiting_since_ms_ = now_ms;
    return now_ms - waiting_since_ms_;
  }

 private:
  bool passed_ = false;
  bool heard_ = false;
  std::uint8_t repeated_ = 0;
  std::uint64_t last_sent_ms_ = 0;
  std::uint64_t waiting_since_ms_ = 0;
};

}  // namespace stria::verbs
