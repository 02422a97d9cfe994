#include "tag/placed_receives.hpp"

#include "tag/completion.hpp"
#include "tag/peer.hpp"

namespace stria::tag {

void PlacedReceives::begin(PostedRecv& posted, Peer& peer, std::uint8_t device,
                           const transport::Header& header, std::uint32_t bytes) noexcept {
  Request& request = *Request::of(posted);
  request.peer = &peer;
  request.info = {STRIA_OK, header.immediate, header.tag, bytes, 0, peer.worker_id};
  request.state.store(RequestState::active, std::memory_order_relaxed);
  PlacedRecv& placed = request.make_placed();
  placed.sequence = header.sequence;
  placed.device = device;
  all_.push_back(&placed);
}

Request* PlacedReceives::take(const Peer& peer, std::uint8_t device, const transport::Packet& packet,
                              Status& why) noexcept {
  for (PlacedRecv* placed = all_.front(); placed != nullptr; placed = all_.next(placed)) {
    Request* const request = Request::of(*placed);
    if (request->peer != &peer || placed->device != device || placed->sequence != packet.header->sequence ||
        request->info.length != packet.bytes)
      continue;
    placed->unlink();
    why = placed->why;
    return request;
  }
  return nullptr;
}

void PlacedReceives::fail(const Peer& peer, Status why) noexcept {
  for (PlacedRecv* placed = all_.front(); placed != nullptr; placed = all_.next(placed))
    if (Request::of(*placed)->peer == &peer) placed->why = why;
}

void PlacedReceives::end(const Peer& peer, std::uint8_t device) noexcept {
  IntrusiveList<PlacedRecv> over;  // ended after the loop: a callback may fail other peers
  for (PlacedRecv *placed = all_.front(), *next = nullptr; placed != nullptr; placed = next) {
    next = all_.next(placed);
    if (Request::of(*placed)->peer != &peer || placed->device != device) continue;
    placed->unlink();
    over.push_back(placed);
  }
  while (PlacedRecv* const placed = over.pop_front()) {
    const Status why = placed->why == Status::ok ? Status::peer_failed : placed->why;
    Request& request = *Request::of(*placed);
    complete(request, why);
  }
}

void PlacedReceives::end_all(Status why) noexcept {
  while (PlacedRecv* const placed = all_.pop_front()) complete(*Request::of(*placed), why);
}

}  // namespace stria::tag
