// Receives: what is already here is taken at once, everything else is posted. Probes and cancels work on the
// same two queues.
#include <utility>

#include "hw/pio.hpp"
#include "tag/short_way.hpp"
#include "transport/services.hpp"

namespace stria::tag {

void Worker::complete(Request& request, Status status) noexcept {
  request.info.status = transport::to_c(status);
  if (status != Status::ok) [[unlikely]]
    remember_failure(request);
  if (request.callback == nullptr) {
    request.state.store(RequestState::done, std::memory_order_release);  // pairs with stria_request_test
    return;
  }
  stria_info_t info;
  copy_info(info, request.info);
  const Activity::Inside inside(request.worker->activity_);
  call_back(request, info);
}

Status Worker::recv(const stria_recv_t& recv, Unexpected* taken, stria_request_t* request) noexcept {
  if (activity_.closing()) return Status::cancelled;
  stria_payload_t memory;
  if (describe_memory(recv.base, recv.layout, recv.count, memory) != Status::ok) return Status::invalid;
  Peer* source =
      recv.match.source == nullptr ? nullptr : reinterpret_cast<const Endpoint*>(recv.match.source)->peer;
  const std::uint32_t index = source == nullptr ? kAnySource : source->index;

  Unexpected* entry = taken;
  if (entry != nullptr) {
    unexpected_.let_go(entry);
  } else {
    entry = unexpected_.take(index, recv.match.tag, recv.match.ignore);
  }
  if (entry == nullptr && source != nullptr && source->state == Peer::State::failed)
    return Status::peer_failed;

  if (entry != nullptr) return recv_entry(*entry, recv, memory, request);
  if (source != nullptr) peers_.await(*source);
  PostedRecv& posted = Request::make_posted(request, this, recv)->body.posted;
  posted.tag = recv.match.tag;
  posted.ignore = recv.match.ignore;
  posted.source = index;
  transport::copy_payload(posted.memory, memory);
  posted_.push(&posted);
  return Status::in_progress;
}

/// A message that is in no list any more.
Status Worker::recv_entry(Unexpected& entry, const stria_recv_t& recv, const stria_payload_t& memory,
                          stria_request_t* request) noexcept {
  Request* made = Request::make(request, this, RequestKind::recv, nullptr, recv.user);
  // A call that completes its request answers ok instead of calling back.
  take_unexpected(entry, memory, *made);
  if (made->state.load(std::memory_order_relaxed) == RequestState::done) {
    tell_outcome(recv, *made);
    return Status::ok;
  }
  made->callback = recv.callback;
  return Status::in_progress;
}

/// As try_post() beside messages that nobody asked for. One that lies in its entry, and whose sender does not
/// wait, goes from there to the caller.
Status Worker::recv_beside_unexpected(const stria_recv_t& recv, Peer& source,
                                      stria_request_t* request) noexcept {
  Unexpected* const entry = unexpected_.take(source.index, recv.match.tag, 0);
  if (entry == nullptr) {
    if (source.state != Peer::State::up) return Status::no_resource;
    post_exact(recv, source, request);
    return Status::in_progress;
  }
  const bool waits = entry->what() != Unexpected::Kind::inline_payload || entry->sync_name() != 0;
  if (waits || entry->length > recv.count) [[unlikely]]
    return recv_entry(*entry, recv, plain_memory(recv.base, recv.count), request);
  const stria_info_t outcome{STRIA_OK,      entry->immediate, entry->tag,
                             entry->length, entry->length,    source.worker_id};
  Request::make_ended(request, outcome);
  if (recv.info != nullptr) copy_info(*recv.info, outcome);
  hw::copy_line(static_cast<std::byte*>(recv.base), entry->payload,
                static_cast<std::uint32_t>(entry->length));
  ++counters_.received_eager;
  top_up(source);
  unexpected_.release(entry);
  return Status::ok;
}

/// The receive's message out of the window of its source, when that lies there next and nobody else can want
/// it. Bytes, or STRIA_TAKE_*.
[[gnu::always_inline]] inline std::int32_t Worker::take(const stria_recv_t& recv, Peer& source,
                                                        stria_request_t* request) noexcept {
  const bool whole_round = ++looks_ % kWholeRound == 0;
  if (recv.count > eager::kTakeMost || activity_.in_progress() || posted_.size() != 0 || source.has_early ||
      activity_.has_backlog() || whole_round)
    return STRIA_TAKE_OTHER;
  transport::Header header = wire::make_header(wire::Kind::eager, recv.match.tag);
  const auto waits = [&] { return (recv.flags & STRIA_RECV_WAITS) != 0; };
  const std::int32_t bytes = receiver_.take(source, header, recv.base, recv.count, waits);
  if (bytes < 0) return bytes;
  if (receiver_.is_low(source)) [[unlikely]]
    top_up(source);
  ++counters_.received_eager;
  activity_.add_handled(1);
  activity_.tell_sleepers();
  const auto length = static_cast<std::uint32_t>(bytes);
  const stria_info_t outcome{STRIA_OK, header.immediate, header.tag, length, length, source.worker_id};
  Request::make_ended(request, outcome);
  if (recv.info != nullptr) copy_info(*recv.info, outcome);
  return bytes;
}

// Takes what lies in the window of its source, for older receives first. True: the message was there.
bool Worker::look_first(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept {
  constexpr unsigned kMostOthers = 15;  // records of one look
  if (activity_.in_progress()) return false;
  if (looks_ % kWholeRound == 0 || activity_.has_backlog()) [[unlikely]] {
    progress();
    return false;
  }
  const auto others = static_cast<unsigned>(std::min<std::uint64_t>(posted_.size(), kMostOthers));
  activity_.begin_round();
  starting_ = {&recv, &source, request};
  const unsigned handled = source.link.poll(1 + others);
  const bool took = starting_.recv == nullptr;
  starting_.recv = nullptr;
  activity_.end_round();
  look_in_ = handled == 0 ? kNotSoonAgain : 0;
  activity_.add_handled(handled);
  if (handled != 0) activity_.tell_sleepers();
  return took;
}

/// ok: the message was there; in_progress: post the receive; no_resource: something came that nobody asked
/// for.
Status Worker::look(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept {
  const std::int32_t taken = take(recv, source, request);
  if (taken >= 0) return Status::ok;
  if (taken == STRIA_TAKE_NOTHING) {
    look_in_ = kNotSoonAgain;
    return Status::in_progress;
  }
  if (look_first(recv, source, request)) {
    tell_outcome(recv, *reinterpret_cast<Request*>(request));
    return Status::ok;
  }
  return unexpected_.size() != 0 || activity_.closing() ? Status::no_resource : Status::in_progress;
}

void Worker::take_unexpected(Unexpected& entry, const stria_payload_t& memory, Request& request) noexcept {
  Peer& peer = peers_[entry.source];
  describe(entry, request.info);
  if (entry.what() == Unexpected::Kind::announced) {
    const rndv::Announcement announced = announcement_of(entry);
    free_unexpected(entry);
    start_rendezvous(request, peer, announced, memory);
    return;
  }
  if (!tell_matched(peer, entry.sync_name())) [[unlikely]]
    cannot_tell(request, peer);
  const std::uint64_t bytes = std::min(static_cast<std::uint64_t>(memory.length), entry.length);
  if (entry.what() == Unexpected::Kind::in_place) {
    if (!take_in_place(entry, transport::slice(memory, 0, bytes))) [[unlikely]] {
      wait_for_rest(entry, memory, request);
      return;
    }
  } else if (entry.what() == Unexpected::Kind::inline_payload) {
    transport::unpack(transport::slice(memory, 0, bytes), entry.payload);
  } else {
    transport::copy(plain_memory(entry.buffer, bytes), memory, static_cast<std::int64_t>(bytes));
  }
  finish_unexpected(entry, memory, request);
}

/// The memory has what it takes of the message.
void Worker::finish_unexpected(Unexpected& entry, const stria_payload_t& memory, Request& request) noexcept {
  const auto capacity = static_cast<std::uint64_t>(memory.length);
  const bool fits = entry.length <= capacity;
  request.info.received = std::min(capacity, entry.length);
  ++counters_.received_eager;
  free_unexpected(entry);
  complete(request, fits ? Status::ok : Status::truncated);
}

void Worker::start_rendezvous(Request& request, Peer& peer, const rndv::Announcement& announced,
                              const stria_payload_t& memory) noexcept {
  request.peer = &peer;
  request.info.source = peer.worker_id;
  request.info.length = announced.length;
  request.info.received = 0;
  rndv::RecvOp& op = request.make_recv();
  op.link = &peer.link;
  transport::copy_payload(op.memory, memory);
  op.length = std::min(announced.length, static_cast<std::uint64_t>(memory.length));
  request.state.store(RequestState::active, std::memory_order_relaxed);
  if (peer.state != Peer::State::up) {
    complete(request, Status::peer_failed);
    return;
  }
  rndv_.accept(op, announced);
  if (!rndv_.resting()) activity_.work_left();
}

void Worker::on_received(void* self, rndv::RecvOp& op) noexcept {
  Request& request = *Request::of(op);
  if (request.kind == RequestKind::get) --static_cast<Worker*>(self)->rma_in_flight_;
  if (op.outcome != Status::ok) {
    complete(request, op.outcome);
    return;
  }
  request.info.received = op.length;
  complete(request, request.info.length > op.length ? Status::truncated : Status::ok);
}

void Worker::on_sent(void* self, rndv::SendOp& op) noexcept {
  Request& request = *Request::of(op);
  if (request.kind == RequestKind::put) --static_cast<Worker*>(self)->rma_in_flight_;
  complete(request, op.outcome);
}

rndv::Announcement Worker::announcement_of(const Unexpected& entry) noexcept {
  rndv::Announcement announced;
  if (entry.has_long_key()) {
    std::memcpy(static_cast<void*>(&announced), entry.buffer, rndv::Announcement::bytes_with(0));
    std::memcpy(announced.key.data, entry.buffer + rndv::Announcement::bytes_with(0), announced.key.bytes);
    return announced;
  }
  announced.length = entry.length;
  announced.sender_op = entry.announced.sender_op;
  const Unexpected::Blocks blocks = entry.blocks();
  announced.block_bytes = blocks.mean_bytes;
  announced.sparse = blocks.sparse;
  announced.turned = blocks.turned;
  announced.written = blocks.written;
  announced.key.bytes = entry.key_bytes;
  std::memcpy(announced.key.data, entry.announced.key, entry.key_bytes);
  return announced;
}

void Worker::describe(const Unexpected& entry, stria_info_t& info) noexcept {
  info.status = STRIA_OK;
  info.tag = entry.tag;
  info.immediate = entry.immediate;
  info.length = entry.length;
  info.received = 0;
  info.source = peers_[entry.source].worker_id;
}

void Worker::free_unexpected(Unexpected& entry) noexcept {
  Peer& peer = peers_[entry.source];
  switch (entry.what()) {
    case Unexpected::Kind::buffer:
      receiver_.free_buffer(peer, entry.buffer, entry.length);
      top_up(peer);
      break;
    case Unexpected::Kind::in_place:
      peer.link.release(entry.in_place.name);
      top_up(peer);
      break;
    case Unexpected::Kind::inline_payload:
      top_up(peer);
      break;
    case Unexpected::Kind::announced:
      if (entry.has_long_key())
        receiver_.free_uncounted(entry.buffer,
                                 rndv::Announcement::bytes_with(announcement_of(entry).key.bytes));
      break;
  }
  unexpected_.release(&entry);
}

Unexpected* Worker::probe(const stria_match_t& match, bool take, stria_info_t* info) noexcept {
  const std::uint32_t index =
      match.source == nullptr ? kAnySource : reinterpret_cast<const Endpoint*>(match.source)->peer->index;
  Unexpected* entry = unexpected_.find(index, match.tag, match.ignore);
  if (entry == nullptr) return nullptr;
  if (info != nullptr) describe(*entry, *info);
  if (take) unexpected_.set_aside(entry);
  return entry;
}

Status Worker::probe_later(const stria_match_t& match) noexcept {
  if (match.source == nullptr) return Status::in_progress;
  Peer& source = *reinterpret_cast<const Endpoint*>(match.source)->peer;
  peers_.await(source);
  return source.state == Peer::State::failed ? Status::peer_failed : Status::in_progress;
}

Status Worker::cancel(Request& request) noexcept {
  const RequestState state = request.state.load(std::memory_order_relaxed);
  if (state == RequestState::done) return Status::no_resource;
  if (request.worker != this) return Status::invalid;
  if (request.kind != RequestKind::recv) return Status::unsupported;
  if (state != RequestState::posted) return Status::no_resource;
  posted_.remove(&request.body.posted);
  request.info = {};
  complete(request, Status::cancelled);
  activity_.add_handled(1);
  activity_.an_operation_ended();  // it may be a sleeper's own request
  return Status::ok;
}

void Worker::end_receives(const Peer* peer, Status why) noexcept {
  // They leave the queue first: a callback may post receives, and cancel any but these.
  PostedRecv* ended = posted_.remove_if([&](PostedRecv& recv) {
    if (peer != nullptr && recv.source != peer->index) return false;
    Request::of(recv)->state.store(RequestState::active, std::memory_order_relaxed);
    return true;
  });
  while (ended != nullptr) {
    Request& request = *Request::of(*ended);
    ended = ended->next;
    request.info = {};
    if (peer != nullptr) request.info.source = peer->worker_id;
    complete(request, why);
  }
}

}  // namespace stria::tag
