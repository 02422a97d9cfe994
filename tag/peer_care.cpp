// Looking after peers that have no link yet, or not the window that an endpoint asked for.
#include "base/log.hpp"
#include "tag/peers.hpp"

namespace stria::tag {

/// Connects to peers that are awaited and have no link. A peer that died before it connected, or before this
/// worker saw that it had, has no link that could go down; only connecting to it tells, and that costs
/// nothing that the awaited message would not cost. False: the time for one call was used up before all peers
/// were asked, or there was no memory.
bool Peers::meet_awaited() noexcept try {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLongest = std::chrono::milliseconds(2);
  // One round in so many also asks peers whose last attempt failed: where a host does not answer, an attempt
  // may take seconds.
  constexpr unsigned kUnmetEvery = 64;
  if (awaited_ == 0) return true;
  const bool with_unmet = next_awaited_ == 0 && meetings_++ % kUnmetEvery == 0;
  const auto end = Clock::now() + kLongest;
  for (; next_awaited_ < table_.size() && awaited_ != 0; ++next_awaited_) {
    Peer& peer = table_[next_awaited_];
    if (!peer.awaited || (peer.unmet && !with_unmet)) continue;
    peer.unmet = !connect_new(peer);  // no call of the application asked for this, so none is told the reason
    if (Clock::now() > end) {
      ++next_awaited_;
      return false;
    }
  }
  next_awaited_ = 0;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

// Asks the peer for a window, by connecting once more. The peer connected first, so that its provider did not
// know that an endpoint wants a window; or it had no free window then. That it has none now is no error.
void Peers::ask_for_window(Peer& peer) noexcept try {
  peer.window_due = false;
  const Device& device = devices_[peer.device];
  if (part_of(peer.address, peer.device).empty()) return;
  char error[512] = "";
  stria_link_t* link = nullptr;
  const stria_status_t connected = ask(device, peer, link, error);
  if (connected != STRIA_OK && connected != STRIA_IN_PROGRESS) log::debug("{}", error);
  renew_limits(peer);
} catch (const std::bad_alloc&) {
  // A window is a wish, and is dropped where memory is out.
}

// A peer has a free window again when one of its other peers leaves, and it does not tell this worker. So the
// worker repeats its requests for windows, a few of them each time that it looks after its peers, in turn.
void Peers::ask_for_windows_again() noexcept {
  constexpr unsigned kWishes = 8;
  unsigned asked = 0;
  for (std::uint32_t i = wishes_ == 0 ? 0 : table_.size(); i > 0 && asked < kWishes; --i) {
    if (next_wish_ >= table_.size()) next_wish_ = 0;
    Peer& peer = table_[next_wish_++];
    if (!peer.window_wanted || peer.state != Peer::State::up) continue;
    ask_for_window(peer);
    ++asked;
  }
}

bool Peers::look_after() noexcept {
  ask_for_windows_again();
  return meet_awaited();
}

}  // namespace stria::tag
