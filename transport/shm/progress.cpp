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
  const Windows& windows = shared_.windows;
  return !connector_.is_due() && !windows.is_armed() && !windows.has_hints() && inbox_.is_empty() &&
         windows.is_quiet();
}

unsigned Device::progress(unsigned budget) noexcept {
  ++shared_.rounds;
  return is_quiet() ? 0 : progress_some(budget);
}

unsigned Device::progress_some(unsigned budget) noexcept {
  if (shared_.windows.is_armed()) [[unlikely]]
    disarm();
  if (shared_.windows.has_hints()) [[unlikely]]
    shared_.windows.follow_hints([this](std::uint32_t slot) { static_cast<void>(welcome(slot)); });
  unsigned done = 0;
  // One event is the inbox's: peers without a window, and new ones, come through while windows never empty.
  const unsigned most = budget > 1 ? budget - 1 : budget;
  const std::uint32_t windows = shared_.windows.hot();
  std::uint32_t at = poll_first_ < windows ? poll_first_ : 0;
  for (std::uint32_t i = 0; i < windows; ++i) {
    Polled& polled = shared_.windows[at];
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

unsigned Device::poll_link(const Link& link, unsigned budget) noexcept {
  if (link.incoming().window == kNone || shared_.windows.is_armed()) return 0;
  Polled& polled = shared_.windows.of_window(link.incoming().window);
  return polled.window.peek() == 0 ? 0 : poll_window(polled, budget);
}

unsigned Device::poll_window(Polled& polled, unsigned budget) noexcept {
  Link& link = *polled.link;
  Incoming& incoming = link.incoming();
  WindowReceiver& window = polled.window;
  unsigned done = 0;
  while (done < budget) {
    const std::uint64_t control = window.look();
    if (window.is_record(control, RecordKind::packet)) [[likely]] {
      const std::byte* line = window.place();
      const std::uint32_t bytes = control_bytes(control);
      const std::uint32_t halves = record_halves(bytes);
      // Half a line is always in the window, whatever its sender may do.
      const bool fits =
          bytes <= kHalfPayload || (bytes <= shared_.settings.pio_max && halves <= window.halves_to_end());
      if (!fits || incoming.broken) [[unlikely]] {
        report_broken(link, control);
        return done;
      }
      // Its sender is on its way to the line after the next, or past it.
      __builtin_prefetch(line + std::size_t{2} * kLine);
      const std::uint32_t answer = incoming.deliver(line + 8, line + kRecordHeader, bytes, false);
      ++done;
      window.advance(halves);
      if ((answer & STRIA_DELIVERED_GO_ON) == 0) break;
      continue;
    }
    if (!window.is_record(control)) break;
    const std::byte* line = window.place();
    const std::uint32_t bytes = control_bytes(control);
    const RecordKind kind = control_kind(control);
    std::uint32_t halves = 1;
    std::uint32_t answer = kSenseless;
    if (incoming.broken) [[unlikely]]
      return done;
    switch (kind) {
      case RecordKind::packed:
        halves = record_halves(bytes);
        if (bytes <= shared_.settings.pio_max && halves <= window.halves_to_end())
          answer = incoming.deliver(line + 8, line + kRecordHeader, bytes, true);
        break;
      case RecordKind::invalidate:
        halves = invalidate_halves(bytes);
        if (bytes >= kInvalidatePrefix && bytes - kInvalidatePrefix <= shared_.settings.pio_max &&
            halves <= window.halves_to_end()) {
          keys_.end(static_cast<hw::KeyWord>(hw::load_word(line + kRecordHeader)));
          answer = incoming.deliver(line + 8, line + kRecordHeader + kInvalidatePrefix,
                                    bytes - kInvalidatePrefix, false);
        }
        break;
      case RecordKind::cell:
        answer = incoming.deliver_cell(line + 8, bytes, true);
        break;
      case RecordKind::packet_cell:
        answer = incoming.deliver_cell(line + 8, bytes, false);
        break;
      case RecordKind::growing:
      case RecordKind::growing_far:
      case RecordKind::packing:
      case RecordKind::packing_sparse:
        answer = incoming.deliver_growing(kind, line + 8, bytes);
        if (incoming.is_half() && answer != kSenseless) [[unlikely]] {
          window.publish();
          return done;
        }
        break;
      case RecordKind::pad:
        halves = bytes;
        if (halves >= 1 && halves <= window.halves_to_end()) {
          window.advance(halves);
          continue;
        }
        break;
      default:
        break;
    }
    ++done;
    if (answer == kSenseless) [[unlikely]] {
      report_broken(link, control);
      return done;
    }
    window.advance(halves);
    if ((answer & STRIA_DELIVERED_GO_ON) == 0) break;
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
    if (link != nullptr) ++link->incoming().came_by_inbox;
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
  if (link.incoming().broken || control_kind(control) == RecordKind::hello) return;
  if (!deliver_inbox(control, record, link.incoming())) report_broken(link, control);
}

bool Device::deliver_inbox(std::uint64_t control, const std::byte* record, Incoming& incoming) noexcept {
  const std::uint32_t bytes = control_bytes(control);
  const std::byte* payload = record + sizeof(transport::Header);
  switch (control_kind(control)) {
    case RecordKind::cell:
      return incoming.deliver_cell(record, bytes, true) != kSenseless;
    case RecordKind::invalidate:
    case RecordKind::packed:
      if (bytes > kInboxPayload) return false;
      if (control_kind(control) == RecordKind::invalidate) keys_.end(control_detail(control));
      incoming.deliver(record, payload, bytes, true);
      return true;
    default:
      return false;
  }
}

void Device::report_broken(Link& link, std::uint64_t control) noexcept {
  if (std::exchange(link.incoming().broken, true)) return;  // check() takes the link down
  log::error("shm: worker {:016x} wrote a record that makes no sense ({:016x})", link.peer_.worker_id,
             control);
}

Status Device::arm() noexcept {
  if (shared_.bell.fd() < 0) return Status::unsupported;
  auto& flag = shared_.own().header().armed;
  shared_.windows.arm();
  if (++sleep_ == 0) ++sleep_;
  flag.store(sleep_, std::memory_order_seq_cst);
  Bell::barrier();
  std::uint64_t state = 0;
  inbox_.next(state);
  bool idle = state == 0 || inbox_phase(state) == InboxPhase::free;
  if (idle && !shared_.windows.has_hints() && shared_.windows.has_nothing() && !connector_.is_due())
    return Status::ok;
  disarm();
  return Status::no_resource;
}

void Device::disarm() noexcept {
  shared_.own().header().armed.store(0, std::memory_order_relaxed);
  shared_.windows.disarm();
  shared_.bell.silence();
}

}  // namespace stria::shm
