// Gets and puts: the adapter reads and writes, this process only describes. What the peer's adapter would
// refuse is refused here where the key tells it, because a refusal there ends the connection.
#include <algorithm>
#include <cstring>

#include "transport/verbs/device.hpp"
#include "transport/verbs/link.hpp"

namespace stria::verbs {
namespace {

constexpr std::size_t kMostRuns = 1024;   // of a local layout; more are packed by the engines
constexpr std::uint64_t kLong = 1 << 20;  // requests from here on are seen to end one by one: the peer lives
constexpr std::uint64_t kSparse = 64;     // a layout's memory is registered whole: not when it is mostly gaps

Status status_of(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS:
      return Status::ok;
    case IBV_WC_REM_ACCESS_ERR:
      return Status::access_error;
    default:
      return Status::peer_failed;
  }
}

/// The memory from the first to the last byte of the range; false: too many runs, or too far apart.
bool span_of(const stria_services_t& services, const transport::Payload& local, std::uintptr_t& begin,
             std::uint64_t& bytes) noexcept {
  if (local.layout == nullptr) {
    begin = reinterpret_cast<std::uintptr_t>(local.base) + static_cast<std::uintptr_t>(local.offset);
    bytes = static_cast<std::uint64_t>(local.length);
    return true;
  }
  std::uintptr_t low = ~std::uintptr_t{0}, high = 0;
  transport::Payload rest = local;
  for (std::size_t runs = 0; rest.length > 0;) {
    iovec list[64];
    std::int64_t covered = 0;
    const std::size_t n = services.iovecs(&rest, list, 64, &covered);
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = reinterpret_cast<std::uintptr_t>(list[i].iov_base);
      low = std::min(low, at);
      high = std::max(high, at + list[i].iov_len);
    }
    runs += n;
    if (runs > kMostRuns || covered <= 0) return false;
    rest.offset += covered;
    rest.length -= covered;
  }
  begin = low;
  bytes = high - low;
  return bytes / kSparse <= static_cast<std::uint64_t>(local.length);
}

/// What a request may ask for at once. siw answers a short read out of memory on two pages with wrong bytes
/// (it takes as many of the first page as belong to the second), so with iWARP that is two requests.
constexpr std::uint64_t kShortAnswer = 32, kPage = 4096;
std::uint64_t at_once(std::uint64_t address, std::uint64_t bytes, bool iwarp) noexcept {
  const std::uint64_t on_page = kPage - address % kPage;
  return iwarp && bytes <= kShortAnswer && bytes > on_page ? on_page : bytes;
}

}  // namespace

Status Link::get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  return start(false, local, key, offset, completion, nullptr);
}

Status Link::put(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  if (!device_.can_put()) return Status::unsupported;
  return start(true, local, key, offset, completion, nullptr);
}

Status Link::get_finish(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                        const transport::Header& header, transport::Completion* completion) noexcept {
  if (!device_.sends_invalidate()) return Status::unsupported;
  return start(false, local, key, offset, completion, &header);
}

Status Link::start(bool write, const transport::Payload& local, const transport::Key& key,
                   std::uint64_t offset, transport::Completion* completion,
                   const transport::Header* finish) noexcept {
  if (dying) return Status::peer_failed;
  KeyContent data;
  if (!read_key(key, data)) return Status::access_error;
  const unsigned right = write ? STRIA_ACCESS_REMOTE_WRITE : STRIA_ACCESS_REMOTE_READ;
  const auto bytes = static_cast<std::uint64_t>(local.length);
  if ((data.access & right) == 0 || offset > data.memory.bytes || bytes > data.memory.bytes - offset)
    return Status::access_error;
  if (finish != nullptr && !ends_by_message(data.kind)) return Status::unsupported;
  if (bytes == 0) return finish != nullptr ? Status::unsupported : Status::ok;
  if (!ready_ || !has_room(finish != nullptr ? 2 : 1)) return Status::no_resource;
  if (finish != nullptr && credits_ == 0) return Status::no_resource;
  std::uintptr_t begin = 0;
  std::uint64_t span = 0;
  if (!span_of(device_.services(), local, begin, span)) return Status::unsupported;
  Region* const region = device_.regions().acquire(reinterpret_cast<const void*>(begin), span,
                                                   write ? Regions::Use::source : Regions::Use::sink);
  if (region == nullptr) return Status::unsupported;
  Move* const move = device_.take_move();
  if (move == nullptr) {
    device_.regions().release(region);
    return Status::no_resource;
  }
  *move = {{}, this, completion, local, region, data.memory, offset, data.rkey, 0, write, Status::ok};
  const Status answer = advance(*move, finish);
  if (answer == Status::ok) {
    advance_further(*move);
    return Status::in_progress;
  }
  if (move->under_way == 0) {
    device_.regions().release(region);
    device_.give_move(*move);
  }
  return answer;
}

