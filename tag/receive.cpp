// Receives: what is already here is taken at once, everything else is posted. Probes and cancels work on the
// same two queues.
#include "hw/pio.hpp"
#include "tag/short_way.hpp"
#include "transport/services.hpp"

namespace stria::tag {

Receives::Receives(std::uint64_t budget_bytes, Peers& peers, Activity& activity, rndv::Engine& rndv,
                   const FailPeer& fail, const Progress& progress) noexcept
    : activity_(activity),
      peers_(peers),
      store_(budget_bytes, peers, activity, fail),
      rndv_(rndv),
      fail_(fail),
      progress_(progress),
      late_(store_, activity, fail) {}

void Receives::fail(Peer& peer, Status why) noexcept {
  early_.drop(peer, eager());
  if (peer.has_late) late_.take(peer, why);
  placed_.fail(peer, why);
  store_.drop_unfinished(peer);
  // Receives that name the peer end; those from any source stay while others can match them.
  end_posted(&peer, why);
}

bool Receives::names(const Peer& peer) noexcept {
  bool found = false;
  posted_.remove_if([&](const PostedRecv& recv) {
    found = found || recv.source == peer.index;
    return false;
  });
  return found;
}

void Receives::counters(stria_counters_t& out) const noexcept {
  out.received_eager = received_ + store_.received();
  out.unexpected_messages = store_.queue().size();
  out.unexpected_bytes = store_.eager().in_use();
  out.unexpected_bytes_max = store_.eager().in_use_max();
  out.posted_receives = posted_.size();
}

Status Receives::recv(const stria_recv_t& recv, Unexpected* taken, stria_request_t* request) noexcept {
  if (activity_.closing()) return Status::cancelled;
  stria_payload_t memory;
  if (describe_memory(recv.base, recv.layout, recv.count, memory) != Status::ok) return Status::invalid;
  Peer* source =
      recv.match.source == nullptr ? nullptr : reinterpret_cast<const Endpoint*>(recv.match.source)->peer;
  const std::uint32_t index = source == nullptr ? kAnySource : source->index;

  Unexpected* entry = taken;
  if (entry != nullptr) {
    store_.queue().let_go(entry);
  } else {
    entry = store_.queue().take(index, recv.match.tag, recv.match.ignore);
  }
  if (entry == nullptr && source != nullptr && source->state == Peer::State::failed)
    return Status::peer_failed;

  if (entry != nullptr) return recv_entry(*entry, recv, memory, request);
  if (source != nullptr) peers_.await(*source);
  PostedRecv& posted = Request::make_posted(request, &activity_, recv)->body.posted;
  posted.tag = recv.match.tag;
  posted.ignore = recv.match.ignore;
  posted.source = index;
  transport::copy_payload(posted.memory, memory);
  posted_.push(&posted);
  return Status::in_progress;
}

/// A message that is in no list any more.
Status Receives::recv_entry(Unexpected& entry, const stria_recv_t& recv, const stria_payload_t& memory,
                            stria_request_t* request) noexcept {
  Request* made = Request::make(request, &activity_, RequestKind::recv, nullptr, recv.user);
  // A call that completes its request answers ok instead of calling back.
  take_unexpected(entry, memory, *made);
  if (made->state.load(std::memory_order_relaxed) == RequestState::done) {
    report_outcome(recv, *made);
    return Status::ok;
  }
  made->callback = recv.callback;
  return Status::in_progress;
}

/// As try_post() beside messages that nobody asked for. One that lies in its entry, and whose sender does not
/// wait, goes from there to the caller.
Status Receives::recv_beside_unexpected(const stria_recv_t& recv, Peer& source,
                                        stria_request_t* request) noexcept {
  Unexpected* const entry = store_.queue().take(source.index, recv.match.tag, 0);
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
  ++received_;
  store_.top_up(source);
  store_.queue().release(entry);
  return Status::ok;
}

/// The receive's message out of the window of its source, when that lies there next and nobody else can want
/// it. Bytes, or STRIA_TAKE_*.
[[gnu::always_inline]] inline std::int32_t Receives::take_from_window(const stria_recv_t& recv, Peer& source,
                                                                      stria_request_t* request) noexcept {
  const bool whole_round = ++looks_ % kWholeRound == 0;
  if (recv.count > eager::kWindowReceiveMax || activity_.in_progress() || posted_.size() != 0 ||
      source.has_early || activity_.has_backlog() || whole_round)
    return STRIA_TAKE_OTHER;
  transport::Header header = wire::make_header(wire::Kind::eager, recv.match.tag);
  const auto waits = [&] { return (recv.flags & STRIA_RECV_WAITS) != 0; };
  const std::int32_t bytes = store_.eager().take_from_window(source, header, recv.base, recv.count, waits);
  if (bytes < 0) return bytes;
  if (store_.eager().is_low(source)) [[unlikely]]
    store_.top_up(source);
  ++received_;
  activity_.add_handled(1);
  activity_.notify_sleepers();
  const auto length = static_cast<std::uint32_t>(bytes);
  const stria_info_t outcome{STRIA_OK, header.immediate, header.tag, length, length, source.worker_id};
  Request::make_ended(request, outcome);
  if (recv.info != nullptr) copy_info(*recv.info, outcome);
  return bytes;
}

// Takes what lies in the window of its source, for older receives first. True: the message was there.
bool Receives::poll_source(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept {
  constexpr unsigned kMostOthers = 15;  // records of one look
  if (activity_.in_progress()) return false;
  if (looks_ % kWholeRound == 0 || activity_.has_backlog()) [[unlikely]] {
    progress_.progress(progress_.self);
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
  if (handled != 0) activity_.notify_sleepers();
  return took;
}

/// ok: the message was there; in_progress: post the receive; no_resource: something came that nobody asked
/// for.
Status Receives::look(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept {
  const std::int32_t taken = take_from_window(recv, source, request);
  if (taken >= 0) return Status::ok;
  if (taken == STRIA_TAKE_NOTHING) {
    look_in_ = kNotSoonAgain;
    return Status::in_progress;
  }
  if (poll_source(recv, source, request)) {
    report_outcome(recv, *reinterpret_cast<Request*>(request));
    return Status::ok;
  }
  return store_.queue().size() != 0 || activity_.closing() ? Status::no_resource : Status::in_progress;
}

void Receives::take_unexpected(Unexpected& entry, const stria_payload_t& memory, Request& request) noexcept {
  Peer& peer = store_.source_of(entry);
  store_.describe(entry, request.info);
  if (entry.what() == Unexpected::Kind::announced) {
    const rndv::Announcement announced = UnexpectedStore::announcement_of(entry);
    store_.free(entry);
    start_rendezvous(request, peer, announced, memory);
    return;
  }
  if (!notify_matched(peer, entry.sync_name())) [[unlikely]] {
    // The request has the message; others may call back, and must not meet it half done.
    request.state.store(RequestState::active, std::memory_order_relaxed);
    const Activity::Inside inside(activity_);
    fail_(peer, Status::io_error);
  }
  const std::uint64_t bytes = std::min(static_cast<std::uint64_t>(memory.length), entry.length);
  if (entry.what() == Unexpected::Kind::in_place) {
    if (!store_.take_in_place(entry, transport::slice(memory, 0, bytes))) [[unlikely]] {
      late_.wait_for_rest(entry, memory, request);
      return;
    }
  } else if (entry.what() == Unexpected::Kind::inline_payload) {
    transport::unpack(transport::slice(memory, 0, bytes), entry.payload);
  } else {
    transport::copy(plain_memory(entry.buffer, bytes), memory, static_cast<std::int64_t>(bytes));
  }
  store_.finish(entry, memory, request);
}

void Receives::start_rendezvous(Request& request, Peer& peer, const rndv::Announcement& announced,
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

Unexpected* Receives::probe(const stria_match_t& match, bool take, stria_info_t* info) noexcept {
  const std::uint32_t index =
      match.source == nullptr ? kAnySource : reinterpret_cast<const Endpoint*>(match.source)->peer->index;
  Unexpected* entry = store_.queue().find(index, match.tag, match.ignore);
  if (entry == nullptr) return nullptr;
  if (info != nullptr) store_.describe(*entry, *info);
  if (take) store_.queue().set_aside(entry);
  return entry;
}

Status Receives::probe_later(const stria_match_t& match) noexcept {
  if (match.source == nullptr) return Status::in_progress;
  Peer& source = *reinterpret_cast<const Endpoint*>(match.source)->peer;
  peers_.await(source);
  return source.state == Peer::State::failed ? Status::peer_failed : Status::in_progress;
}

Status Receives::cancel(Request& request) noexcept {
  const RequestState state = request.state.load(std::memory_order_relaxed);
  if (state == RequestState::done) return Status::no_resource;
  if (request.owner != &activity_) return Status::invalid;
  if (request.kind != RequestKind::recv) return Status::unsupported;
  if (state != RequestState::posted) return Status::no_resource;
  posted_.remove(&request.body.posted);
  request.info = {};
  complete(request, Status::cancelled);
  activity_.add_handled(1);
  activity_.an_operation_ended();  // it may be a sleeper's own request
  return Status::ok;
}

void Receives::end_posted(const Peer* peer, Status why) noexcept {
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
