#include "transport/tcp/link.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/format.hpp"
#include "transport/tcp/clock.hpp"

namespace stria::tcp {
namespace {

/// Estimate of the time that a packet takes in the systems of both sides, beside its way.
constexpr std::uint32_t kSystemsNs = 10000;
/// Of the records that the application sends in a row, each less than kFollowsNs behind the one before it,
/// the first kAtOnce are sent at once, and the others wait. Two are, so that for example a message goes at
/// once behind the answer to the one before it.
constexpr std::uint64_t kFollowsNs = 20000;
constexpr std::uint8_t kAtOnce = 2;

Incoming::After after(Bulk::After what) noexcept {
  switch (what) {
    case Bulk::After::idle:
      return Incoming::After::idle;
    case Bulk::After::more:
      return Incoming::After::more;
    case Bulk::After::wrong:
      break;
  }
  return Incoming::After::wrong;
}

}  // namespace

Link::Link(Shared& shared, Address peer) noexcept
    : shared_(shared),
      peer_(std::move(peer)),
      eager_max_(std::min(shared.eager_max, peer_.eager_max)),
      outgoing_(shared.pool, shared.retained, shared.services, token()),
      incoming_(shared.pool, shared.sink, shared.services, *this, shared.eager_max),
      path_("tcp, not connected yet") {
  if (!shared.retains) outgoing_.retain_nothing();
}

void Link::come_up(UniqueFd socket, const Ip& ip, std::uint32_t eager_max, Maker maker) noexcept {
  socket_ = std::move(socket);
  eager_max_ = std::min(shared_.eager_max, eager_max);
  made_by_peer_ = maker == Maker::peer;
  peer_ip_ = ip;
  path_ = receives_ ? "tcp to itself" : "tcp to " + peer_ip_.text();
  if (!receives_) one_way_ns_ = round_trip_us(socket_) * 1000 / 2;
  Silence::set_keepalive(socket_, shared_.silent_ms);
  state_ = State::up;
  dial.reset();
  watch();
  greet();
}

/// Has the side that made the connection send something at once: before that the other side does not know
/// that the handshake has succeeded here.
void Link::greet() noexcept {
  outgoing_.trust_acknowledgements(!made_by_peer_);
  if (!made_by_peer_ && !receives_) say_nothing();
}

void Link::say_nothing() noexcept {
  owes_word_ = !outgoing_.send_nothing(socket_);
  wait_for_room(outgoing_.waits_for_room());
  if (owes_word_) note_refusal();
}

void Link::come_up(UniqueFd sends, UniqueFd receives) noexcept {
  receives_ = std::move(receives);
  come_up(std::move(sends), {}, shared_.eager_max, Maker::self);
}

void Link::watch() noexcept {
  static_cast<void>(shared_.events.watch(socket_, token(), waits_for_room_));
  if (receives_) static_cast<void>(shared_.events.watch(receives_, token(), false));
}

Status Link::eager_send(const transport::Header& header, const transport::Payload& payload) noexcept {
  if (state_ != State::up) return state_ == State::dying ? Status::peer_failed : Status::no_resource;
  const Status status = outgoing_.send(socket_, header, payload, when());
  wait_for_room(outgoing_.waits_for_room());
  return status;
}

/// Decides whether the next record may wait for others. The first one that the device sends in a call goes at
/// once, and the first kAtOnce that the application sends after such a call or a pause; others wait.
Outgoing::When Link::when() noexcept {
  if (linked() && shared_.is_in_call) return {.waits = true};
  // Without a keeper no deadline passes, and a record that waits would stay in the buffer.
  KernelQueue* const keeper = outgoing_.has_deadline() || at_once_ == kAtOnce ? shared_.keeper() : nullptr;
  if (outgoing_.has_deadline()) return {.waits = keeper != nullptr, .keeper = keeper};
  const std::uint64_t now = now_ns();
  const std::uint64_t since = now - std::exchange(sent_ns_, now);
  if (!linked() || since >= kFollowsNs) at_once_ = 0;
  if (!linked()) shared_.talking.push_back(this);
  if (at_once_ == kAtOnce) return {.waits = keeper != nullptr, .keeper = keeper};
  ++at_once_;
  return {};
}

Status Link::send_short(RecordKind kind, const transport::Header& header, std::span<const std::byte> first,
                        std::span<const std::byte> second) noexcept {
  const Status status = outgoing_.send(socket_, Outgoing::Short{kind, header, first, second}, when());
  wait_for_room(outgoing_.waits_for_room());
  return status;
}

Status Link::send_control(RecordKind kind, std::span<const std::byte> payload) noexcept {
  if (state_ != State::up) return Status::no_resource;
  const Status status = send_short(kind, {}, payload, {});
  if (status == Status::no_resource) note_refusal();
  return status;
}

bool Link::hold_control(RecordKind kind, std::span<const std::byte> payload) noexcept {
  if (state_ != State::up) return false;
  const Outgoing::Short record{kind, {}, payload, {}};
  const bool is_held = outgoing_.send(socket_, record, {.waits = true}) == Status::ok;
  if (!is_held) note_refusal();
  return is_held;
}

/// Has flush() called again after a record of this device's own was refused: when the connection has room, or
/// by check() if memory was wanting. A packet that is refused the caller sends again by itself.
void Link::note_refusal() noexcept {
  wait_for_room(outgoing_.waits_for_room());
  if (!waits_for_room_) shared_.lacked_memory = true;
}

void Link::send_held() noexcept {
  if (state_ != State::up) return;
  if (!outgoing_.waits_for_room()) static_cast<void>(outgoing_.flush(socket_));
  wait_for_room(outgoing_.waits_for_room());
}

Status Link::send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                             const transport::Key& key) noexcept {
  KeyName name;
  if (!Keys::read(key, name)) return Status::access_error;
  if (state_ != State::up) return state_ == State::dying ? Status::peer_failed : Status::no_resource;
  if (bytes > eager_max_) return Status::invalid;
  return send_short(RecordKind::ending, header, std::as_bytes(std::span(&name, 1)),
                    {static_cast<const std::byte*>(payload), bytes});
}