/// Posts some of the rest, as there is room for it, as one piece of work. With `finish` all of it, and the
/// packet behind it, or nothing (unsupported: it takes more than one request).
Status Link::advance(Move& move, const transport::Header* finish) noexcept {
  if (binds_wait_) return Status::no_resource;
  const hw::VerbsTraits& traits = device_.adapter().traits;
  const std::uint32_t most = std::min(move.write ? traits.max_sge : traits.max_read_sge, kMostPieces);
  ibv_send_wr requests[kMostChain];
  ibv_sge pieces[kMostChain][kMostPieces];
  Entry entries[kMostChain];
  unsigned count = 0;
  transport::Payload rest = move.local;
  std::uint64_t offset = move.offset;
  // Room is made for the first only: that may let another move go on, which takes what was seen before.
  while (rest.length > 0 && count < (finish != nullptr ? 1u : kMostChain) &&
         (count == 0 ? has_room(1) : has_room_now(count + 1))) {
    // One request is one run of the remote memory; of the local one it takes as many as its list holds.
    const Span run = run_at(move.remote, offset);
    const std::uint64_t limit = std::min<std::uint64_t>(run.bytes, device_.adapter().max_message);
    std::uint64_t bytes = 0;
    int used = 0;
    if (rest.layout == nullptr) {
      bytes = std::min<std::uint64_t>(static_cast<std::uint64_t>(rest.length), limit);
      pieces[count][used++] = {
          reinterpret_cast<std::uint64_t>(rest.base) + static_cast<std::uint64_t>(rest.offset),
          static_cast<std::uint32_t>(bytes), move.region->mr->lkey};
    } else {
      iovec list[kMostPieces];
      std::int64_t covered = 0;
      const std::size_t n = device_.services().iovecs(&rest, list, most, &covered);
      for (std::size_t i = 0; i < n && bytes < limit; ++i) {
        const std::uint64_t fits = std::min<std::uint64_t>(list[i].iov_len, limit - bytes);
        pieces[count][used++] = {reinterpret_cast<std::uint64_t>(list[i].iov_base),
                                 static_cast<std::uint32_t>(fits), move.region->mr->lkey};
        bytes += fits;
      }
    }
    const std::uint64_t fewer = at_once(run.begin, bytes, traits.iwarp);
    while (bytes > fewer) {  // off the end of its pieces
      ibv_sge& last = pieces[count][used - 1];
      const auto off = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes - fewer, last.length));
      bytes -= off;
      last.length -= off;
      if (last.length == 0) --used;
    }
    ibv_send_wr& request = requests[count];
    request = {};
    request.sg_list = pieces[count];
    request.num_sge = used;
    request.opcode = move.write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    request.wr.rdma.rkey = move.rkey;
    request.wr.rdma.remote_addr = run.begin;
    if (bytes >= kLong) request.send_flags |= IBV_SEND_SIGNALED;
    entries[count] = {Doing::move, 0, &move};
    ++count;
    rest.offset += static_cast<std::int64_t>(bytes);
    rest.length -= static_cast<std::int64_t>(bytes);
    offset += bytes;
  }
  if (count == 0) return Status::no_resource;
  if (finish != nullptr && rest.length > 0) return Status::unsupported;
  requests[count - 1].send_flags |= IBV_SEND_SIGNALED;
  struct {
    Prefix prefix;
    transport::Header header;
  } head;
  ibv_sge head_piece{};
  if (finish != nullptr) {
    std::uint32_t slot = 0;
    const bool is_short = device_.pio_max() != 0;
    if (!is_short) {
      slot = device_.slots().take();
      if (slot == SendSlots::kNone) return Status::no_resource;
    }
    head = {next_prefix(PacketKind::closing), *finish};
    head_piece = {reinterpret_cast<std::uint64_t>(&head), kHeadBytes, 0};
    if (!is_short) {
      std::memcpy(device_.slots().at(slot), &head, sizeof head);
      head_piece = {reinterpret_cast<std::uint64_t>(device_.slots().at(slot)), kHeadBytes,
                    device_.slots().lkey()};
    }
    ibv_send_wr& request = requests[count];
    request = {};
    request.sg_list = &head_piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND_WITH_INV;
    // The fence: a read is not ordered before a send, and one that is repeated would meet a dead window.
    request.send_flags = IBV_SEND_FENCE | (is_short ? unsigned{IBV_SEND_INLINE} : 0u);
    request.invalidate_rkey = move.rkey;
    entries[count] = is_short ? Entry{} : Entry{Doing::slot, slot, nullptr};
    ++count;
    --credits_;
  }
  move.local = rest;
  move.offset = offset;
  const std::uint32_t pieces_posted = finish != nullptr ? count - 1 : count;
  move.under_way += pieces_posted;
  pieces_ += pieces_posted;
  device_.moves_under_way += pieces_posted;
  static_cast<void>(post(requests, entries, count, false));  // refused: the link dies, and ends the move
  return Status::ok;
}

/// More of the rest while there is room for it now, and some left for packets. Looking for room could
/// complete what is under way of this very move, and so come back here.
void Link::advance_further(Move& move) noexcept {
  constexpr unsigned kForOthers = kSendDepth / 4;
  while (move.local.length > 0 && !dying && move.under_way < kMostUnderWay &&
         has_room_now(kMostChain + kForOthers))
    if (advance(move, nullptr) != Status::ok) return;
}

void Link::resume(Move& move) noexcept {
  if (!dying && move.status == Status::ok) {
    const Status answer = advance(move, nullptr);
    if (answer == Status::no_resource) {
      device_.stall(move);
      return;
    }
    if (answer == Status::ok) advance_further(move);
  }
  if (move.under_way == 0) end(move);
}

void Link::end(Move& move) noexcept {
  if (move.local.length > 0 && move.status == Status::ok) move.status = Status::peer_failed;
  if (move.result != nullptr)
    end_atomic(move);
  else
    device_.regions().release(move.region);
  device_.end_move(move);
}

void Link::piece_done(Move& move, ibv_wc_status status) noexcept {
  --device_.moves_under_way;
  --pieces_;
  --move.under_way;
  if (status != IBV_WC_SUCCESS && (move.status == Status::ok || move.status == Status::peer_failed))
    move.status = status_of(status);
  if (move.under_way > 0) return;
  if (move.local.length > 0)
    resume(move);
  else
    end(move);
}

}  // namespace stria::verbs
