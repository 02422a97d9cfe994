// Which sockets are read when. Links with traffic are read at each call, which is how a message is found
// soonest. A look at all sockets costs a system call: a device that nobody sends to sleeps until the wakeup
// is notified, or, where there is no wakeup, looks now and then.
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

  /// Without one it looks now and then.
  void sleep_by(std::unique_ptr<Wakeup> wakeup) noexcept { wakeup_ = std::move(wakeup); }
  /// Nothing has come since the wakeup was armed, so that receive() would find nothing.
  bool is_asleep() const noexcept { return asleep_ && wakeup_->is_quiet() && !has_ended(); }
  /// Delivers up to `budget` packets. `handshakes`: something came for a token that is no link's.
  unsigned receive(unsigned budget, bool& handshakes) noexcept;
  /// The next call looks at all sockets.
  void look_soon() noexcept {
    skip_ = 1;
    asleep_ = false;
  }
  /// No packet waits in a buffer, and none in a socket as far as a look now shows.
  bool is_idle(bool& handshakes) noexcept;
  /// The link is not looked at any more.
  void forget(const Link& link) noexcept;

 private:
  static constexpr std::size_t kHot = 4;
  /// The kernel has ended something that it was asked for.
  bool has_ended() const noexcept { return shared_.queue != nullptr && shared_.queue->has_news(); }
  unsigned go_on(unsigned budget) noexcept;
  unsigned read(Link& link, unsigned budget) noexcept;
  unsigned read_bulk(Link& link, unsigned budget) noexcept;
  unsigned settle(Link& link, const Incoming::Outcome& outcome) noexcept;
  unsigned read_hot(unsigned budget) noexcept;
  unsigned read_ready(unsigned budget) noexcept;
  unsigned look(unsigned budget, bool& handshakes) noexcept;
  bool is_due() noexcept;
  void plan_next_look(bool found) noexcept;
  void warm(Link& link) noexcept;
  void forget_hot(const Link& link) noexcept;

  Shared& shared_;
  Links& links_;
  std::array<Link*, kHot> hot_{};  // those that had traffic last, the last first
  std::vector<Link*> ready_;       // they have packets left
  unsigned calls_ = 0;             // since the last look
  unsigned skip_ = 1;              // calls from one look to the next
  std::uint64_t looked_us_ = 0;
  std::unique_ptr<Wakeup> wakeup_;
  bool asleep_ = false;  // the wakeup is armed, and until it is notified there is nothing to look for
};

}  // namespace stria::tcp
