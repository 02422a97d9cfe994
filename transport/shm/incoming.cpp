#include "transport/shm/incoming.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "hw/pio.hpp"
#include "transport/payload.hpp"
#include "transport/shm/growing.hpp"
#include "transport/shm/receiver.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {
namespace {

constexpr std::uint32_t kBuffered = 1;  // of stria_packet_t::buffered: the packet came by eager_send()

}  // namespace

unsigned Incoming::poll(unsigned budget) noexcept {
  ++shared_.polls;
  return shared_.receiver->poll(window, budget);
}

std::int32_t Incoming::take(transport::Header& wanted, void* memory, std::uint32_t capacity) noexcept {
  ++shared_.polls;
  if (window == kNone || shared_.windows.is_armed()) return STRIA_TAKE_OTHER;
  WindowReceiver& from = shared_.windows.polled().of_window(window).window;
  const std::int32_t bytes = from.take(wanted, static_cast<std::byte*>(memory), capacity);
  if (bytes != STRIA_TAKE_OTHER || capacity <= kHalfPayload) [[likely]]
    return bytes;
  return take_cell(from, from.look(), wanted, static_cast<std::byte*>(memory), capacity);
}

void Incoming::shut() noexcept {
  is_down_ = true;
  slot = kNone;
  if (kept_ == 0) peer_.detach();
}

void Incoming::time_probe(const std::byte* record) noexcept {
  constexpr std::uint64_t kFreshNs = 1'000'000;  // later the sender's caches may have lost the lines
  if (probe_time() - hw::load_word(record + 16) > kFreshNs) return;
  const bool changes = peer_.distance.note(
      hw::time_lines(record + std::size_t{kProbeLines - kTimedLines} * kLine, kTimedLines));
  publish_verdict();
  if (changes) shared_.sink->link_changed(shared_.sink->self, cookie);
}

void Incoming::publish_verdict() const noexcept {
  if (slot != kNone)
    shared_.own.slot(slot).distance.store(static_cast<std::uint32_t>(peer_.distance.verdict()),
                                          std::memory_order_relaxed);
}

/// Whether a payload of `bytes` at `place` lies within one cell. The peer wrote both values.
bool Incoming::is_in_cells(CellPlace place, std::uint32_t bytes) const noexcept {
  const Shape& shape = peer_.view.shape();
  if (place.cell >= all_cells(shape)) return false;
  const std::uint32_t all = bytes_of_cell(shape, place.cell);
  return place.at <= all && bytes <= all - place.at;
}

/// Maps the pages of the payload's cell ahead. Only for peers with a window, which are few, as it costs
/// memory and time.
[[gnu::always_inline]] inline void Incoming::map_pages(CellPlace place, std::uint32_t bytes) noexcept {
  if (bytes > kFewPages && window != kNone)
    cell_pages_[is_long_cell(peer_.view.shape(), place.cell) ? 1 : 0].used(peer_.view, place.cell,
                                                                           place.at + bytes, Pages::to_read);
}

/// Gives the cell back to its sender after a delivery, unless the sink keeps the payload in the cell.
inline void Incoming::delivered(CellPlace place, std::uint32_t answer) noexcept {
  const bool kept = (answer & STRIA_DELIVERED_KEPT) != 0;
  if (kept) ++kept_;
  // Release: this device has read the cell. Pairs with CellPool::harvest() of the sender.
  peer_.view.cell_state(place.cell)
      .store(kept ? place.use | kKeptCell : place.use, std::memory_order_release);
}

namespace {

/// stria_packet_t::keep of a payload: a name for it if it may stay in its cell, or 0.
std::uint64_t keep_name(CellPlace place) noexcept {
  return place.may_stay ? place.word() : 0;
}

}  // namespace

void Incoming::release(std::uint64_t keep) noexcept {
  const CellPlace place = CellPlace::of(keep);
  STRIA_CHECK(kept_ > 0 && place.cell < all_cells(peer_.view.shape()), "what is released was kept");
  peer_.view.cell_state(place.cell).store(place.use, std::memory_order_release);
  if (--kept_ == 0 && is_down_) peer_.detach();
}

std::uint32_t Incoming::kept_arrived(std::uint64_t keep, std::uint32_t all,
                                     std::uint32_t bytes) const noexcept {
  const CellPlace place = CellPlace::of(keep);
  STRIA_CHECK(kept_ > 0 && place.cell < all_cells(peer_.view.shape()), "what is asked for was kept");
  return wait_grown(peer_.view.cell_growth(place.cell), place.use, bytes, all);
}

std::uint32_t Incoming::deliver_cell(const std::byte* header, std::uint32_t bytes, bool buffered) noexcept {
  const CellPlace place = CellPlace::of(hw::load_word(header + sizeof(transport::Header)));
  if (!is_in_cells(place, bytes)) return kSenseless;
  map_pages(place, bytes);
  const std::byte* payload = peer_.view.cell(place.cell) + place.at;
  transport::Header copy;
  std::memcpy(&copy, header, sizeof copy);
  const transport::Packet packet{&copy, payload, bytes, buffered ? kBuffered | distance() : 0u,
                                 keep_name(place)};
  const std::uint32_t answer = shared_.sink->deliver(shared_.sink->self, cookie, &packet);
  delivered(place, answer);
  return answer;
}

