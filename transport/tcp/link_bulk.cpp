// The part of a link that concerns its bulk connections: gets, and which side is to make the connections.
#include <algorithm>
#include <new>

#include "transport/services.hpp"
#include "transport/tcp/link.hpp"

namespace stria::tcp {

Bulk* Link::bulk() noexcept try {
  Requester& requester = *this;
  if (bulk_ == nullptr) bulk_ = std::make_unique<Bulk>(shared_, requester, token());
  return bulk_.get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

Status Link::get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  KeyName name;
  std::uint64_t end = 0;
  const auto length = static_cast<std::uint64_t>(local.length);
  if (!Keys::read(key, name) || __builtin_add_overflow(offset, length, &end)) return Status::access_error;
  if (state_ != State::up) return state_ == State::dying ? Status::peer_failed : Status::no_resource;
  if (receives_) {
    transport::Payload memory;
    const Status found = shared_.keys.find(*this, name, offset, length, memory);
    if (found == Status::ok) transport::copy(memory, local, local.length);
    return found;
  }
  if (no_bulk_) return Status::unsupported;
  Bulk* const made = bulk();
  if (made == nullptr) return Status::no_resource;
  const Status status = made->get(local, name, offset, completion);
  if (lacks_lanes()) want_lanes();
  return status;
}

/// Whether bulk connections have to be made: some are missing on the side that makes them, or the peer, which
/// makes them, has not been asked.
bool Link::lacks_lanes() const noexcept {
  return made_by_peer_ ? !wants_bulk_ : bulk_->lacks_lanes();
}

/// The peer was asked only for the bulk connections that were missing then.
void Link::lane_has_ended() noexcept {
  wants_bulk_ = false;
  if (bulk_->has_waiting() || peer_wants_bulk_) want_lanes();
}

/// Has the missing bulk connections made, by this side or by the peer.
void Link::want_lanes() noexcept {
  if (!is_there() || no_bulk_) return;  // a completion has cut the link
  if (made_by_peer_) {
    wants_bulk_ = wants_bulk_ || send_control(RecordKind::want_bulk, {}) == Status::ok;
    return;
  }
  std::vector<Link*>& all = shared_.want_bulk;  // Links::add() has reserved the room
  if (std::find(all.begin(), all.end(), this) == all.end()) all.push_back(this);
}

/// Takes the peer's request of a piece. False: it makes no sense.
bool Link::take(const PieceRequest& request) noexcept {
  if (bulk_ == nullptr) return false;
  transport::Payload memory{};
  const Status found = shared_.keys.find(*this, request.key, request.offset, request.length, memory);
  const Bulk::Taken taken = bulk_->supply(request, found, memory);
  if (taken.heard) peer_wants_bulk_ = false;
  return taken.makes_sense;
}

void Link::refuse_gets() noexcept {
  no_bulk_ = true;
  if (bulk_ != nullptr) bulk_->cut();
  shared_.sink.link_changed(shared_.sink.self, cookie);
  end_gets(Status::unsupported);
}

void Link::do_without_bulk() noexcept {
  if (!can_have_bulk()) return;  // a completion has cut the link
  owes_no_bulk_ = send_control(RecordKind::no_bulk, {}) == Status::no_resource;
  refuse_gets();
}

}  // namespace stria::tcp
