#include "transport/uct/moves.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "transport/payload.hpp"
#include "transport/uct/link.hpp"

namespace stria::uct {
namespace {

constexpr std::size_t kLocalRuns = 16;  // most runs of local memory in one request

/// The local memory of one request.
struct Local {
  std::array<uct_iov_t, kLocalRuns> runs;  // the first `count` are set
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

/// Sets `out` to the next runs of the operation's local memory: at most `runs` runs and `most` bytes.
void fill(const Operation& operation, const stria_services_t& services, std::uint64_t most, std::size_t runs,
          Local& out) noexcept {
  std::array<iovec, kLocalRuns> list;
  std::int64_t covered = 0;
  const std::size_t count =
      services.iovecs(&operation.local, list.data(), std::min(runs, kLocalRuns), &covered);
  out.count = 0;
  out.bytes = 0;
  while (out.count < count && out.bytes < most) {
    const iovec& run = list[out.count];
    const std::size_t bytes = std::min<std::size_t>(run.iov_len, most - out.bytes);
    out.runs[out.count++] = {run.iov_base, bytes, operation.memory, 0, 1};
    out.bytes += bytes;
  }
}

struct PackedPart {
  const transport::Payload& payload;
  const stria_services_t& services;
};
std::size_t pack_part(void* out, void* arg) noexcept {
  const PackedPart& part = *static_cast<const PackedPart*>(arg);
  part.services.pack(&part.payload, out);
  return static_cast<std::size_t>(part.payload.length);
}
void unpack_piece(void* arg, const void* data, std::size_t) noexcept {
  const Piece& piece = *static_cast<const Piece*>(arg);
  piece.services->unpack(&piece.local, data);
}

transport::Payload first_bytes(const transport::Payload& payload, std::uint64_t bytes) noexcept {
  return transport::slice(payload, 0, bytes);
}

}  // namespace

Status Moves::start(Link& link, const Access& access) noexcept {
  const Limits& limits = shared_.limits;
  const Reach& reach = access.writes ? limits.put : limits.get;
  if (link.dying) return Status::peer_failed;
  if (!limits.keys || (access.writes && !limits.puts)) return Status::unsupported;
  Domain& domain = shared_.interface->domain();
  KeyContent key;
  if (!read_key(access.key, domain.key_bytes(), key)) return Status::access_error;
  const unsigned right = access.writes ? STRIA_ACCESS_REMOTE_WRITE : STRIA_ACCESS_REMOTE_READ;
  const auto bytes = static_cast<std::uint64_t>(access.local.length);
  if ((key.tail.access & right) == 0 || access.offset > key.memory.bytes ||
      bytes > key.memory.bytes - access.offset)
    return Status::access_error;
  if (bytes == 0) return access.finish != nullptr ? Status::unsupported : Status::ok;
  if (!link.is_up()) return Status::no_resource;
  // The count begins at 1 so that the operation cannot end while its requests are still being posted.
  Operation* const taken = operations_.take(link, access.completion, 1);
  if (taken == nullptr) return Status::no_resource;
  Operation& operation = *taken;
  operation.writes = access.writes;
  operation.local = access.local;
  operation.remote = key.memory;
  operation.offset = access.offset;
  if (access.finish != nullptr) {
    operation.finishes = true;
    operation.finish = *access.finish;
    operation.key_name = key.tail.name;
  }
  operation.has_key = domain.read_key(key.ucx, operation.key);
  if (operation.has_key) operation.memory = register_local(operation, reach);
  if (!operation.has_key || (operation.memory == nullptr && reach.copy_most == 0)) {
    const Status why = operation.has_key ? Status::unsupported : Status::access_error;
    operations_.give_back(operation);
    return why;
  }
  const Status asked = ask(operation);
  if (asked == Status::no_resource) {
    stall(operation);
  } else if (--operation.count == 0) {
    if (asked != Status::ok) {
      operations_.give_back(operation);
      return asked;
    }
    operations_.end(operation, Status::ok);
  } else {
    operation.result = asked;
  }
  return Status::in_progress;
}

/// Registers the operation's local memory if its requests are to use zcopy. Null: they go by buffers of UCX,
/// because they are too short for zcopy to pay, or because the memory cannot be registered.
uct_mem_h Moves::register_local(const Operation& operation, const Reach& reach) noexcept {
  const transport::Payload& local = operation.local;
  const auto bytes = static_cast<std::uint64_t>(local.length);
  const bool fits_buffer = bytes <= reach.copy_most;
  const bool lies_apart = !operation.remote.is_one() && operation.remote.block < reach.copy_most;
  const std::uint64_t run = local.layout == nullptr ? bytes : transport::mean_block(local);
  if (fits_buffer || lies_apart || run * std::min(reach.zcopy_runs, kLocalRuns) < reach.copy_most)
    return nullptr;
  transport::Span span;
  if (!span_of(*shared_.services, local, span)) return nullptr;
  return shared_.interface->domain().add(reinterpret_cast<const void*>(span.begin), span.bytes,
                                         Domain::Use::local, false);
}

/// Posts the requests that are left, as long as UCX has room. OK: all are posted. NO_RESOURCE: UCX, or the
/// memory for a piece, is exhausted; call again later. Any other status: the link has failed.
Status Moves::ask(Operation& operation) noexcept {
  Link& link = *operation.link;
  const auto take = [&](ucs_status_t status) {
    if (status == UCS_INPROGRESS) ++operation.count;
    if (status == UCS_INPROGRESS || status == UCS_OK) return Status::ok;
    return status == UCS_ERR_NO_RESOURCE ? Status::no_resource : link.fail(status);
  };
  while (operation.local.length > 0) {
    const transport::Span run = run_at(operation.remote, operation.offset);
    std::uint64_t bytes = std::min(run.bytes, static_cast<std::uint64_t>(operation.local.length));
    const Status asked = take(ask_one(operation, run.begin, bytes));
    if (asked != Status::ok) return asked;
    operation.local.offset += static_cast<std::int64_t>(bytes);
    operation.local.length -= static_cast<std::int64_t>(bytes);
    operation.offset += bytes;
  }
  if (!operation.wants_flush) return Status::ok;
  const Status flushed = take(uct_ep_flush(link.endpoint, UCT_FLUSH_FLAG_LOCAL, &operation));
  if (flushed == Status::ok) operation.wants_flush = false;
  return flushed;
}

/// Posts one request for at most `bytes` bytes of the peer's memory at `address`. `bytes` is set to the
/// number of bytes that the request is for.
ucs_status_t Moves::ask_one(Operation& operation, std::uint64_t address, std::uint64_t& bytes) noexcept {
  const Reach& reach = operation.writes ? shared_.limits.put : shared_.limits.get;
  if (operation.memory != nullptr && bytes >= reach.zcopy_least) {
    Local local;
    fill(operation, *shared_.services, std::min(bytes, reach.zcopy_most), reach.zcopy_runs, local);
    if (local.bytes >= reach.zcopy_least) {
      bytes = local.bytes;
      const auto ask_straight = operation.writes ? uct_ep_put_zcopy : uct_ep_get_zcopy;
      return ask_straight(operation.link->endpoint, local.runs.data(), local.count, address,
                          operation.key.rkey, &operation);
    }
  }
  bytes = std::min(bytes, reach.copy_most);
  return operation.writes ? put_by_buffer(operation, address, bytes)
                          : get_by_buffer(operation, address, bytes);
}

ucs_status_t Moves::get_by_buffer(Operation& operation, std::uint64_t address, std::uint64_t bytes) noexcept {
  Piece* const piece = operations_.take_piece(operation);
  if (piece == nullptr) return UCS_ERR_NO_RESOURCE;
  piece->services = shared_.services;
  piece->local = first_bytes(operation.local, bytes);
  const ucs_status_t status = uct_ep_get_bcopy(operation.link->endpoint, unpack_piece, piece, bytes, address,
                                               operation.key.rkey, &operation);
  if (status != UCS_INPROGRESS) operations_.give_back_piece(operation);
  return status;
}

ucs_status_t Moves::put_by_buffer(Operation& operation, std::uint64_t address, std::uint64_t bytes) noexcept {
  const transport::Payload part = first_bytes(operation.local, bytes);
  PackedPart packed{part, *shared_.services};
  const ssize_t went =
      uct_ep_put_bcopy(operation.link->endpoint, pack_part, &packed, address, operation.key.rkey);
  if (went < 0) return static_cast<ucs_status_t>(went);
  operation.wants_flush = true;
  return UCS_OK;
}

void Moves::stall(Operation& operation) noexcept {
  operation.next_stalled = nullptr;
  (stalled_ == nullptr ? stalled_ : last_stalled_->next_stalled) = &operation;
  last_stalled_ = &operation;
}

void Moves::resume() noexcept {
  Operation* next = std::exchange(stalled_, nullptr);
  const Link* full = nullptr;  // the link whose request was refused last: its other operations wait, too
  while (next != nullptr) {
    Operation& operation = *std::exchange(next, next->next_stalled);
    const Status asked = operation.link == full ? Status::no_resource : ask(operation);
    if (asked == Status::no_resource) {
      full = operation.link;
      stall(operation);
    } else if (--operation.count == 0) {
      operations_.end(operation, asked);
    } else {
      operation.result = asked;
    }
  }
}

void Moves::drop(Link& link) noexcept {
  Operation* next = std::exchange(stalled_, nullptr);
  while (next != nullptr) {
    Operation& operation = *std::exchange(next, next->next_stalled);
    if (operation.link != &link)
      stall(operation);
    else if (--operation.count == 0)
      operations_.end(operation, Status::peer_failed);
    else
      operation.result = Status::peer_failed;
  }
}

Status Moves::start_atomic(Link& link, const transport::Atomic& atomic, const transport::Key& key,
                           transport::Completion* completion) noexcept {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t);
  if (link.dying) return Status::peer_failed;
  if (!shared_.limits.atomics) return Status::unsupported;
  Domain& domain = shared_.interface->domain();
  KeyContent content;
  if (!read_key(key, domain.key_bytes(), content)) return Status::access_error;
  if ((content.tail.access & STRIA_ACCESS_REMOTE_ATOMIC) == 0 || content.memory.bytes < kWord ||
      atomic.offset > content.memory.bytes - kWord)
    return Status::access_error;
  const transport::Span run = run_at(content.memory, atomic.offset);
  if (run.bytes < kWord || run.begin % kWord != 0) return Status::invalid;
  if (!link.is_up()) return Status::no_resource;
  Operation* const taken = operations_.take(link, completion, 1);
  if (taken == nullptr) return Status::no_resource;
  Operation& operation = *taken;
  operation.has_key = domain.read_key(content.ucx, operation.key);
  if (!operation.has_key) {
    operations_.give_back(operation);
    return Status::access_error;
  }
  const uct_rkey_t rkey = operation.key.rkey;
  const ucs_status_t status = atomic.op == STRIA_ATOMIC_FETCH_ADD
                                  ? uct_ep_atomic64_fetch(link.endpoint, UCT_ATOMIC_OP_ADD, atomic.operand,
                                                          atomic.result, run.begin, rkey, &operation)
                                  : uct_ep_atomic_cswap64(link.endpoint, atomic.compare, atomic.operand,
                                                          run.begin, rkey, atomic.result, &operation);
  if (status == UCS_INPROGRESS) return Status::in_progress;
  operations_.give_back(operation);
  if (status == UCS_OK) return Status::ok;
  return status == UCS_ERR_NO_RESOURCE ? Status::no_resource : link.fail(status);
}

}  // namespace stria::uct
