// How the bulk connections of a link come and go.
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "transport/tcp/bulk.hpp"
#include "transport/tcp/handshake.hpp"

namespace stria::tcp {

Bulk::Lane& Bulk::lane(std::uint32_t number) {
  if (lanes_.size() <= number) lanes_.resize(number + 1);
  if (lanes_[number] == nullptr) {
    static_cast<void>(shared_.kernel_queue());
    again_.reserve(lanes_.size() * kPiecesMost);  // so that lose() allocates nothing
    lanes_[number] = std::make_unique<Lane>(shared_, shared_.pool, token_ | kBulkBit);
  }
  return *lanes_[number];
}

bool Bulk::is_missing(std::uint32_t number) const noexcept {
  if (number >= lanes_.size() || lanes_[number] == nullptr) return true;
  const Lane& lane = *lanes_[number];
  return !lane.socket && !lane.is_coming && !lane.is_given_up;
}

void Bulk::go_by(std::vector<Route> routes, std::uint32_t lanes_of_each) noexcept {
  routes_ = std::move(routes);
  wanted_ = std::min(static_cast<std::uint32_t>(routes_.size()) * lanes_of_each, kLanesMost);
}

bool Bulk::lacks_lanes() const noexcept {
  if (wanted_ == 0) return true;
  for (std::uint32_t number = 0; number < wanted_; ++number)
    if (is_missing(number)) return true;
  return false;
}

std::uint32_t Bulk::begin(std::uint32_t number) {
  Lane& made = lane(number);
  ++made.generation;
  made.is_coming = true;
  made.owes_loss = false;  // the peer learns from the new connection that the earlier one has ended
  made.supply.drop();      // drops what the peer has requested of the earlier connection
  return purpose_of(made);
}

void Bulk::come_up(std::uint32_t number, UniqueFd socket) noexcept {
  Lane& lane = *lanes_[number];
  lane.socket = std::move(socket);
  lane.is_coming = false;
  static_cast<void>(shared_.events.watch(lane.socket, token_ | kBulkBit, false));
  send(lane);
  request();
}

void Bulk::welcome(std::uint32_t purpose, UniqueFd socket) {
  Lane& made = lane(lane_number(purpose));
  const std::uint32_t generation = purpose >> kLaneBits;
  if (generation <= made.generation) return;  // the peer has made a later one
  lose(made);
  made.generation = generation;
  come_up(lane_number(purpose), std::move(socket));
}

bool Bulk::give_up(std::uint32_t number) noexcept {
  lanes_[number]->is_coming = false;
  lanes_[number]->is_given_up = true;
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [](const auto& lane) { return lane == nullptr || lane->is_given_up; });
}

std::uint32_t Bulk::purpose_of(const Lane& lane) const noexcept {
  std::uint32_t number = 0;
  while (lanes_[number].get() != &lane) ++number;
  return lane_purpose(number, lane.generation);
}

/// The lane whose present connection has this purpose. Null: it was never begun, or a later one has replaced
/// it.
Bulk::Lane* Bulk::find(std::uint32_t purpose) const noexcept {
  const std::uint32_t number = lane_number(purpose);
  Lane* const lane = number < lanes_.size() ? lanes_[number].get() : nullptr;
  return lane != nullptr && lane->generation == purpose >> kLaneBits ? lane : nullptr;
}

void Bulk::say_loss(Lane& lane) noexcept {
  const LaneLost which{purpose_of(lane)};
  lane.owes_loss = requester_.send_control(RecordKind::lane_lost, bytes_of(which)) == Status::no_resource;
}

void Bulk::lose(std::uint32_t purpose) noexcept {
  Lane* const lane = find(purpose);
  if (lane == nullptr || !lane->socket) return;
  lose(*lane);
  requester_.lane_has_ended();
}

/// Ends the connection of a lane. Takes the pieces that have come; the rest is requested over another lane.
void Bulk::lose(Lane& lane) noexcept {
  constexpr unsigned kFruitlessMost = 32;
  lane.fetch.stop();
  lane.supply.drop();
  if (lane.fetch.has_received())
    fruitless_ = 0;
  else if (!lane.fetch.is_empty())
    ++fruitless_;
  const UniqueFd old = std::move(lane.socket);  // so that nothing is requested over it
  while (!lane.fetch.is_empty()) {              // a completion may cut the link
    const Fetch::After came = lane.fetch.receive(old);
    if (came == Fetch::After::wrong) broken_ = After::wrong;
    if (came != Fetch::After::came && came != Fetch::After::refused) break;
    piece_has_ended(lane.fetch.take(), came == Fetch::After::came ? Status::ok : Status::access_error);
  }
  while (!lane.fetch.is_empty()) again_.push_back(lane.fetch.give_back());
  close(lane);
  if (fruitless_ < kFruitlessMost) return request();
  fruitless_ = 0;
  requester_.do_without_bulk();
}

bool Bulk::is_idle() const noexcept {
  const auto rests = [](const auto& lane) {
    return lane == nullptr || (!lane->is_coming && !lane->owes_resume && !lane->owes_loss &&
                               lane->fetch.is_empty() && lane->supply.is_empty());
  };
  return waiting_.empty() && under_way_.empty() && again_.empty() &&
         std::all_of(lanes_.begin(), lanes_.end(), rests) &&
         std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane && lane->socket; });
}

void Bulk::close_idle() noexcept {
  for (const auto& lane : lanes_) {
    if (lane == nullptr || !lane->socket) continue;
    close(*lane);
    say_loss(*lane);
    requester_.lane_has_ended();
  }
}

void Bulk::end_silent(std::uint64_t now, std::uint64_t limit_ms) noexcept {
  for (const auto& lane : lanes_)
    if (lane != nullptr && lane->silence.lasts(lane->socket, now, limit_ms))
      static_cast<void>(::shutdown(lane->socket.get(), SHUT_RDWR));
}

void Bulk::close(Lane& lane) noexcept {
  if (std::exchange(lane.waits_for_room, false)) --shared_.waiting_for_room;
  lane.owes_resume = lane.owes_loss = lane.is_requested = false;
  lane.supply.drop();
  lane.fetch.drop();
  lane.socket.reset();
  lane.silence = {};
}

void Bulk::cut() noexcept {
  for (const auto& lane : lanes_)
    if (lane != nullptr) close(*lane);
  again_.clear();
}

}  // namespace stria::tcp
