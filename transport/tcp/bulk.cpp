#include "transport/tcp/bulk.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "transport/payload.hpp"
#include "transport/tcp/handshake.hpp"

namespace stria::tcp {

Status Bulk::get(const transport::Payload& local, const KeyName& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  Get* const get = shared_.gets.take();
  if (get == nullptr) return Status::no_resource;
  get->completion = completion;
  get->key = key;
  get->local = local;
  get->offset = offset;
  waiting_.push_back(get);
  used_ = ++shared_.requests;
  request();
  return Status::in_progress;
}

Bulk::Lane* Bulk::least_busy() noexcept {
  Lane* best = nullptr;
  for (const auto& lane : lanes_)
    if (lane != nullptr && lane->socket && lane->fetch.has_room() &&
        (best == nullptr || lane->fetch.outstanding() < best->fetch.outstanding()))
      best = lane.get();
  return best;
}

/// Requests one piece, the first bytes of `part`. False: there is no room for the request.
bool Bulk::request_piece(const Part& part, Lane& lane) noexcept {
  const auto bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(part.memory.length, kPiece));
  const PieceRequest request{part.get->key, part.offset, bytes, purpose_of(lane)};
  if (!requester_.hold_control(RecordKind::request, bytes_of(request))) return false;
  lane.fetch.expect({part.get, part.offset, transport::slice(part.memory, 0, bytes)});
  return true;
}

/// Requests the next piece that waits, over the lane that has the least to do. False: none waits, or a lane
/// or room is missing.
bool Bulk::request_next() noexcept {
  Lane* const lane = least_busy();
  if (lane == nullptr) return false;
  if (!again_.empty()) {  // a part of again_ is no longer than a piece
    if (!request_piece(again_.back(), *lane)) return false;
    again_.pop_back();
    return true;
  }
  Get* const get = waiting_.front();
  if (get == nullptr || !request_piece({get, get->offset, get->local}, *lane)) return false;
  const auto bytes = std::min<std::int64_t>(get->local.length, kPiece);
  ++get->pieces;
  get->offset += static_cast<std::uint64_t>(bytes);
  get->local.offset += bytes;
  get->local.length -= bytes;
  if (get->local.length > 0) return true;
  get->all_requested = true;
  get->unlink();
  under_way_.push_back(get);
  return true;
}

/// Requests as many pieces as the lanes take.
void Bulk::request() noexcept {
  bool holds = false;
  while (request_next()) holds = true;
  if (holds) requester_.send_held();
}

/// A request that names a connection which has ended means nothing: the peer requests the piece once more.
Bulk::Taken Bulk::supply(const PieceRequest& request, Status found,
                         const transport::Payload& memory) noexcept {
  if (lane_number(request.lane) >= lanes_.size()) return {false, false};
  Lane* const lane = find(request.lane);
  if (lane == nullptr || (!lane->socket && !lane->is_coming)) return {true, false};
  used_ = ++shared_.requests;
  const bool taken = found == Status::ok ? lane->supply.add(shared_.keys, request.key, memory)
                                         : lane->supply.refuse(request.length);
  lane->is_requested = true;
  return {taken, true};
}

void Bulk::send_requested() noexcept {
  for (const auto& lane : lanes_)
    if (lane != nullptr && std::exchange(lane->is_requested, false) && lane->socket && !lane->waits_for_room)
      send(*lane);
}

bool Bulk::resume(const Resume& where) noexcept {
  Lane* const lane = find(where.lane);
  if (lane == nullptr || !lane->socket) return true;  // the connection has ended since
  if (!lane->supply.resume()) return false;
  send(*lane);
  return true;
}

void Bulk::say_resume(Lane& lane) noexcept {
  const Resume where{purpose_of(lane)};
  lane.owes_resume = requester_.send_control(RecordKind::resume, bytes_of(where)) == Status::no_resource;
}

void Bulk::send(Lane& lane) noexcept {
  const Status status = lane.supply.send(lane.socket);
  if (status == Status::io_error) broken_ = After::wrong;
  // Shutting the socket down makes an event, by which receive() finds the end.
  if (status == Status::peer_failed || status == Status::io_error)
    static_cast<void>(::shutdown(lane.socket.get(), SHUT_RDWR));
  const bool waits = status == Status::no_resource;
  if (waits == lane.waits_for_room) return;
  lane.waits_for_room = waits;
  if (waits)
    ++shared_.waiting_for_room;
  else
    --shared_.waiting_for_room;
  static_cast<void>(shared_.events.watch(lane.socket, token_ | kBulkBit, waits));
}

void Bulk::flush() noexcept {
  for (const auto& lane : lanes_) {
    if (lane == nullptr) continue;
    if (lane->owes_loss) say_loss(*lane);
    if (!lane->socket) continue;
    if (lane->owes_resume) say_resume(*lane);
    if (!lane->supply.is_empty()) send(*lane);
  }
  request();
}

void Bulk::complete_get(Get& get, Status status) noexcept {
  get.unlink();
  transport::Completion* const completion = get.completion;
  shared_.gets.give(get);
  completion->done(completion, transport::to_c(status));
}

void Bulk::piece_has_ended(Get& get, Status status) noexcept {
  --get.pieces;
  if (status != Status::ok) {
    get.status = status;
    if (!std::exchange(get.all_requested, true)) {  // the peer would refuse the rest, too
      get.unlink();
      under_way_.push_back(&get);
    }
  }
  request();
  if (get.pieces == 0 && get.all_requested) complete_get(get, get.status);
}

Bulk::Outcome Bulk::receive(bool all, unsigned budget) noexcept {
  unsigned pieces = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    for (;;) {
      Lane* const lane = lanes_[i].get();
      // A completion may have cut the link.
      if (lane == nullptr || !lane->socket || (!all && lane->fetch.is_empty())) break;
      if (pieces == budget) return {pieces, std::max(broken_, After::more)};
      const Fetch::After came = lane->fetch.receive(lane->socket);
      if (came == Fetch::After::idle) break;
      if (came == Fetch::After::wrong) {
        broken_ = After::wrong;
        break;
      }
      if (came == Fetch::After::ended) {
        lose(*lane);
        say_loss(*lane);
        requester_.lane_has_ended();
        break;
      }
      ++pieces;
      Get& get = lane->fetch.take();
      if (came == Fetch::After::refused) say_resume(*lane);
      piece_has_ended(get, came == Fetch::After::came ? Status::ok : Status::access_error);
    }
  }
  return {pieces, broken_};
}

void Bulk::end_gets(Status why) noexcept {
  again_.clear();
  for (IntrusiveList<Get>* const list : {&waiting_, &under_way_})
    while (Get* const get = list->front()) complete_get(*get, why);
}

}  // namespace stria::tcp
