// Starts gets and puts: the adapter moves the bytes, this process only describes them. An access that the
// key's bytes do not allow is refused here, because a refusal by the peer's adapter ends the connection.
#include <algorithm>
#include <cstring>

#include "transport/verbs/link.hpp"
#include "transport/verbs/moves.hpp"

namespace stria::verbs {

using transport::Span;

/// Requests that are posted at one doorbell: those of one move, and the packet behind them that ends the key.
struct Chain {
  static constexpr unsigned kMost = SendQueue::kMostChain;
  static constexpr std::uint32_t kMostPieces = 16;
  ibv_send_wr requests[kMost];
  ibv_sge pieces[kMost][kMostPieces];
  Entry entries[kMost];
  unsigned count = 0;
  struct {
    Prefix prefix;
    transport::Header header;
  } head;  ///< the bytes of the packet
};

namespace {

/// Requests of so many bytes or more ask for a completion each, to show that the peer lives.
constexpr std::uint64_t kLong = 1 << 20;

/// How many of `bytes` bytes at the remote `address` one request may move. siw answers a short read of memory
/// on two pages with wrong bytes (it takes as many of the first page as belong to the second), so with iWARP
/// such a read becomes two requests.
constexpr std::uint64_t kShortAnswer = 32, kPage = 4096;
std::uint64_t at_once(std::uint64_t address, std::uint64_t bytes, bool iwarp) noexcept {
  const std::uint64_t on_page = kPage - address % kPage;
  return iwarp && bytes <= kShortAnswer && bytes > on_page ? on_page : bytes;
}

/// Takes `more` bytes off the end of a list of pieces; returns how many pieces are left.
int cut(ibv_sge* pieces, int used, std::uint64_t more) noexcept {
  while (more > 0) {
    ibv_sge& last = pieces[used - 1];
    const auto off = static_cast<std::uint32_t>(std::min<std::uint64_t>(more, last.length));
    more -= off;
    last.length -= off;
    if (last.length == 0) --used;
  }
  return used;
}

/// Fills in the request behind the last one of a chain, without counting it: it moves bytes of one run of the
/// remote memory, and of as many runs of the local memory as a gather list holds. Returns how many bytes the
/// request moves.
std::uint64_t build(const Shared& shared, const Move& move, const transport::Payload& rest, const Span& run,
                    Chain& chain) noexcept {
  ibv_send_wr& request = chain.requests[chain.count];
  ibv_sge* const pieces = chain.pieces[chain.count];
  const hw::VerbsTraits& traits = shared.adapter->traits;
  const std::uint32_t most = std::min(move.write ? traits.max_sge : traits.max_read_sge, Chain::kMostPieces);
  const std::uint64_t limit = std::min<std::uint64_t>(run.bytes, shared.adapter->max_message);
  std::uint64_t bytes = 0;
  int used = 0;
  if (rest.layout == nullptr) {
    bytes = std::min<std::uint64_t>(static_cast<std::uint64_t>(rest.length), limit);
    pieces[used++] = {reinterpret_cast<std::uint64_t>(rest.base) + static_cast<std::uint64_t>(rest.offset),
                      static_cast<std::uint32_t>(bytes), move.region->mr->lkey};
  } else {
    iovec list[Chain::kMostPieces];
    std::int64_t covered = 0;
    const std::size_t n = shared.services->iovecs(&rest, list, most, &covered);
    for (std::size_t i = 0; i < n && bytes < limit; ++i) {
      const std::uint64_t fits = std::min<std::uint64_t>(list[i].iov_len, limit - bytes);
      pieces[used++] = {reinterpret_cast<std::uint64_t>(list[i].iov_base), static_cast<std::uint32_t>(fits),
                        move.region->mr->lkey};
      bytes += fits;
    }
  }
  const std::uint64_t fewer = std::min(bytes, at_once(run.begin, bytes, traits.iwarp));
  used = cut(pieces, used, bytes - fewer);
  request = {};
  request.sg_list = pieces;
  request.num_sge = used;
  request.opcode = move.write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
  request.wr.rdma.rkey = move.rkey;
  request.wr.rdma.remote_addr = run.begin;
  if (fewer >= kLong) request.send_flags |= IBV_SEND_SIGNALED;
  return fewer;
}

}  // namespace

Status Moves::start(Link& link, const Wanted& wanted) noexcept {
  const transport::Payload& local = wanted.local;
  const bool finishes = wanted.finish != nullptr;
  if (link.dying) return Status::peer_failed;
  KeyContent data;
  if (!read_key(wanted.key, data)) return Status::access_error;
  const unsigned right = wanted.write ? STRIA_ACCESS_REMOTE_WRITE : STRIA_ACCESS_REMOTE_READ;
  const auto bytes = static_cast<std::uint64_t>(local.length);
  if ((data.access & right) == 0 || wanted.offset > data.memory.bytes ||
      bytes > data.memory.bytes - wanted.offset)
    return Status::access_error;
  if (finishes && !ends_by_message(data.kind)) return Status::unsupported;
  if (bytes == 0) return finishes ? Status::unsupported : Status::ok;
  if (!link.ready() || !link.queue().has_room(finishes ? 2 : 1)) return Status::no_resource;
  if (finishes && link.credits().have() == 0) return Status::no_resource;
  Span span;
  if (!transport::span_of(*shared_.services, local, span)) return Status::unsupported;
  Region* const region = shared_.regions.acquire(reinterpret_cast<const void*>(span.begin), span.bytes,
                                                 wanted.write ? Regions::Use::source : Regions::Use::sink);
  if (region == nullptr) return Status::unsupported;
  Move* const move = take();
  if (move == nullptr) {
    shared_.regions.release(region);
    return Status::no_resource;
  }
  *move = {{},        &link, wanted.completion, local,     region, data.memory, wanted.offset,
           data.rkey, 0,     wanted.write,      Status::ok};
  const Status answer = advance(*move, wanted.finish);
  if (answer == Status::ok) {
    advance_further(*move);
    return Status::in_progress;
  }
  if (move->under_way == 0) {
    shared_.regions.release(region);
    give(*move);
  }
  return answer;
}

/// Posts up to Chain::kMost requests of the rest of a move, at one doorbell, as there is room. With `finish`
/// posts all of the rest, as one request, and behind it the packet that ends the key; else nothing
/// (unsupported: the rest takes more than one request). no_resource: nothing is posted.
Status Moves::advance(Move& move, const transport::Header* finish) noexcept {
  SendQueue& queue = move.link->queue();
  if (queue.do_binds_wait()) return Status::no_resource;
  Chain chain;
  transport::Payload rest = move.local;
  std::uint64_t offset = move.offset;
  const unsigned most = finish != nullptr ? 1u : Chain::kMost;
  // Only the first request makes room by polling for completions. Polling may let another move go on, which
  // takes room that was counted before.
  while (rest.length > 0 && chain.count < most &&
         (chain.count == 0 ? queue.has_room(1) : queue.has_room_now(chain.count + 1))) {
    const std::uint64_t bytes = build(shared_, move, rest, run_at(move.remote, offset), chain);
    chain.entries[chain.count++] = {Entry::Doing::move, 0, &move};
    rest.offset += static_cast<std::int64_t>(bytes);
    rest.length -= static_cast<std::int64_t>(bytes);
    offset += bytes;
  }
  if (chain.count == 0) return Status::no_resource;
  if (finish != nullptr && rest.length > 0) return Status::unsupported;
  chain.requests[chain.count - 1].send_flags |= IBV_SEND_SIGNALED;
  const std::uint32_t pieces = chain.count;
  if (finish != nullptr && !add_finish(move, *finish, chain)) return Status::no_resource;
  move.local = rest;
  move.offset = offset;
  count(move, pieces);
  // If the queue pair refuses them, the link dies, and ends the move.
  static_cast<void>(queue.post(chain.requests, chain.entries, chain.count, false));
  return Status::ok;
}

/// Adds the packet that ends the key to the chain, behind the last read. False: no slot is free for it.
bool Moves::add_finish(Move& move, const transport::Header& finish, Chain& chain) noexcept {
  std::uint32_t slot = 0;
  const bool is_short = shared_.can.pio_max != 0;
  if (!is_short) {
    slot = shared_.slots.take();
    if (slot == SendSlots::kNone) return false;
  }
  Link& link = *move.link;
  chain.head = {link.next_prefix(PacketKind::closing), finish};
  ibv_sge& piece = chain.pieces[chain.count][0];
  piece = {reinterpret_cast<std::uint64_t>(&chain.head), kHeadBytes, 0};
  if (!is_short) {
    std::memcpy(shared_.slots.at(slot), &chain.head, sizeof chain.head);
    piece = {reinterpret_cast<std::uint64_t>(shared_.slots.at(slot)), kHeadBytes, shared_.slots.lkey()};
  }
  ibv_send_wr& request = chain.requests[chain.count];
  request = {};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND_WITH_INV;
  // The fence orders the read before the packet. Without it a read that the adapter repeats could come after
  // the packet, to a window that has ended.
  request.send_flags = IBV_SEND_FENCE | (is_short ? unsigned{IBV_SEND_INLINE} : 0u);
  request.invalidate_rkey = move.rkey;
  chain.entries[chain.count++] = is_short ? Entry{} : Entry{Entry::Doing::slot, slot, nullptr};
  link.credits().spend();
  return true;
}

/// Posts more of the rest of a move while there is room, and some is left for packets. It does not poll for
/// completions to make room: that could complete requests of this move, and call this function again.
void Moves::advance_further(Move& move) noexcept {
  constexpr unsigned kForOthers = kSendDepth / 4;
  while (move.local.length > 0 && !move.link->dying && move.under_way < kMostUnderWay &&
         move.link->queue().has_room_now(Chain::kMost + kForOthers))
    if (advance(move, nullptr) != Status::ok) return;
}

}  // namespace stria::verbs
