// What arrives in a sender's cell: delivered where it lies, or taken by the receive that waits for it. Peers
// write what names a cell, so it is checked.
#include <cstring>

#include "base/assert.hpp"
#include "transport/payload.hpp"
#include "transport/shm/device.hpp"
#include "transport/shm/growing.hpp"

namespace stria::shm {

/// Tells the sender of cells what they say about the distance.
void Device::look(Link& link, const std::byte* payload, std::uint32_t bytes) noexcept {
  if (shared_.settings.distance != DistanceMode::learnt || link.rx_slot_ == kNone) return;
  if (!link.distance_.came(payload, bytes, link.peer_.view.shape().cells / 2)) return;
  shared_.home.slot(link.rx_slot_).far.store(link.distance_.is_far() ? 1 : 0, std::memory_order_relaxed);
  shared_.sink->link_changed(shared_.sink->self, link.cookie_);
}

/// The same of a growing one: lines that are timed have to be there.
void Device::look_growing(Link& link, const Growing& growing) noexcept {
  const stria_packet_t& packet = growing.packet();
  if (packet.bytes < kLookBytes || (link.distance_.looks() && growing.wait(packet.bytes) < packet.bytes))
    return;
  look(link, static_cast<const std::byte*>(packet.payload), packet.bytes);
}

/// Of a packet in a cell.
inline std::uint32_t Device::distance_of(const Link& link) const noexcept {
  return link.distance_.is_far() || shared_.settings.distance == DistanceMode::far ? 0 : STRIA_PACKET_NEAR;
}

/// Whether a payload can lie there. A peer wrote that.
bool Device::is_in_cells(const Link& link, CellPlace place, std::uint32_t bytes) noexcept {
  const Shape& shape = link.peer_.view.shape();
  if (place.cell >= all_cells(shape)) return false;
  const std::uint32_t all = bytes_of_cell(shape, place.cell);
  return place.at <= all && bytes <= all - place.at;
}

/// Its pages are mapped for few peers, as that costs memory and time: those with a window.
[[gnu::always_inline]] inline void Device::count_cell(Link& link, CellPlace place,
                                                      std::uint32_t bytes) noexcept {
  if (bytes > kFewPages && link.rx_window_ != kNone)
    link.cell_pages_[is_long_cell(link.peer_.view.shape(), place.cell) ? 1 : 0].used(
        link.peer_.view, place.cell, place.at + bytes, Pages::to_read);
}

/// Gives the cell back, unless the sink keeps the payload there.
inline void Device::delivered(Link& link, CellPlace place, std::uint32_t answer) noexcept {
  enough_ = (answer & STRIA_DELIVERED_GO_ON) == 0;
  const bool kept = (answer & STRIA_DELIVERED_KEPT) != 0;
  if (kept) ++link.kept_;
  // Release: we have read it. Pairs with CellPool::harvest() of the sender.
  link.peer_.view.cell_state(place.cell)
      .store(kept ? place.use | kKeptCell : place.use, std::memory_order_release);
}

namespace {

/// The name of a payload that may stay in its cell, or 0.
std::uint64_t keep_name(CellPlace place) noexcept {
  return place.may_stay ? place.word() : 0;
}

}  // namespace

void Link::release(std::uint64_t keep) noexcept {
  const CellPlace place = CellPlace::of(keep);
  STRIA_CHECK(kept_ > 0 && place.cell < all_cells(peer_.view.shape()), "what is released was kept");
  peer_.view.cell_state(place.cell).store(place.use, std::memory_order_release);
  if (--kept_ == 0 && outgoing_.is_down()) peer_.detach();
}

std::uint32_t Link::kept_arrived(std::uint64_t keep, std::uint32_t all, std::uint32_t bytes) noexcept {
  const CellPlace place = CellPlace::of(keep);
  STRIA_CHECK(kept_ > 0 && place.cell < all_cells(peer_.view.shape()), "what is asked for was kept");
  return wait_grown(peer_.view.cell_growth(place.cell), place.use, bytes, all);
}

bool Device::deliver_cell(Link& link, const std::byte* header, std::uint32_t bytes, bool buffered) noexcept {
  const CellPlace place = CellPlace::of(hw::load_word(header + sizeof(transport::Header)));
  if (!is_in_cells(link, place, bytes)) return false;
  count_cell(link, place, bytes);
  const std::byte* payload = link.peer_.view.cell(place.cell) + place.at;
  if (bytes >= kLookBytes && !place.few) look(link, payload, bytes);
  transport::Header copy;
  std::memcpy(&copy, header, sizeof copy);
  const transport::Packet packet{&copy, payload, bytes, buffered ? 1u | distance_of(link) : 0u,
                                 keep_name(place)};
  delivered(link, place, shared_.sink->deliver(shared_.sink->self, link.cookie_, &packet));
  return true;
}

/// As deliver_cell, of a cell that its sender may still be writing. Afterwards link.is_half_ says whether the
/// record stays where it is, and comes again.
bool Device::deliver_growing(Link& link, RecordKind kind, const std::byte* header,
                             std::uint32_t bytes) noexcept {
  const CellPlace place = CellPlace::of(hw::load_word(header + sizeof(transport::Header)));
  if (!is_in_cells(link, place, bytes)) return false;
  transport::Header copy;
  std::memcpy(&copy, header, sizeof copy);
  const std::byte* payload = link.peer_.view.cell(place.cell) + place.at;
  const Growing growing(kind, copy, payload, bytes, link.peer_.view.cell_growth(place.cell), place.use,
                        link.is_over_, distance_of(link), keep_name(place));
  if (link.is_half_ && !growing.is_done()) return true;
  count_cell(link, place, bytes);
  if (!place.few) look_growing(link, growing);
  const std::uint32_t answer = shared_.sink->deliver(shared_.sink->self, link.cookie_, &growing.packet());
  link.is_half_ = (answer & STRIA_DELIVERED_LATER) != 0 && !link.is_over_;
  if (!link.is_half_) [[likely]]
    delivered(link, place, answer);
  return true;
}

/// Whether the next record's payload is wanted, fits, and lies in cells, at `place`.
[[gnu::always_inline]] inline bool Device::names_wanted(Polled& polled, std::uint64_t control,
                                                        const transport::Header& wanted,
                                                        std::uint32_t capacity, CellPlace& place) noexcept {
  Link& link = *polled.link;
  const std::byte* record = polled.window.place();
  const std::uint32_t bytes = control_bytes(control);
  if (!is_wanted(record, wanted) || bytes > capacity || link.broken_) return false;
  place = CellPlace::of(hw::load_word(record + kRecordHeader));
  if (!is_in_cells(link, place, bytes)) return false;  // poll_window() says that it makes no sense
  count_cell(link, place, bytes);
  return true;
}

[[gnu::always_inline]] inline std::int32_t Device::took_cell(Polled& polled, CellPlace place,
                                                             transport::Header& wanted,
                                                             std::uint32_t bytes) noexcept {
  wanted.immediate = immediate_of(polled.window.place());
  polled.link->peer_.view.cell_state(place.cell).store(place.use, std::memory_order_release);
  polled.window.advance(1);
  return static_cast<std::int32_t>(bytes);
}

/// As WindowReceiver::take(), of a record that names a cell; `control` is its first word.
std::int32_t Device::take_cell(Polled& polled, std::uint64_t control, transport::Header& wanted,
                               std::byte* memory, std::uint32_t capacity) noexcept {
  if (!is_whole_cell(control_kind(control))) return take_growing(polled, control, wanted, memory, capacity);
  CellPlace place;
  if (!names_wanted(polled, control, wanted, capacity, place)) return STRIA_TAKE_OTHER;
  Link& link = *polled.link;
  const std::uint32_t bytes = control_bytes(control);
  const std::byte* payload = link.peer_.view.cell(place.cell) + place.at;
  if (bytes >= kLookBytes && !place.few && !link.distance_.passes()) look(link, payload, bytes);
  const transport::Packet packet{nullptr, payload, bytes, 1 | distance_of(link), 0};
  if (bytes > 0) static_cast<void>(transport::take({nullptr, memory, bytes, 0, bytes}, packet));
  return took_cell(polled, place, wanted, bytes);
}

/// The same of a cell that its sender may still be writing.
std::int32_t Device::take_growing(Polled& polled, std::uint64_t control, transport::Header& wanted,
                                  std::byte* memory, std::uint32_t capacity) noexcept {
  const RecordKind kind = control_kind(control);
  CellPlace place;
  Link& link = *polled.link;
  if (!is_growing(kind) || link.is_half_ || !names_wanted(polled, control, wanted, capacity, place))
    return STRIA_TAKE_OTHER;
  const std::uint32_t bytes = control_bytes(control);
  const transport::Payload out{nullptr, memory, bytes, 0, bytes};
  const Growing growing(kind, wanted, link.peer_.view.cell(place.cell) + place.at, bytes,
                        link.peer_.view.cell_growth(place.cell), place.use, link.is_over_, distance_of(link));
  if (!place.few) look_growing(link, growing);
  const transport::Arrival came = transport::take(out, growing.packet());
  link.is_half_ = came == transport::Arrival::later;
  if (came != transport::Arrival::whole) return STRIA_TAKE_OTHER;
  return took_cell(polled, place, wanted, bytes);
}

}  // namespace stria::shm