bool Link::handle(RecordKind kind, std::span<const std::byte> payload) noexcept {
  switch (kind) {
    case RecordKind::packet:
    case RecordKind::padding:
    case RecordKind::again:
      return false;
    case RecordKind::ending: {
      KeyName name;
      std::memcpy(&name, payload.data(), sizeof name);
      shared_.keys.end_by_message(*this, name);
      return true;
    }
    case RecordKind::request: {
      PieceRequest request;
      std::memcpy(&request, payload.data(), sizeof request);
      return take(request);
    }
    case RecordKind::lane_lost: {
      LaneLost which;
      std::memcpy(&which, payload.data(), sizeof which);
      if (bulk_ == nullptr) return false;
      bulk_->lose(which.lane);
      return true;
    }
    case RecordKind::resume: {
      Resume where;
      std::memcpy(&where, payload.data(), sizeof where);
      return bulk_ != nullptr && bulk_->resume(where);
    }
    case RecordKind::no_bulk:
      if (!no_bulk_) refuse_gets();
      return true;
    case RecordKind::want_bulk:
      if (made_by_peer_ || receives_ || bulk() == nullptr) return false;
      peer_wants_bulk_ = true;
      want_lanes();
      return true;
  }
  return false;
}

Incoming::Outcome Link::receive(unsigned budget) noexcept {
  const std::uint64_t before = incoming_.received();
  Incoming::Outcome out = incoming_.receive(receives_ ? receives_ : socket_, cookie, budget);
  if (incoming_.received() != before) outgoing_.trust_acknowledgements(true);
  // The system reports a reset once, by the next call on the socket, which may have been a send.
  if (out.after == Incoming::After::ended && (is_replaced_ || outgoing_.was_reset()))
    out.after = Incoming::After::lost;
  if (out.after == Incoming::After::lost && has_finished_) out.after = Incoming::After::ended;
  if (bulk_ == nullptr || state_ != State::up || out.after >= Incoming::After::lost) return out;
  bulk_->send_requested();
  const Bulk::Outcome pieces = bulk_->receive(false, budget - out.delivered);
  out.delivered += pieces.pieces;
  if (out.after == Incoming::After::idle) out.after = after(pieces.after);
  return out;
}