std::uint32_t Incoming::deliver_growing(std::uint64_t control, const std::byte* header) noexcept {
  const CellPlace place = CellPlace::of(hw::load_word(header + sizeof(transport::Header)));
  const std::uint32_t bytes = control_bytes(control), step = control_step(control);
  if (!is_in_cells(place, bytes) || step == 0 || step >= bytes) return kSenseless;
  transport::Header copy;
  std::memcpy(&copy, header, sizeof copy);
  const std::byte* payload = peer_.view.cell(place.cell) + place.at;
  const Growing growing({&copy, payload, bytes, kBuffered | distance(), keep_name(place)},
                        {&peer_.view.cell_growth(place.cell), place.use, step}, is_over);
  if (is_incomplete_ && !growing.is_done()) return kStays;
  map_pages(place, bytes);
  const std::uint32_t answer = shared_.sink->deliver(shared_.sink->self, cookie, &growing.packet());
  is_incomplete_ = (answer & STRIA_DELIVERED_LATER) != 0 && !is_over;
  if (is_incomplete_) [[unlikely]]
    return kStays;
  delivered(place, answer);
  return answer;
}

/// Whether the next record, which names a cell, has the wanted header, a payload of at most `capacity`, and
/// a cell that makes sense. `place`: where the payload lies.
[[gnu::always_inline]] inline bool Incoming::names_wanted(const WindowReceiver& from, std::uint64_t control,
                                                          const transport::Header& wanted,
                                                          std::uint32_t capacity, CellPlace& place) noexcept {
  const std::byte* record = from.place();
  const std::uint32_t bytes = control_bytes(control);
  if (!is_wanted(record, wanted) || bytes > capacity || broken) return false;
  place = CellPlace::of(hw::load_word(record + kRecordHeader));
  if (!is_in_cells(place, bytes)) return false;  // poll_window() will report the record
  map_pages(place, bytes);
  return true;
}

/// Ends a take: gives the cell back, and takes the record that names it out of the window. Returns `bytes`.
[[gnu::always_inline]] inline std::int32_t Incoming::finish_take(WindowReceiver& from, CellPlace place,
                                                                 transport::Header& wanted,
                                                                 std::uint32_t bytes) noexcept {
  wanted.immediate = immediate_of(from.place());
  peer_.view.cell_state(place.cell).store(place.use, std::memory_order_release);
  from.advance(1);
  return static_cast<std::int32_t>(bytes);
}

/// Takes the payload of the next record out of a cell, if it is the wanted one. `control` is the first word
/// of the record. Returns the bytes of the payload, or STRIA_TAKE_OTHER: the record stays.
std::int32_t Incoming::take_cell(WindowReceiver& from, std::uint64_t control, transport::Header& wanted,
                                 std::byte* memory, std::uint32_t capacity) noexcept {
  if (!is_whole_cell(control_kind(control))) return take_growing(from, control, wanted, memory, capacity);
  CellPlace place;
  if (!names_wanted(from, control, wanted, capacity, place)) return STRIA_TAKE_OTHER;
  const std::uint32_t bytes = control_bytes(control);
  const std::byte* payload = peer_.view.cell(place.cell) + place.at;
  const transport::Packet packet{nullptr, payload, bytes, kBuffered | distance(), 0};
  if (bytes > 0) static_cast<void>(transport::take({nullptr, memory, bytes, 0, bytes}, packet));
  return finish_take(from, place, wanted, bytes);
}

/// take_cell() for a cell that its sender may still be writing.
std::int32_t Incoming::take_growing(WindowReceiver& from, std::uint64_t control, transport::Header& wanted,
                                    std::byte* memory, std::uint32_t capacity) noexcept {
  const std::uint32_t step = control_step(control);
  CellPlace place;
  if (control_kind(control) != RecordKind::growing || step == 0 || step >= control_bytes(control) ||
      is_incomplete_ || !names_wanted(from, control, wanted, capacity, place))
    return STRIA_TAKE_OTHER;  // poll_window() will report a senseless step
  const std::uint32_t bytes = control_bytes(control);
  const transport::Payload out{nullptr, memory, bytes, 0, bytes};
  const Growing growing({&wanted, peer_.view.cell(place.cell) + place.at, bytes, kBuffered | distance(), 0},
                        {&peer_.view.cell_growth(place.cell), place.use, step}, is_over);
  const transport::Arrival came = transport::take(out, growing.packet());
  is_incomplete_ = came == transport::Arrival::later;
  if (came != transport::Arrival::whole) return STRIA_TAKE_OTHER;
  return finish_take(from, place, wanted, bytes);
}

}  // namespace stria::shm
