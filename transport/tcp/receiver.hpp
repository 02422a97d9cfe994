// Chooses which sockets are read when. Links that had traffic lately are read at each call, which finds a
// message soonest. A look at all sockets costs a system call: a device to which nothing comes sleeps until
// its wakeup is notified, or, where there is no wakeup, looks now and then.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "transport/tcp/links.hpp"
#include "transport/tcp/wakeup.hpp"

namespace stria::tcp {

class Receiver {
 public:
  Receiver(Shared& shared, Links& links) noexcept : shared_(shared), links_(links) {}

  /// Sets the wakeup. Without one the device looks at its sockets now and then.
  void sleep_by(std::unique_ptr<Wakeup> wakeup) noexcept { wakeup_ = std::move(wakeup); }
  /// Whether nothing has come since the wakeup was armed, and no link has packets left: receive() would find
  /// nothing.
  bool is_asleep() const noexcept { return asleep_ && ready_.empty() && wakeup_->is_quiet() && !has_ended(); }
  /// Delivers up to `budget` packets. Sets `handshakes` if something came for the timer, the door or a
  /// handshake.
  unsigned receive(unsigned budget, bool& handshakes) noexcept;
  /// Makes the next call of receive() look at all sockets.
  void look_soon() noexcept {
    skip_ = 1;
    asleep_ = false;
  }
  /// Whether no packet waits in a buffer and, as a look now shows, none in a socket. Sets `handshakes` if
  /// something came for the timer, the door or a handshake.
  bool is_idle(bool& handshakes) noexcept;
  /// Drops all that refers to a link.
  void forget(const Link& link) noexcept;

 private:
  /// Most links that are read at each call.
  static constexpr std::size_t kHot = 4;
  /// Whether the kernel has ended something that it was asked for.
  bool has_ended() const noexcept { return shared_.queue != nullptr && shared_.queue->has_news(); }
  unsigned go_on(unsigned budget) noexcept;
  unsigned read(Link& link, unsigned budget) noexcept;
  unsigned read_bulk(Link& link, unsigned budget) noexcept;
  unsigned settle(Link& link, const Incoming::Outcome& outcome) noexcept;
  unsigned read_hot(unsigned budget) noexcept;
  unsigned read_ready(unsigned budget) noexcept;
  unsigned look_at_all(unsigned budget, bool& handshakes) noexcept;
  bool is_due() noexcept;
  void plan_next_look(bool found) noexcept;
  void warm(Link& link) noexcept;
  void forget_hot(const Link& link) noexcept;

  Shared& shared_;
  Links& links_;
  std::array<Link*, kHot> hot_{};  // the links that had traffic lately, the latest first
  std::vector<Link*> ready_;       // the links that have packets left, or may have
  unsigned calls_ = 0;             // of receive() since the last look
  unsigned skip_ = 1;              // calls of receive() from one look to the next
  std::uint64_t looked_us_ = 0;    // when the last look was
  std::unique_ptr<Wakeup> wakeup_;
  bool asleep_ = false;  // the wakeup is armed: there is nothing to look for until it is notified
};

}  // namespace stria::tcp
