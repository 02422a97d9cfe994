// What an arriving packet means. Matchable packets (eager, sync, rts) are put back into the order of their
// sender first.
#include "base/log.hpp"
#include "tag/worker.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

using transport::Arrival;
using transport::Packet;
using wire::Kind;

namespace {

/// What an eager message was, for a receive that had room for `received` bytes of it.
inline void describe_eager(stria_info_t& info, const Peer& peer, const Packet& packet,
                           std::uint64_t received) noexcept {
  info.status = received < packet.bytes ? STRIA_ERR_TRUNCATED : STRIA_OK;
  info.immediate = packet.header->immediate;
  info.tag = packet.header->tag;
  info.length = packet.bytes;
  info.received = received;
  info.source = peer.worker_id;
}

/// The bit of deliver()'s answer by which the provider goes on to the link's next packet.
constexpr std::uint32_t go_on_bit(bool go_on) noexcept {
  return go_on ? STRIA_DELIVERED_GO_ON : 0u;
}

/// A synchronous message has to name its sender's operation (sync_name() in wire.hpp); flags 0 name none.
inline bool is_nameless(const transport::Header& header) noexcept {
  return header.kind == static_cast<std::uint8_t>(Kind::sync) && header.flags == 0;
}

}  // namespace

/// Names the receive's memory for an eager message or a fragment, if the payload may go there. Any other
/// packet, and any of a peer that was given up, goes to memory of the provider.
int Worker::on_place(void* self, void* of, const stria_header_t* header, std::uint32_t bytes,
                     stria_payload_t* memory) noexcept {
  const auto& device = *static_cast<Device*>(self);
  Peer& peer = *static_cast<Peer*>(of);
  if (peer.state != Peer::State::up) return 0;
  if (header->kind == static_cast<std::uint8_t>(Kind::eager))
    return device.worker->receives_.place(peer, device.number, *header, bytes, *memory) ? 1 : 0;
  if (header->kind != static_cast<std::uint8_t>(Kind::frag)) return 0;
  const rndv::IncomingFragment fragment{*header, bytes, device.number, device.worker->rail_of(peer, device)};
  return device.worker->rndv_.place(peer.link, fragment, *memory) ? 1 : 0;
}

/// The payload of a packet is whole in the memory that on_place() named for it.
void Worker::deliver_placed(Peer& peer, const Packet& packet, const Device& device) noexcept {
  const bool is_eager = packet.header->kind == static_cast<std::uint8_t>(Kind::eager);
  const bool taken = is_eager ? receives_.on_placed(peer, device.number, packet)
                              : rndv_.on_placed(peer.link, packet, rail_of(peer, device)) ==
                                    rndv::Engine::FragmentOutcome::handled;
  if (!taken) dropped(peer, packet, "a payload for which no memory was named");
}

/// Counts the payload of an eager message. False: the message breaks the protocol, and its peer is given up.
bool Worker::admit(Peer& peer, const Packet& packet) noexcept {
  if (is_nameless(*packet.header)) [[unlikely]] {
    give_up(peer, "sent a synchronous message that names no operation");
    return false;
  }
  // Counted on arrival, also when the message has to wait for its turn: both sides count the same.
  if (receives_.eager().arrived(peer, packet.bytes)) [[likely]]
    return true;
  give_up(peer, "sent more eager payload than it was granted");
  return false;
}

