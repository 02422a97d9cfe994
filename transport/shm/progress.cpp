// What arrives is delivered where it lies: in the window, in the inbox, or in the sender's cell
// (from_cells.cpp).
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "transport/shm/device.hpp"

namespace stria::shm {
namespace {

// A window that is never empty leaves room for the others after so many records.
constexpr unsigned kWindowBatch = 32;

}  // namespace

/// One look at everything that a round may find, without a call: most rounds of a program that waits, or asks
/// while it computes, find nothing.
inline bool Device::is_quiet() const noexcept {
  if ((connector_.is_due() | armed_) || shared_.own().header().hints.any() || !inbox_.is_empty())
    return false;
  const Polled* polled = polled_.begin();
  for (std::uint32_t left = polled_.hot(); left != 0; --left, ++polled)
    if (polled->window.has_record() || polled->window.owes()) return false;
  return true;
}

unsigned Device::progress(unsigned budget) noexcept {
  ++shared_.rounds;
  return is_quiet() ? 0 : progress_some(budget);
}

unsigned Device::progress_some(unsigned budget) noexcept {
  if (armed_) [[unlikely]]
    disarm();
  if (shared_.own().header().hints.any()) [[unlikely]]
    follow_hints();
  unsigned done = 0;
  // One event is the inbox's: peers without a window, and new ones, come through while windows never empty.
  const unsigned most = budget > 1 ? budget - 1 : budget;
  const std::uint32_t windows = polled_.hot();
  std::uint32_t at = poll_first_ < windows ? poll_first_ : 0;
  for (std::uint32_t i = 0; i < windows; ++i) {
    Polled& polled = polled_[at];
    if (polled.window.owes()) polled.window.publish();
    if (polled.window.peek() != 0) {
      done += poll_window(polled, std::min(most - done, kWindowBatch));
      poll_first_ = at;  // the one that was active last is looked at first
      if (done >= most) {
        poll_first_ = at + 1;  // but not before those that were not looked at
        break;
      }
    }
    if (++at == windows) at = 0;
  }
  done += poll_inbox(budget - done);
  if (connector_.is_due()) [[unlikely]]
    for (std::uint32_t i = 0; i < links_.living(); ++i) connector_.go_on(links_.living(i));
  return done;
}

inline void Device::deliver(Link& link, const std::byte* header, const std::byte* payload,
                            std::uint32_t bytes, bool buffered) noexcept {
  transport::Header copy;
  std::memcpy(&copy, header, sizeof copy);
  const transport::Packet packet{&copy, payload, bytes, buffered ? 1u : 0u, 0};
  enough_ = (shared_.sink->deliver(shared_.sink->self, link.cookie_, &packet) & STRIA_DELIVERED_GO_ON) == 0;
}

unsigned Device::poll_link(const Link& link, unsigned budget) noexcept {
  if (link.rx_window_ == kNone || armed_) return 0;
  Polled& polled = polled_.of_window(link.rx_window_);
  return polled.window.peek() == 0 ? 0 : poll_window(polled, budget);
}

unsigned Device::poll_window(Polled& polled, unsigned budget) noexcept {
  Link& link = *polled.link;
  WindowReceiver& window = polled.window;
  unsigned done = 0;
  enough_ = false;
  while (done < budget) {
    const std::uint64_t control = window.look();
    if (window.is_record(control, RecordKind::packet)) [[likely]] {
      const std::byte* line = window.place();
      const std::uint32_t bytes = control_bytes(control);
      const std::uint32_t halves = record_halves(bytes);
      // Half a line is always in the window, whatever its sender may do.
      const bool fits =
          bytes <= kHalfPayload || (bytes <= shared_.settings.pio_max && halves <= window.halves_to_end());
      if (!fits || link.broken_) [[unlikely]] {
        report_broken(link, control);
        return done;
      }
      // Its sender is on its way to the line after the next, or past it.
      __builtin_prefetch(line + std::size_t{2} * kLine);
      deliver(link, line + 8, line + kRecordHeader, bytes, false);
      ++done;
      window.advance(halves);
      if (enough_) break;
      continue;
    }
    if (!window.is_record(control)) break;
    const std::byte* line = window.place();
    const std::uint32_t bytes = control_bytes(control);
    const RecordKind kind = control_kind(control);
    std::uint32_t halves = 1;
    bool good = !link.broken_;
    switch (kind) {
      case RecordKind::packed:
        halves = record_halves(bytes);
        good = good && bytes <= shared_.settings.pio_max && halves <= window.halves_to_end();
        if (good) deliver(link, line + 8, line + kRecordHeader, bytes, true);
        ++done;
        break;
      case RecordKind::invalidate:
        halves = invalidate_halves(bytes);
        good = good && bytes >= kInvalidatePrefix && bytes - kInvalidatePrefix <= shared_.settings.pio_max &&
               halves <= window.halves_to_end();
        if (good) {
          keys_.end(static_cast<hw::KeyWord>(hw::load_word(line + kRecordHeader)));
          deliver(link, line + 8, line + kRecordHeader + kInvalidatePrefix, bytes - kInvalidatePrefix, false);
        }
        ++done;
        break;
      case RecordKind::cell:
        good = good && deliver_cell(link, line + 8, bytes, true);
        ++done;
        break;
      case RecordKind::packet_cell:
        good = good && deliver_cell(link, line + 8, bytes, false);
        ++done;
        break;
      case RecordKind::growing:
      case RecordKind::growing_far:
      case RecordKind::packing:
      case RecordKind::packing_sparse:
        good = good && deliver_growing(link, kind, line + 8, bytes);
        if (good && link.is_half_) [[unlikely]] {
          window.publish();
          return done;
        }
        ++done;
        break;
      case RecordKind::pad:
        halves = bytes;
        good = good && halves >= 1 && halves <= window.halves_to_end();
        break;
      default:
        good = false;
    }
    if (!good) [[unlikely]] {
      report_broken(link, control);
      return done;
    }
    window.advance(halves);
    if (enough_) break;
  }
  window.publish();
  return done;
}

unsigned Device::poll_inbox(unsigned budget) noexcept {
  unsigned done = 0;
  while (done < budget) {
    std::uint64_t state = 0;
    InboxSlot& slot = inbox_.next(state);
    if (inbox_phase(state) == InboxPhase::free) break;
    const std::uint32_t peer = inbox_peer(state);
    if (inbox_phase(state) == InboxPhase::claimed) {
      if (!inbox_.waited_long() || !is_claimant_gone(peer)) break;
      inbox_.take(slot);
      continue;
    }
    if (peer == kInboxNobody) {
      inbox_.take(slot);
      continue;
    }
    Link* link = link_of_slot(peer);
    if (link != nullptr) ++link->came_by_inbox_;
    const bool is_hello = control_kind(slot.control) == RecordKind::hello;
    if ((link == nullptr || is_hello) && !is_awaited(peer)) link = welcome(peer);
    if (link == nullptr && !is_hello && is_awaited(peer) && !keep_record(peer, slot)) break;
    if (link != nullptr) take_record(slot.control, slot.bytes, *link);
    inbox_.take(slot);
    ++done;
  }
  return done;
}

/// A record of the inbox. A hello says no more than the peer's slot.
void Device::take_record(std::uint64_t control, const std::byte* record, Link& link) noexcept {
  if (link.broken_ || control_kind(control) == RecordKind::hello) return;
  if (!deliver_inbox(control, record, link)) report_broken(link, control);
}

bool Device::deliver_inbox(std::uint64_t control, const std::byte* record, Link& link) noexcept {
  const std::uint32_t bytes = control_bytes(control);
  const std::byte* payload = record + sizeof(transport::Header);
  switch (control_kind(control)) {
    case RecordKind::cell:
      return deliver_cell(link, record, bytes, true);
    case RecordKind::invalidate:
    case RecordKind::packed:
      if (bytes > kInboxPayload) return false;
      if (control_kind(control) == RecordKind::invalidate) keys_.end(control_detail(control));
      deliver(link, record, payload, bytes, true);
      return true;
    default:
      return false;
  }
}

void Device::report_broken(Link& link, std::uint64_t control) noexcept {
  if (link.broken_) return;
  link.broken_ = true;  // check() takes the link down
  log::error("shm: worker {:016x} wrote a record that makes no sense ({:016x})", link.peer_.worker_id,
             control);
}

Status Device::arm() noexcept {
  if (shared_.bell.fd() < 0) return Status::unsupported;
  auto& flag = shared_.own().header().armed;
  armed_ = true;
  for (std::uint32_t i = 0; i < polled_.hot(); ++i) {
    polled_[i].window.publish();
    call_cold(polled_[i]);
  }
  if (++sleep_ == 0) ++sleep_;
  flag.store(sleep_, std::memory_order_seq_cst);
  Bell::barrier();
  std::uint64_t state = 0;
  inbox_.next(state);
  bool idle = state == 0 || inbox_phase(state) == InboxPhase::free;
  idle = idle && !shared_.own().header().hints.any();
  for (std::uint32_t i = 0; i < polled_.hot(); ++i)
    idle = idle && (polled_[i].link->broken_ || polled_[i].window.peek() == 0);
  if (idle && !connector_.is_due()) return Status::ok;
  disarm();
  return Status::no_resource;
}

void Device::disarm() noexcept {
  armed_ = false;
  shared_.own().header().armed.store(0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < polled_.hot(); ++i) call_hot(polled_[i]);
  shared_.bell.silence();
}

void Device::call_hot(const Polled& polled) noexcept {
  shared_.home.slot(polled.link->rx_slot_).attention.store(armed_ ? kCold : kHot, std::memory_order_relaxed);
}

void Device::call_cold(const Polled& polled) noexcept {
  shared_.home.slot(polled.link->rx_slot_).attention.store(kCold, std::memory_order_relaxed);
}

/// They are polled from now on, in their turn.
void Device::follow_hints() noexcept {
  shared_.own().header().hints.take(shared_.own().shape().windows, [this](std::uint32_t window) {
    look_at_window(window);
    Polled* polled = polled_.find(window);
    if (polled == nullptr || polled_.is_hot(*polled)) return;
    call_hot(*polled);
    polled_.heat(*polled);
  });
}

/// Windows that nothing came through since the last look become cold, but for a few.
void Device::cool_idle(std::uint32_t wanted) noexcept {
  const std::uint32_t before = polled_.hot();
  for (std::uint32_t i = 0; i < polled_.size(); ++i) {
    Polled& polled = polled_[i];
    const bool idle = std::exchange(polled.seen, polled.window.position()) == polled.window.position();
    polled.idle = idle ? polled.idle + 1 : 0;
  }
  for (std::uint32_t i = before; i > 0; --i) {
    Polled& polled = polled_[i - 1];
    if (polled.idle == 0 || (polled_.hot() <= PolledWindows::kKeptHot && wanted == 0)) continue;
    call_cold(polled);
    polled_.cool(polled);
  }
  if (polled_.hot() == before) return;
  // A sender that did not see it has published before, and we see that.
  Bell::barrier();
  for (std::uint32_t i = polled_.hot(); i < before; ++i) {
    if (polled_[i].window.peek() == 0) continue;
    call_hot(polled_[i]);
    polled_.heat(polled_[i]);
  }
}

}  // namespace stria::shm
