#include "transport/shm/receiver.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "transport/shm/peers.hpp"

namespace stria::shm {
namespace {

// Records that are delivered from one window before the other windows have their turn.
constexpr unsigned kWindowBatch = 32;

}  // namespace

unsigned Receiver::receive(unsigned budget) noexcept {
  PolledWindows& windows = parts_.shared.windows.polled();
  unsigned done = 0;
  // One record of the budget is left for the inbox, so that new peers, and peers without a window, are
  // served while windows are never empty.
  const unsigned most = budget > 1 ? budget - 1 : budget;
  const std::uint32_t hot = windows.hot();
  std::uint32_t at = poll_first_ < hot ? poll_first_ : 0;
  for (std::uint32_t i = 0; i < hot; ++i) {
    Polled& polled = windows[at];
    if (polled.window.owes()) polled.window.publish();
    if (polled.window.peek() != 0) {
      done += poll_window(polled, std::min(most - done, kWindowBatch));
      poll_first_ = at;  // the next call begins with the window that was active last,
      if (done >= most) {
        poll_first_ = at + 1;  // or, when the budget is used up, with the first one that had no turn
        break;
      }
    }
    if (++at == hot) at = 0;
  }
  done += poll_inbox(budget - done);
  return done;
}

unsigned Receiver::poll(std::uint32_t window, unsigned budget) noexcept {
  if (window == kNone || parts_.shared.windows.is_armed()) return 0;
  Polled& polled = parts_.shared.windows.polled().of_window(window);
  return polled.window.peek() == 0 ? 0 : poll_window(polled, budget);
}

/// Delivers a packet whose payload lies in the record. Answers as the sink does.
inline std::uint32_t Receiver::deliver(const Incoming& from, const std::byte* header,
                                       const std::byte* payload, std::uint32_t bytes,
                                       bool buffered) const noexcept {
  transport::Header copy;
  std::memcpy(&copy, header, sizeof copy);
  const transport::Packet packet{&copy, payload, bytes, buffered ? 1u : 0u, 0};
  const transport::Sink& sink = *parts_.shared.sink;
  return sink.deliver(sink.self, from.cookie, &packet);
}

/// Delivers the next record of a window if it is of any kind but RecordKind::packet; `halves`: how many
/// halves of a line the record has. Answers as the sink does, and STRIA_DELIVERED_GO_ON where it is no
/// packet; or kSenseless, or kStays.
[[gnu::always_inline]] inline std::uint32_t Receiver::deliver_other(Incoming& from,
                                                                    const WindowReceiver& window,
                                                                    std::uint64_t control,
                                                                    std::uint32_t& halves) noexcept {
  const std::uint32_t pio_max = parts_.shared.settings.pio_max;
  const std::byte* line = window.place();
  const std::uint32_t bytes = control_bytes(control);
  const RecordKind kind = control_kind(control);
  halves = 1;
  switch (kind) {
    case RecordKind::packed:
      halves = record_halves(bytes);
      if (bytes > pio_max || halves > window.halves_to_end()) return kSenseless;
      return deliver(from, line + 8, line + kRecordHeader, bytes, true);
    case RecordKind::invalidate:
      halves = invalidate_halves(bytes);
      if (bytes < kInvalidatePrefix || bytes - kInvalidatePrefix > pio_max || halves > window.halves_to_end())
        return kSenseless;
      parts_.keys.end(static_cast<hw::KeyWord>(hw::load_word(line + kRecordHeader)));
      return deliver(from, line + 8, line + kRecordHeader + kInvalidatePrefix, bytes - kInvalidatePrefix,
                     false);
    case RecordKind::cell:
      return from.deliver_cell(line + 8, bytes, true);
    case RecordKind::packet_cell:
      return from.deliver_cell(line + 8, bytes, false);
    case RecordKind::growing:
      return from.deliver_growing(control, line + 8);
    case RecordKind::probe:
      halves = kProbeHalves;
      if (bytes != kProbeBytes || halves > window.halves_to_end()) return kSenseless;
      from.time_probe(line);
      return STRIA_DELIVERED_GO_ON;
    case RecordKind::pad:
      halves = bytes;
      return halves >= 1 && halves <= window.halves_to_end() ? STRIA_DELIVERED_GO_ON : kSenseless;
    default:
      return kSenseless;
  }
}

unsigned Receiver::poll_window(Polled& polled, unsigned budget) noexcept {
  Link& link = *polled.link;
  Incoming& incoming = link.incoming();
  WindowReceiver& window = polled.window;
  unsigned done = 0, fillers = 0;
  while (done < budget) {
    const std::uint64_t control = window.look();
    if (window.is_record(control, RecordKind::packet)) [[likely]] {
      const std::byte* line = window.place();
      const std::uint32_t bytes = control_bytes(control);
      const std::uint32_t halves = record_halves(bytes);
      // A record of half a line cannot reach beyond the window, whatever its sender wrote.
      const bool fits = bytes <= kHalfPayload ||
                        (bytes <= parts_.shared.settings.pio_max && halves <= window.halves_to_end());
      if (!fits || incoming.broken) [[unlikely]] {
        report_broken(link, control);
        return done;
      }
      // Fetches the line after the next ahead: the sender is on its way to it, or past it.
      __builtin_prefetch(line + std::size_t{2} * kLine);
      const std::uint32_t answer = deliver(incoming, line + 8, line + kRecordHeader, bytes, false);
      ++done;
      window.advance(halves);
      if ((answer & STRIA_DELIVERED_GO_ON) == 0) break;
      continue;
    }
    if (!window.is_record(control)) break;
    if (incoming.broken) [[unlikely]]
      return done;
    std::uint32_t halves = 0;
    const std::uint32_t answer = deliver_other(incoming, window, control, halves);
    if (answer == kSenseless) [[unlikely]] {
      report_broken(link, control);
      return done;
    }
    if (answer == kStays) [[unlikely]]
      break;
    // A peer that goes on writing pads and probes does not hold this thread.
    constexpr unsigned kFillersMost = 64;
    if (is_packet(control_kind(control)))
      ++done;
    else
      ++fillers;
    window.advance(halves);
    if ((answer & STRIA_DELIVERED_GO_ON) == 0 || fillers == kFillersMost) break;
  }
  window.publish();
  return done;
}

unsigned Receiver::poll_inbox(unsigned budget) noexcept {
  unsigned done = 0;
  while (done < budget) {
    std::uint64_t state = 0;
    InboxSlot& slot = inbox_.next(state);
    if (inbox_phase(state) == InboxPhase::free) break;
    const std::uint32_t peer = inbox_peer(state);
    if (inbox_phase(state) == InboxPhase::claimed) {
      if (!inbox_.waited_long() || parts_.peers.may_write(peer)) break;
      inbox_.take(slot);
      continue;
    }
    if (peer == kInboxNobody) {
      inbox_.take(slot);
      continue;
    }
    Link* link = parts_.peers.of_slot(peer);
    if (link != nullptr) ++link->incoming().came_by_inbox;
    const bool is_hello = control_kind(slot.control) == RecordKind::hello;
    if ((link == nullptr || is_hello) && !parts_.peers.is_awaited(peer)) link = parts_.peers.accept(peer);
    if (link == nullptr && !is_hello && parts_.peers.is_awaited(peer) &&
        !parts_.peers.keep_record(peer, slot))
      break;
    if (link != nullptr) take_record(slot.control, slot.bytes, *link);
    inbox_.take(slot);
    ++done;
  }
  return done;
}

void Receiver::take_record(std::uint64_t control, const std::byte* record, Link& link) noexcept {
  if (link.incoming().broken || control_kind(control) == RecordKind::hello) return;
  if (!deliver_inbox(control, record, link.incoming())) report_broken(link, control);
}

bool Receiver::deliver_inbox(std::uint64_t control, const std::byte* record, Incoming& incoming) noexcept {
  const std::uint32_t bytes = control_bytes(control);
  const std::byte* payload = record + sizeof(transport::Header);
  switch (control_kind(control)) {
    case RecordKind::cell:
      return incoming.deliver_cell(record, bytes, true) != kSenseless;
    case RecordKind::invalidate:
    case RecordKind::packed:
      if (bytes > kInboxPayload) return false;
      if (control_kind(control) == RecordKind::invalidate) parts_.keys.end(control_detail(control));
      deliver(incoming, record, payload, bytes, true);
      return true;
    default:
      return false;
  }
}

void Receiver::report_broken(Link& link, std::uint64_t control) noexcept {
  if (std::exchange(link.incoming().broken, true)) return;  // Teardown::check() will take the link down
  log::error("shm: worker {:016x} wrote a record that makes no sense ({:016x})", link.peer().worker_id,
             control);
}

bool Receiver::drain_inbox(std::uint32_t peer, bool is_over) noexcept {
  const std::uint64_t waiting =
      std::min<std::uint64_t>(inbox_.waiting(), parts_.shared.own.view().shape().inbox_slots);
  for (std::uint64_t i = 0; i < waiting; ++i) {
    std::uint64_t state = 0;
    InboxSlot& slot = inbox_.ahead(i, state);
    const InboxPhase phase = inbox_phase(state);
    if (phase == InboxPhase::free || inbox_peer(state) != peer) continue;
    if (phase == InboxPhase::claimed && !is_over) return false;
    Link* const link = parts_.peers.of_slot(peer);
    if (phase == InboxPhase::ready && link != nullptr) take_record(slot.control, slot.bytes, *link);
    inbox_.strike(slot, state);
  }
  return true;
}

bool Receiver::drain(Link& link, bool is_over) noexcept {
  if (link.incoming().broken && !is_over) return true;
  if (link.incoming().slot == kNone) parts_.peers.find_slot(link);
  if (link.incoming().slot == kNone) return true;
  // The inbox has the records that the peer sent without a window: these come first.
  if (!drain_inbox(link.incoming().slot, is_over)) return false;
  parts_.shared.windows.follow(link);  // the peer may have taken a window just now
  link.incoming().is_over = is_over;
  PolledWindows& windows = parts_.shared.windows.polled();
  if (Polled* polled = windows.find(link.incoming().window); polled != nullptr)
    while (!link.incoming().broken && polled->window.peek() != 0) {
      poll_window(*polled, 1024);
      if (link.incoming().is_incomplete()) return false;
    }
  return true;
}

}  // namespace stria::shm