std::uint32_t Worker::deliver(Peer& peer, const Packet& packet, const Device& device) noexcept {
  // Also of a peer that was given up: the receive whose memory was named waits for this packet.
  if ((packet.buffered & STRIA_PACKET_PLACED) != 0) [[unlikely]] {
    deliver_placed(peer, packet, device);
    return 0;
  }
  if (peer.state == Peer::State::failed) [[unlikely]]
    return 0;  // given up, although its link still moves packets
  switch (static_cast<Kind>(packet.header->kind)) {
    case Kind::eager:
    case Kind::sync:
      if (!admit(peer, packet)) break;
      [[fallthrough]];
    case Kind::rts:
      return receives_.arrive(peer, packet);
    case Kind::rtr:
      if (!rndv_.on_rtr(peer.link, packet, rail_of(peer, device))) [[unlikely]]
        dropped(peer, packet, "a request for fragments that is malformed or does not fit its message");
      break;
    case Kind::frag:
      if (const auto taken = rndv_.on_frag(peer.link, packet, rail_of(peer, device));
          taken != rndv::Engine::FragmentOutcome::handled) [[unlikely]] {
        if (taken == rndv::Engine::FragmentOutcome::later) return STRIA_DELIVERED_LATER;
        dropped(peer, packet, "a fragment that does not fit its receive");
      }
      break;
    case Kind::fin:
      rndv_.on_fin(peer.link, packet);
      break;
    case Kind::ask_key:
      if (!rndv_.on_ask_key(peer.link, packet, rail_of(peer, device))) [[unlikely]]
        dropped(peer, packet, "a request for a key that is malformed or does not fit its message");
      break;
    case Kind::rail_key:
      if (!rndv_.on_rail_key(peer.link, packet, rail_of(peer, device))) [[unlikely]]
        dropped(peer, packet, "a key that was not asked for");
      break;
    case Kind::end_key:
      if (!rndv_.on_end_key(peer.link, packet, rail_of(peer, device))) [[unlikely]]
        dropped(peer, packet, "the end of a key that it was not given");
      break;
    case Kind::credit:
      peer.credit += packet.header->tag;
      break;
    case Kind::rma_get:
    case Kind::rma_put:
      if (!remote_.serve_rma(peer, packet, packet.header->kind == static_cast<std::uint8_t>(Kind::rma_get)))
          [[unlikely]]
        dropped(peer, packet, "a malformed request for remote memory");
      break;
    case Kind::atomic:
      switch (remote_.serve_atomic(peer, packet)) {
        case RemoteAccess::Served::misfit:
          dropped(peer, packet, "a malformed request for an atomic");
          break;
        case RemoteAccess::Served::no_memory:
          give_up(peer, "cannot be answered: out of memory");
          break;
        default:
          break;
      }
      break;
    case Kind::word:
      if (!remote_.on_word(peer, packet)) [[unlikely]]
        dropped(peer, packet, "an answer to an atomic that means nothing");
      break;
    case Kind::gone:
      log::warn("worker {:#x} gave up this worker, {:#x}; its log has the reason", peer.worker_id, id());
      fail_peer(peer, Status::peer_failed, Tell::by_none);
      break;
    case Kind::none:
    default:
      dropped(peer, packet, "a packet of unknown kind");
      break;
  }
  return 0;
}

void Worker::give_up(Peer& peer, const char* why) noexcept {
  log::error("worker {:#x} {}; it is given up", peer.worker_id, why);
  fail_peer(peer, Status::io_error, Tell::by_all);
}

void Worker::dropped(Peer& peer, const Packet& packet, const char* what) noexcept try {
  log::Repeated& malformed = malformed_[peer.index];
  if (!malformed.is_worth_a_line()) return;
  log::error("worker {:#x} sent {} (kind {}, {} bytes); dropped ({} of its packets so far)", peer.worker_id,
             what, packet.header->kind, packet.bytes, malformed.count());
} catch (const std::bad_alloc&) {
  // no memory to count this peer's packets: no line
}

std::uint32_t Receives::arrive(Peer& peer, const Packet& packet) noexcept {
  if (packet.header->sequence == peer.recv_sequence) [[likely]] {
    const std::uint32_t answer = deliver_in_order(peer, packet);
    if (peer.has_early) [[unlikely]] {
      // Stashed packets whose turn it is now.
      while (const auto stashed = early_.take_next(peer)) deliver_in_order(peer, stashed->packet());
    }
    return answer;
  }
  return early_.keep(peer, packet, store_.eager(), fail_);
}

bool Receives::place(Peer& peer, std::uint8_t device, const transport::Header& header, std::uint32_t bytes,
                     transport::Payload& memory) noexcept {
  // What is not in its turn, or was not granted, is for deliver() to judge.
  if (header.sequence != peer.recv_sequence || peer.has_early || bytes > peer.grant.outstanding) return false;
  PostedRecv* const posted = posted_.match(peer.index, header.tag);
  if (posted == nullptr) return false;
  if (static_cast<std::uint64_t>(posted->memory.length) < bytes) {  // too long: deliver() truncates it
    posted_.put_back(posted);
    return false;
  }
  ++peer.recv_sequence;
  store_.eager().consumed_on_arrival(peer, bytes);
  memory = transport::slice(posted->memory, 0, bytes);
  placed_.begin(*posted, peer, device, header, bytes);
  return true;
}

bool Receives::on_placed(Peer& peer, std::uint8_t device, const Packet& packet) noexcept {
  Status why = Status::ok;
  Request* const request = placed_.take(peer, device, packet, why);
  if (request == nullptr) return false;
  if (why == Status::ok) {
    request->info.received = packet.bytes;
    ++received_;
    if (store_.eager().is_low(peer)) store_.top_up(peer);
  }
  complete(*request, why);
  return true;
}

