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
  request();
  return Status::in_progress;
}

void Bulk::begin(std::uint32_t number) {
  if (lanes_.size() <= number) lanes_.resize(number + 1);
  if (lanes_[number] != nullptr) return;
  static_cast<void>(shared_.kernel_queue());
  lanes_[number] = std::make_unique<Lane>(shared_, shared_.pool, token_ | kBulkBit);
}

void Bulk::come_up(std::uint32_t number, UniqueFd socket) noexcept {
  Lane& lane = *lanes_[number];
  if (lane.socket) return;  // the peer has made it twice
  lane.socket = std::move(socket);
  static_cast<void>(shared_.events.watch(lane.socket, token_ | kBulkBit, false));
  send(lane);
  request();
}

bool Bulk::give_up(std::uint32_t number) noexcept {
  lanes_[number].reset();
  return std::none_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane != nullptr; });
}

Bulk::Lane* Bulk::least_busy() noexcept {
  Lane* best = nullptr;
  for (const auto& lane : lanes_)
    if (lane != nullptr && lane->socket && lane->fetch.has_room() &&
        (best == nullptr || lane->fetch.outstanding() < best->fetch.outstanding()))
      best = lane.get();
  return best;
}

std::uint32_t Bulk::number_of(const Lane& lane) const noexcept {
  std::uint32_t number = 0;
  while (lanes_[number].get() != &lane) ++number;
  return number;
}

/// The next piece of a get. False: there is no room for the request.
bool Bulk::request_piece(Get& get, Lane& lane) noexcept {
  const auto bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(get.local.length, kPiece));
  const PieceRequest request{get.key, get.offset, bytes, number_of(lane)};
  if (!requester_.hold_control(RecordKind::request, bytes_of(request))) return false;
  lane.fetch.expect(get, transport::slice(get.local, 0, bytes));
  ++get.pieces;
  get.offset += bytes;
  get.local.offset += bytes;
  get.local.length -= bytes;
  if (get.local.length > 0) return true;
  get.all_requested = true;
  get.unlink();
  under_way_.push_back(&get);
  return true;
}

/// Requests as much as the lanes take.
void Bulk::request() noexcept {
  bool holds = false;
  while (Get* const get = waiting_.front()) {
    Lane* const lane = least_busy();
    if (lane == nullptr || !request_piece(*get, *lane)) break;
    holds = true;
  }
  if (holds) requester_.send_held();
}

bool Bulk::supply(const PieceRequest& request, Status found, const transport::Payload& memory) noexcept {
  if (request.lane >= lanes_.size() || lanes_[request.lane] == nullptr) return false;
  Lane& lane = *lanes_[request.lane];
  const bool taken = found == Status::ok ? lane.supply.add(shared_.keys, request.key, memory)
                                         : lane.supply.refuse(request.length);
  lane.is_requested = true;
  return taken;
}

void Bulk::send_requested() noexcept {
  for (const auto& lane : lanes_)
    if (lane != nullptr && std::exchange(lane->is_requested, false) && lane->socket && !lane->waits_for_room)
      send(*lane);
}

bool Bulk::resume(const Resume& where) noexcept {
  if (where.lane >= lanes_.size() || lanes_[where.lane] == nullptr) return false;
  Lane& lane = *lanes_[where.lane];
  if (!lane.supply.resume()) return false;  // so that the lane is up
  send(lane);
  return true;
}

void Bulk::say_resume(Lane& lane) noexcept {
  const Resume where{number_of(lane)};
  lane.owes_resume = requester_.send_control(RecordKind::resume, bytes_of(where)) == Status::no_resource;
}

void Bulk::send(Lane& lane) noexcept {
  const Status status = lane.supply.send(lane.socket);
  if (status == Status::peer_failed) {
    broken_ = std::max(broken_, After::ended);
    static_cast<void>(
        ::shutdown(lane.socket.get(), SHUT_RDWR));  // which is an event, so that receive() hears
  }
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
    if (lane == nullptr || !lane->socket) continue;
    if (lane->owes_resume) say_resume(*lane);
    if (!lane->supply.is_empty()) send(*lane);
  }
  request();
}

void Bulk::finish(Get& get, Status status) noexcept {
  get.unlink();
  transport::Completion* const completion = get.completion;
  shared_.gets.give(get);
  completion->done(completion, transport::to_c(status));
}

void Bulk::over(Get& get, Status status) noexcept {
  --get.pieces;
  if (status != Status::ok) {
    get.status = status;
    if (!std::exchange(get.all_requested, true)) {  // the rest would be refused, too
      get.unlink();
      under_way_.push_back(&get);
    }
  }
  request();
  if (get.pieces == 0 && get.all_requested) finish(get, get.status);
}

Bulk::Outcome Bulk::receive(bool all, unsigned budget) noexcept {
  unsigned pieces = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    for (;;) {
      Lane* const lane = lanes_[i].get();  // a completion may have cut it
      if (lane == nullptr || !lane->socket || (!all && lane->fetch.is_empty())) break;
      if (pieces == budget) return {pieces, std::max(broken_, After::more)};
      const Fetch::After came = lane->fetch.receive(lane->socket);
      if (came == Fetch::After::idle) break;
      if (came == Fetch::After::ended || came == Fetch::After::wrong) {
        broken_ = std::max(broken_, came == Fetch::After::ended ? After::ended : After::wrong);
        break;
      }
      ++pieces;
      Get& get = lane->fetch.take();
      if (came == Fetch::After::refused) say_resume(*lane);
      over(get, came == Fetch::After::came ? Status::ok : Status::access_error);
    }
  }
  return {pieces, broken_};
}

void Bulk::cut() noexcept {
  for (const auto& lane : lanes_) {
    if (lane == nullptr) continue;
    if (std::exchange(lane->waits_for_room, false)) --shared_.waiting_for_room;
    lane->supply.drop();
    lane->fetch.drop();
    lane->socket.reset();
  }
}

void Bulk::end_gets(Status why) noexcept {
  for (IntrusiveList<Get>* const list : {&waiting_, &under_way_})
    while (Get* const get = list->front()) finish(*get, why);
}

}  // namespace stria::tcp
