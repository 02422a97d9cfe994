// Short synchronous messages: they go at once, as eager ones do, with the name of the sender's operation
// before their bytes, and the receiver ends that operation by a FIN when it has a receive for them. Long
// ones, and those for which the receiver granted no credit, are announced.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.hpp"
#include "eager/send.hpp"
#include "tag/worker.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

using transport::Header;
using transport::Packet;

namespace {
constexpr std::uint32_t kNameBytes = sizeof(wire::OpId);
using Body = std::array<std::byte, kNameBytes + wire::kSyncMost>;
}  // namespace

// in_progress: gone. no_resource: nothing changed. unsupported: to be announced.
Status Worker::send_synchronous(Peer& peer, Request& request) noexcept {
  rndv::SendOp& op = request.body.send;
  const std::uint64_t bytes = kNameBytes + op.length;
  if (op.length > wire::kSyncMost || bytes > peer.eager_limit || bytes > peer.credit)
    return Status::unsupported;
  if (!rndv_.await_match(op)) return Status::no_resource;
  Body body;
  std::memcpy(body.data(), &op.id, kNameBytes);
  transport::pack(op.memory, body.data() + kNameBytes);
  Header header = wire::make_header(wire::Kind::sync, request.info.tag, request.info.immediate);
  header.sequence = peer.send_sequence;
  eager::Path path;
  const auto length = static_cast<std::int64_t>(bytes);
  const Status sent = eager::try_send(peer.link, header, {nullptr, body.data(), length, 0, length}, path);
  if (sent != Status::ok) {
    rndv_.abandon(op);
    return sent;
  }
  ++peer.send_sequence;
  peer.credit -= bytes;
  ++(path == eager::Path::pio ? counters_.sent_pio : counters_.sent_buffered);
  request.state.store(RequestState::active, std::memory_order_relaxed);
  return Status::in_progress;
}

void Worker::arrive_synchronous(Peer& peer, const Packet& packet) noexcept {
  if (packet.bytes < kNameBytes || packet.bytes > sizeof(Body)) {
    budget_.consumed(peer.grant, packet.bytes);
    give_up(peer, "sent a synchronous message of a length that none has");
    return;
  }
  if (!transport::is_whole(packet)) {
    budget_.consumed(peer.grant, packet.bytes);
    fail_peer(peer, Status::peer_failed);
    return;
  }
  const auto* body = static_cast<const std::byte*>(packet.payload);
  PostedRecv* posted = posted_.match(peer.index, packet.header->tag);
  if (posted == nullptr) {
    keep_synchronous(peer, packet, body);
    return;
  }
  budget_.consumed(peer.grant, packet.bytes);
  if (budget_.is_low(peer.grant)) top_up(peer);
  Request& request = *Request::of(*posted);
  request.info.tag = packet.header->tag;
  request.info.immediate = packet.header->immediate;
  stria_payload_t memory;  // out of the body that the answer takes over
  transport::copy_payload(memory, posted->memory);
  take_synchronous(request, peer, body, packet.bytes - kNameBytes, memory);
}

void Worker::keep_synchronous(Peer& peer, const Packet& packet, const std::byte* body) noexcept {
  Unexpected* entry = unexpected_.allocate();
  std::byte* buffer = entry == nullptr ? nullptr : buffers_.take(packet.bytes);
  if (buffer == nullptr) {
    if (entry != nullptr) unexpected_.release(entry);
    log::error("out of memory for an unexpected message of {} bytes; its sender is given up", packet.bytes);
    budget_.consumed(peer.grant, packet.bytes);
    fail_peer(peer, Status::io_error);
    return;
  }
  std::memcpy(buffer, body, packet.bytes);
  entry->tag = packet.header->tag;
  entry->immediate = packet.header->immediate;
  entry->length = packet.bytes - kNameBytes;
  entry->source = peer.index;
  entry->kind = static_cast<std::uint32_t>(Unexpected::Kind::synchronous);
  entry->buffer = buffer;
  budget_.kept(peer.grant, packet.bytes, eager::BufferPool::footprint(packet.bytes));
  unexpected_.push(entry);
  top_up(peer);
}

/// `length` bytes behind the name of the sender's operation in `body`.
void Worker::take_synchronous(Request& request, Peer& peer, const std::byte* body, std::uint64_t length,
                              const stria_payload_t& memory) noexcept {
  wire::OpId sender_op = 0;
  std::memcpy(&sender_op, body, kNameBytes);
  const auto capacity = static_cast<std::uint64_t>(memory.length);
  const std::uint64_t bytes = std::min(capacity, length);
  transport::unpack(transport::slice(memory, 0, bytes), body + kNameBytes);
  ++counters_.received_eager;
  request.peer = &peer;
  request.info.source = peer.worker_id;
  request.info.length = length;
  request.info.received = bytes;
  if (peer.state != Peer::State::up) {  // it came whole; there is nobody to tell
    complete(request, length > capacity ? Status::truncated : Status::ok);
    return;
  }
  rndv::RecvOp& op = request.make_recv();
  op.link = &peer.link;
  op.length = bytes;
  request.state.store(RequestState::active, std::memory_order_relaxed);
  rndv_.confirm_match(op, sender_op);
  if (!rndv_.resting()) work_left();
}

}  // namespace stria::tag