std::uint32_t Receives::deliver_in_order(Peer& peer, const Packet& packet) noexcept {
  ++peer.recv_sequence;
  if (wire::has_payload(*packet.header)) return arrive_eager(peer, packet);
  arrive_announcement(peer, packet);
  return 0;
}

// A synchronous sender is told of the match once, and the match is then final. So its payload has to be there
// before.
std::uint32_t Receives::arrive_eager(Peer& peer, const Packet& packet) noexcept {
  PostedRecv* posted = posted_.match(peer.index, packet.header->tag);
  const wire::SyncName name = wire::sync_name(*packet.header);
  if (posted == nullptr && !takes_at_once(peer, *packet.header)) return keep(peer, packet);
  if (name != 0 && transport::arrival(packet) == Arrival::later) [[unlikely]] {
    if (posted != nullptr) posted_.put_back(posted);
    store_.eager().consumed(peer, packet.bytes);
    return comes_later(peer, packet);
  }
  const bool told = notify_matched(peer, name);
  if (posted == nullptr) {
    if (!told) return keep(peer, packet);
    store_.eager().consumed(peer, packet.bytes);
    return finish_at_once(peer, packet) ? 0 : STRIA_DELIVERED_LATER;
  }
  store_.eager().consumed(peer, packet.bytes);
  if (told) return finish_eager(*posted, peer, packet) ? 0 : STRIA_DELIVERED_LATER;
  cut_short(*Request::of(*posted), peer, packet);
  return 0;
}

/// Keeps a message that no receive waits for. Its payload may stay with the provider only if it came by the
/// main link and no early packet is stashed. Such a packet may follow in this call, and a callback for it may
/// receive this message, and so release the payload, before deliver() has told the provider that it stays.
std::uint32_t Receives::keep(Peer& peer, const Packet& packet) noexcept {
  const bool may_stay = !peer.has_early && peer.device == delivering_;
  const std::uint32_t answer = store_.keep(peer, packet, may_stay);
  return answer == STRIA_DELIVERED_LATER ? comes_later(peer, packet) : answer;
}

/// Takes back the arrival of a message, matched or not, whose sender stands still while it writes it: the
/// provider delivers it again.
std::uint32_t Receives::comes_later(Peer& peer, const Packet& packet) noexcept {
  --peer.recv_sequence;
  store_.eager().undo_arrival(peer, packet.bytes);
  return STRIA_DELIVERED_LATER;
}

/// A matched message did not come whole. is_late false: the sender is gone, and the receive fails. true: the
/// sender stands still, and the receive is put back for this sender alone, as its memory may hold a part that
/// a shorter message of another source would leave behind its own bytes. Returns !is_late.
bool Receives::not_whole(PostedRecv& posted, Peer& peer, const Packet& packet, bool is_late) noexcept {
  if (!is_late) {
    cut_short(*Request::of(posted), peer, packet);
    return true;
  }
  posted_.put_back_for(&posted, peer.index);
  comes_later(peer, packet);
  return false;
}

[[gnu::always_inline]] inline bool Receives::finish_eager(PostedRecv& posted, Peer& peer,
                                                          const Packet& packet) noexcept {
  Request& request = *Request::of(posted);
  const std::uint64_t received =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(posted.memory.length), packet.bytes);
  if (const Arrival came = eager::copy_payload(posted.memory, received, packet); came != Arrival::whole)
      [[unlikely]]
    return not_whole(posted, peer, packet, came == Arrival::later);
  ++received_;
  if (store_.eager().is_low(peer)) [[unlikely]]
    store_.top_up(peer);
  if (request.callback != nullptr) {
    stria_info_t info;
    describe_eager(info, peer, packet, received);
    copy_info(request.info, info);  // for a later test of the request
    call_back(request, info);
  } else {
    describe_eager(request.info, peer, packet, received);
    request.state.store(RequestState::done, std::memory_order_release);  // pairs with stria_request_test
  }
  return true;
}

/// The sender of the message that the request had matched died while it wrote, or cannot be answered.
void Receives::cut_short(Request& request, Peer& peer, const Packet& packet) noexcept {
  describe_eager(request.info, peer, packet, 0);
  tag::cut_short(request, peer, fail_);
}

// Whether the receive that is being started takes the message. It is younger than all posted receives, and
// none of those matched. Nothing may wait in the unexpected queue: the receive may match that first.
inline bool Receives::takes_at_once(const Peer& peer, const transport::Header& header) const noexcept {
  return starting_.recv != nullptr && starting_.source == &peer && starting_.recv->match.tag == header.tag &&
         store_.queue().size() == 0;
}

