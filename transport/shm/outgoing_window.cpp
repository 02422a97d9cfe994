// How the outgoing part of a link comes to its window, leaves it, and ends.
#include <utility>

#include "transport/shm/outgoing.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {

void Outgoing::begin(std::uint32_t link_number, bool low_latency) noexcept {
  const SegmentHeader& header = peer_.view.header();
  link_number_ = link_number;
  low_latency_ = low_latency;
  attention_ = &header.armed;
  fence_ = header.fences != 0 || !register_barrier();
  inbox_ = InboxSender(peer_.view, peer_.slot);
  claim_window();
}

void Outgoing::claim_window() noexcept {
  const SegmentView& remote = peer_.view;
  const std::uint32_t count = remote.shape().windows;
  const std::uint32_t open = open_windows(remote.shape());
  for (std::uint32_t i = 0; i < (low_latency_ ? count : open); ++i) {
    const std::uint32_t window = low_latency_ ? count - 1 - i : i;
    std::uint32_t free = 0;
    if (!remote.control(window).owner.compare_exchange_strong(free, peer_.slot + 1,
                                                              std::memory_order_acq_rel))
      continue;
    window_number_ = window;
    return;
  }
}

void Outgoing::open_window() noexcept {
  if (window_number_ == kNone) return;
  const Shape& shape = peer_.view.shape();
  window_ = WindowSender(peer_.view.window(window_number_), shape.window_bytes,
                         &peer_.view.control(window_number_).consumed, shared_.settings.short_laps);
  attention_ = &peer_.own_slot().attention;
  pio_max_ = shape.pio_mtu > kRecordHeader ? shape.pio_mtu - kRecordHeader : 0;
}

/// Sends the hello; from then on sends are possible. False: the peer's inbox is full.
bool Outgoing::send_hello() noexcept {
  InboxSlot* slot = inbox_.claim();
  if (slot == nullptr) return false;
  inbox_.publish(*slot, make_control(RecordKind::hello, 0, 0));
  state_ = State::up;
  open_window();
  published();
  return true;
}

bool Outgoing::take_window() noexcept {
  if (state_ != State::up || window_number_ != kNone) return false;
  claim_window();
  if (window_number_ == kNone) return false;
  // The peer learns that the window is taken by the hint of the first record in it. A hello would need room
  // in the inbox, which of a busy peer may be full for long.
  peer_.own_slot().window.store(window_number_, std::memory_order_release);
  moving_ = true;
  return true;
}

/// Opens the window that was taken, once the inbox has no packet of this link any more, so that no packet
/// overtakes another. (The hello is no packet.) False: the inbox still has one.
bool Outgoing::enter_window() noexcept {
  if (inbox_.sent() > 1 && !inbox_.is_consumed()) return false;
  moving_ = false;
  open_window();
  return true;
}

bool Outgoing::go_on() noexcept {
  if (moving_ && !enter_window()) return false;
  return state_ != State::connecting || send_hello();
}

bool Outgoing::give_back_if_asked() noexcept {
  // A sender that has sent again is not asked any more: its record made the window hot.
  if (low_latency_ || attention_->load(std::memory_order_relaxed) != kAsked || !window_.is_consumed())
    return false;
  const std::uint32_t window = std::exchange(window_number_, kNone);
  window_.shut();
  pio_max_ = 0;
  attention_ = &peer_.view.header().armed;
  peer_.own_slot().window.store(kNone, std::memory_order_release);
  peer_.view.header().hints.leave(window);
  sent_at_look_ = inbox_.sent();
  return true;
}

std::uint64_t Outgoing::sent_since_look() noexcept {
  const std::uint64_t sent = inbox_.sent();
  return sent - std::exchange(sent_at_look_, sent);
}

void Outgoing::probe(bool is_new) noexcept {
  if (!peer_.distance.needs_probes() || kProbeBytes > pio_max_) return;
  const bool is_polled = attention_->load(std::memory_order_relaxed) == kHot;
  if (!is_new && (!is_polled || window_.position() == position_at_probe_)) return;
  if (window_.has_room_for_filler(kProbeHalves)) {
    transport::Header header{};
    header.tag = probe_time();
    std::byte* record = window_.place();
    for (std::uint32_t line = 1; line < kProbeLines; ++line)
      hw::store_word(record + std::size_t{line} * kLine, 0);
    store_header(record + 8, header);
    window_.publish(kProbeHalves, make_control(RecordKind::probe, kProbeBytes));
  }
  position_at_probe_ = window_.position();
  published();
}

void Outgoing::shut() noexcept {
  moving_ = false;
  state_ = State::down;
  window_.shut();
  pio_max_ = 0;
}

void Outgoing::limits(transport::LinkLimits& out) const noexcept {
  out.eager_max = cell_most(shared_.settings.shape);
  // A window that is taken but not open yet (the hello waits for room, or earlier packets are still in the
  // inbox) counts already: until it is open, sends answer no_resource.
  const bool opening = (state_ == State::connecting && window_number_ != kNone) || moving_;
  const std::uint32_t mtu = opening ? peer_.view.shape().pio_mtu : 0;
  out.pio_max = mtu > kRecordHeader ? mtu - kRecordHeader : pio_max_;
  out.pio_credits = window_.credits();
  out.grows = opening || window_.is_open() ? 1 : 0;
  out.low_latency = low_latency_ && window_number_ != kNone ? 1 : 0;
}

}  // namespace stria::shm