Incoming::Outcome Link::receive_bulk(unsigned budget) noexcept {
  if (bulk_ == nullptr) return {0, Incoming::After::idle};
  const Bulk::Outcome pieces = bulk_->receive(true, budget);
  return {pieces.pieces, after(pieces.after)};
}

void Link::flush() noexcept {
  if (state_ == State::lost && bulk_ != nullptr) bulk_->flush();
  if (state_ != State::up) return;
  // waits_for_room() is true of a connection that has failed, too: its end comes by the receiving side.
  if (outgoing_.waits_for_room()) static_cast<void>(outgoing_.flush(socket_));
  outgoing_.check_deadline(socket_);
  wait_for_room(outgoing_.waits_for_room());
  if (owes_word_) say_nothing();
  if (std::exchange(owes_no_bulk_, false))
    owes_no_bulk_ = send_control(RecordKind::no_bulk, {}) == Status::no_resource;
  if (bulk_ == nullptr) return;
  if (bulk_->has_waiting() && lacks_lanes()) want_lanes();
  bulk_->flush();
}

void Link::wait_for_room(bool waits) noexcept {
  if (std::exchange(waits_for_room_, waits) == waits) return;
  if (waits)
    ++shared_.waiting_for_room;
  else
    --shared_.waiting_for_room;
  watch();
}

/// A system acknowledges the end of the stream at once, but may keep the acknowledgement of bytes back for a
/// while.
Link::Finish Link::finish() noexcept {
  flush();
  const Status status = outgoing_.is_empty() ? Status::ok : outgoing_.flush(socket_);
  if (outgoing_.was_reset() || is_reset(error_of(socket_))) {
    lose();
    return Finish::waits;
  }
  // The connection has failed: nothing more can be sent.
  if (status == Status::peer_failed) return Finish::over;
  if (status != Status::ok) return Finish::waits;
  if (!std::exchange(has_finished_, true)) static_cast<void>(::shutdown(socket_.get(), SHUT_WR));
  return unacknowledged(socket_) == 0 ? Finish::over : Finish::waits;
}

std::string Link::silence_text() const {
  return fmt::format("its host, {}, has not answered for {} ms (STRIA_TCP_SILENT_MS)", peer_ip_.text(),
                     shared_.silent_ms);
}

void Link::end_connection() noexcept {
  is_replaced_ = true;
  static_cast<void>(::shutdown(socket_.get(), SHUT_RDWR));  // makes an event, so that receive() is called
}

void Link::lose() noexcept {
  state_ = State::lost;
  is_replaced_ = has_finished_ = owes_word_ = false;
  if (std::exchange(waits_for_room_, false)) --shared_.waiting_for_room;
  if (linked()) unlink();
  outgoing_.cut();
  socket_.reset();
  silence_ = {};
  shared_.lost.push_back(this);
}

bool Link::go_on(UniqueFd socket, std::uint64_t peer_received) noexcept {
  if (!outgoing_.go_on_behind(peer_received)) return false;
  socket_ = std::move(socket);
  Silence::set_keepalive(socket_, shared_.silent_ms);
  state_ = State::up;
  watch();
  greet();
  static_cast<void>(outgoing_.flush(socket_));
  flush();
  return true;
}

void Link::limits(transport::LinkLimits& out) const noexcept {
  out = {};
  out.eager_max = eager_max_;
  out.path = path_.c_str();
  out.fallback = no_bulk_ ? "no bulk connection can be made, so long messages go in packets"
                          : shared_.without_queue.c_str();
  out.can_get = no_bulk_ ? 0 : 1;
  out.latency_ns = kSystemsNs + one_way_ns_;
}

void Link::cut() noexcept {
  if (std::exchange(waits_for_room_, false)) --shared_.waiting_for_room;
  state_ = State::dying;
  if (linked()) unlink();
  outgoing_.cut();
  dial.reset();
  if (bulk_ != nullptr) bulk_->cut();
  shared_.keys.end_all_of(*this);
  std::erase(shared_.want_bulk, this);
  std::erase(shared_.lost, this);
  socket_.reset();
  receives_.reset();
}

}  // namespace stria::tcp