inline bool Receives::finish_at_once(Peer& peer, const Packet& packet) noexcept {
  const stria_recv_t& recv = *std::exchange(starting_.recv, nullptr);
  Request& request = *Request::make_posted(starting_.request, &activity_, recv);
  request.callback = nullptr;  // the call that starts it answers ok
  const std::uint64_t received = std::min<std::uint64_t>(recv.count, packet.bytes);
  const Arrival came = eager::copy_payload(plain_memory(recv.base, recv.count), received, packet);
  if (came == Arrival::later) [[unlikely]] {
    starting_.recv = &recv;
    comes_later(peer, packet);
    return false;
  }
  if (came == Arrival::never) [[unlikely]] {
    cut_short(request, peer, packet);
    return true;
  }
  ++received_;
  if (store_.eager().is_low(peer)) [[unlikely]]
    store_.top_up(peer);
  describe_eager(request.info, peer, packet, received);
  request.state.store(RequestState::done, std::memory_order_relaxed);
  return true;
}

void Receives::arrive_announcement(Peer& peer, const Packet& packet) noexcept {
  rndv::Announcement announced;
  if (!rndv::Engine::parse_announcement(packet, announced)) {
    log::error("a malformed announcement of {} bytes from worker {:#x}; its sender is given up", packet.bytes,
               peer.worker_id);
    fail_(peer, Status::invalid);
    return;
  }
  // The key is valid for the link that the announcement came by. If this side's main link to the peer is by
  // another device, the key is of no use there.
  if (peer.device != delivering_) [[unlikely]]
    announced.key.bytes = 0;
  store_.top_up(peer);
  PostedRecv* posted = posted_.match(peer.index, packet.header->tag);
  if (posted == nullptr) {
    if (peer.link.can_map) transport::drop_hint(announced.key);
    store_.keep_announcement(peer, *packet.header, announced);
    return;
  }
  Request& request = *Request::of(*posted);
  request.info.tag = packet.header->tag;
  request.info.immediate = packet.header->immediate;
  stria_payload_t memory;  // a copy: the rendezvous reuses the request's body, in which *posted lies
  transport::copy_payload(memory, posted->memory);
  start_rendezvous(request, peer, announced, memory);
}

// Delivers an eager message that is in its turn and within its credit. After a message that a receive took,
// the provider goes on only if another receive is posted or being started. Else the caller comes first: it
// may have all that it waits for, and it may post the next message's receive, which saves a copy by way of
// the unexpected queue. Its next send, for which peers may wait, is not delayed by copying their messages.
[[gnu::always_inline]] inline std::uint32_t Receives::arrive_next(Peer& peer, const Packet& packet,
                                                                  const Device& device) noexcept {
  ++peer.recv_sequence;
  PostedRecv* const posted = posted_.match(peer.index, packet.header->tag);
  if (posted == nullptr) {
    if (takes_at_once(peer, *packet.header)) {
      store_.eager().consumed_on_arrival(peer, packet.bytes);
      if (!finish_at_once(peer, packet)) [[unlikely]]
        return STRIA_DELIVERED_LATER;
      return go_on_bit(posted_.size() != 0);
    }
    delivering_ = device.number;
    (void)store_.eager().arrived(peer, packet.bytes);
    return go_on_bit(true) | keep(peer, packet);
  }
  store_.eager().consumed_on_arrival(peer, packet.bytes);
  if (!finish_eager(*posted, peer, packet)) [[unlikely]]
    return STRIA_DELIVERED_LATER;
  return go_on_bit(posted_.size() != 0 || starting_.recv != nullptr);
}

std::uint32_t Worker::on_deliver(void* self, void* of, const stria_packet_t* packet) noexcept {
  const Device& device = *static_cast<Device*>(self);
  Worker& worker = *device.worker;
  Peer& peer = *static_cast<Peer*>(of);
  // Nearly every message: short, in its turn, within its credit.
  const transport::Header& header = *packet->header;
  if (header.kind == static_cast<std::uint8_t>(Kind::eager) && header.sequence == peer.recv_sequence &&
      peer.state == Peer::State::up && !peer.has_early && packet->bytes <= peer.grant.outstanding) [[likely]]
    return worker.receives_.arrive_next(peer, *packet, device);
  worker.receives_.set_delivering(device.number);
  const std::uint32_t answer = worker.deliver(peer, *packet, device);
  // After a placed eager message, too, the provider goes on only if a receive is posted (arrive_next()).
  const bool is_placed_eager =
      (packet->buffered & STRIA_PACKET_PLACED) != 0 && header.kind == static_cast<std::uint8_t>(Kind::eager);
  return go_on_bit(!is_placed_eager || worker.receives_.has_posted()) | answer;
}

}  // namespace stria::tag
