#include "transport/shm/remote_access.hpp"

#include <cstring>
#include <new>
#include <string>

#include "base/log.hpp"
#include "transport/atomic_word.hpp"
#include "transport/payload.hpp"
#include "transport/shm/keys.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {
namespace {

// Minimum mean run of remote memory, in bytes, for cross-memory attach. For shorter runs the list entries
// cost more than packing does, so the answer is unsupported and the engine uses the pipeline.
constexpr std::int64_t kSmallestRemoteRun = 128;

Stream stream_of(const transport::Payload& payload) noexcept {
  return {transport::layout_of(payload), reinterpret_cast<std::uint64_t>(payload.base), payload.count,
          payload.offset};
}

}  // namespace

void RemoteAccess::open() {
  const SegmentHeader& header = peer_.view.header();
  keys_ = hw::KeyTableView(peer_.view.keys(), key_shape(peer_.view.shape()));
  std::string problem;
  if (!shared_.settings.cma)
    fallback_ = "cross-memory attach: switched off (STRIA_SHM_CMA)";  // the user asked for it: not logged
  else if (!peer_.attached.same_process)
    problem = probe_cma(peer_.attached.pid, header.probe_address, header.probe_nonce);
  can_copy_ = shared_.settings.cma && problem.empty();
  can_map_ = true;  // the segment could be mapped; whether an allocation can is found out by trying it
  if (!problem.empty()) fall_back(problem);
}

void RemoteAccess::shut() noexcept {
  is_down_ = true;
  can_copy_ = can_map_ = false;
  memory_.clear();
}

void RemoteAccess::fall_back(const std::string& why) noexcept {
  const auto [text, is_new] = shared_.texts.keep(why);
  fallback_ = text;
  if (is_new)
    log::warn("shm: worker {:016x} (process {}): {}; large messages go through cells", peer_.worker_id,
              peer_.attached.pid, why);
}

Status RemoteAccess::get(const transport::Payload& local, const transport::Key& key,
                         std::uint64_t remote_offset) noexcept {
  if (can_copy_ && !peer_.attached.same_process && has_hint(key) && local.layout == nullptr &&
      local.length > 0)
    return get_by_hint(local, key, remote_offset);
  return move(Direction::get, local, key, remote_offset);
}

Status RemoteAccess::put(const transport::Payload& local, const transport::Key& key,
                         std::uint64_t remote_offset) noexcept {
  return move(Direction::put, local, key, remote_offset);
}

Status RemoteAccess::move(Direction direction, const transport::Payload& local, const transport::Key& key,
                          std::uint64_t remote_offset) noexcept {
  if (is_down_) return Status::peer_failed;
  if (!can_copy_ && !(can_map_ && transport::is_mapped(key))) return Status::unsupported;
  if (local.length < 0) return Status::invalid;
  hw::KeyWord word = 0;
  if (!read_word(key, word)) return Status::access_error;
  hw::KeyRecord record;
  Status status;
  if (direction == Direction::put || peer_.attached.same_process) {
    const std::uint8_t right = direction == Direction::put ? hw::kKeyWrite : hw::kKeyRead;
    status = keys_.begin_pinned(peer_.slot, word, right, record);
    if (status != Status::ok) return status;
    status = copy_checked(direction, local, record, remote_offset);
    keys_.end_pinned(peer_.slot);
  } else {
    std::uint64_t control = 0;
    status = keys_.look_up(word, hw::kKeyRead, record, control);
    if (status != Status::ok) return status;
    status = copy_checked(direction, local, record, remote_offset);
    if (keys_.check_unchanged(word, control) != Status::ok) status = Status::access_error;
  }
  if (status == Status::unsupported && !peer_.attached.is_alive()) status = Status::peer_failed;
  return status;
}

// Reads the peer's memory at the address in the key, while the key's record is on its way; then checks that
// the key is valid, and that it is a key to this memory. Only memory is read that the peer itself has named,
// and the bytes are not used when the key is not valid.
Status RemoteAccess::get_by_hint(const transport::Payload& local, const transport::Key& key,
                                 std::uint64_t remote_offset) noexcept {
  hw::KeyWord word = 0;
  std::uint64_t base = 0;
  std::memcpy(&word, key.data, sizeof word);
  std::memcpy(&base, key.data + kKeyBaseAt, sizeof base);
  keys_.prefetch(word);
  const std::uint64_t from = base + remote_offset;
  const Reach reach{from, from + static_cast<std::uint64_t>(local.length), false};
  const bool asks = may_ask(reach);
  const Copied copied =
      !asks ? Copied::memory_refused
            : copy_block(Direction::get, peer_.attached.pid, transport::contiguous_begin(local), from,
                         static_cast<std::size_t>(local.length));
  const Status valid = keys_.check_block(word, hw::kKeyRead, base, remote_offset, local.length);
  if (valid != Status::ok) return valid;
  // If the peer is gone, its process id may have been another process's during the copy (copy_across()).
  if (!peer_.attached.is_alive()) return Status::peer_failed;
  if (asks) note(reach, copied);
  return copied == Copied::all ? Status::ok : refused(copied);
}

// When the kernel refuses a page of a living peer, that says nothing about the peer's other memory, nor
// about the key, which the caller checks. So the link stays as it is, and only this get or put takes another
// path.
Status RemoteAccess::refused(Copied copied) noexcept {
  if (copied == Copied::peer_gone) return Status::peer_failed;
  if (copied == Copied::memory_refused) return Status::unsupported;  // see note_refusal()
  can_copy_ = false;
  fall_back("cross-memory attach: refused by the system during use");
  return Status::unsupported;
}

// A refusal costs a system call, which also walks the pages before the one that it cannot reach. Memory that
// is always refused is asked for only now and then (base/refused_memory.hpp). Other memory of the peer is
// copied as before.
void RemoteAccess::note_refusal(const Reach& reach, Copied copied) noexcept {
  if (refused_memory_ == nullptr) refused_memory_.reset(new (std::nothrow) RefusedMemory);
  if (refused_memory_ == nullptr) return;
  if (copied == Copied::memory_refused)
    refused_memory_->refused(reach.begin, reach.end, reach.writes);
  else if (copied == Copied::all)
    refused_memory_->worked(reach.begin, reach.end, reach.writes);
}

Status RemoteAccess::copy_checked(Direction direction, const transport::Payload& local,
                                  const hw::KeyRecord& record, std::uint64_t remote_offset) noexcept {
  if (!hw::in_bounds(record, remote_offset, local.length)) return Status::access_error;
  if (local.length == 0) return Status::ok;
  Copy copy{direction, stream_of(local), {nullptr, record.base, record.count, 0}, local.length};
  copy.remote.offset = static_cast<std::int64_t>(remote_offset);
  std::int64_t low = 0, high = 0;
  if (const Status status = find_layout(record, copy.remote.layout, low, high); status != Status::ok)
    return status;
  if (peer_.attached.same_process && (can_copy_ || record.segment != 0)) {
    copy_mapped(copy);
    return Status::ok;
  }
  if (record.segment != 0 && can_map_) {
    // If the key ends during a get, the memory stays mapped here: the get does not fault and needs no pin.
    const Status status = mapped_base(record, low, high, copy.remote.base);
    if (status == Status::ok) copy_mapped(copy);
    if (status != Status::unsupported) return status;
  }
  if (!can_copy_) return Status::unsupported;
  if (mean_run(copy.remote) < kSmallestRemoteRun) return Status::unsupported;
  Reach reach{record.base + static_cast<std::uint64_t>(low), record.base + static_cast<std::uint64_t>(high),
              direction == Direction::put};
  if (copy.remote.layout == nullptr) {
    reach.begin = record.base + remote_offset;
    reach.end = reach.begin + static_cast<std::uint64_t>(local.length);
  }
  return copy_across(reach, copy);
}

// The system call names the peer by its process id, which another process may get when the peer is gone. The
// key is then still valid, because it lies in the peer's segment, which stays mapped here. So after the copy
// is_alive() decides whether the copy counts: the peer's lock ends before its id is free. A put to a dead
// peer is not begun. A put that begins microseconds before the peer dies, whose id then goes to another
// process at once, cannot be prevented, but is reported as failed.
Status RemoteAccess::copy_across(const Reach& reach, const Copy& copy) noexcept {
  if (reach.writes && !peer_.attached.is_alive()) return Status::peer_failed;
  if (!may_ask(reach)) return Status::unsupported;
  const Copied copied = copy_cma(copy, peer_.attached.pid, shared_.bounce);
  if (!peer_.attached.is_alive()) return Status::peer_failed;
  note(reach, copied);
  return copied == Copied::all ? Status::ok : refused(copied);
}

Status RemoteAccess::find_layout(const hw::KeyRecord& record, const datatype::Layout*& layout,
                                 std::int64_t& low, std::int64_t& high) noexcept {
  layout = nullptr;
  low = 0, high = record.bytes;
  if (record.layout == 0) return Status::ok;
  layout = layouts_.find(peer_.view, {record.layout, record.layout_generation});
  if (layout == nullptr) return Status::access_error;
  // The record's byte count is checked, as the peer wrote it: it has to be that of the layout's stream.
  const auto reach = layout->reach(record.count);
  if (!reach || reach->bytes != record.bytes) return Status::access_error;
  low = reach->low, high = reach->high;
  return Status::ok;
}

// An atomic cannot be taken back, so it pins the key meanwhile.
Status RemoteAccess::atomic(const transport::Atomic& atomic, const transport::Key& key) noexcept {
  if (is_down_) return Status::peer_failed;
  const bool own = peer_.attached.same_process && can_copy_;
  if (!own && !(can_map_ && transport::is_mapped(key))) return Status::unsupported;
  hw::KeyWord word = 0;
  if (!read_word(key, word)) return Status::access_error;
  hw::KeyRecord record;
  Status status = keys_.begin_pinned(peer_.slot, word, hw::kKeyAtomic, record);
  if (status != Status::ok) return status;
  status = atomic_on(record, atomic);
  keys_.end_pinned(peer_.slot);
  return status == Status::unsupported && !peer_.attached.is_alive() ? Status::peer_failed : status;
}

Status RemoteAccess::atomic_on(const hw::KeyRecord& record, const transport::Atomic& atomic) noexcept {
  if (!hw::in_bounds(record, atomic.offset, transport::kWordBytes)) return Status::access_error;
  const datatype::Layout* layout = nullptr;
  std::int64_t low = 0, high = 0;
  Status status = find_layout(record, layout, low, high);
  std::uint64_t base = record.base;
  if (status == Status::ok && !peer_.attached.same_process) {
    if (record.segment == 0) return Status::access_error;  // the flags of the key contradict the record
    status = mapped_base(record, low, high, base);
  }
  std::uint64_t* at = nullptr;
  if (status == Status::ok)
    status = transport::find_word({layout, reinterpret_cast<void*>(base), record.count, 0, record.bytes},
                                  atomic.offset, at);
  if (status != Status::ok) return status;
  *atomic.result = transport::perform(atomic, *at);
  return Status::ok;
}

std::span<std::byte> RemoteAccess::map_memory(const hw::KeyRecord& record) noexcept {
  std::string problem;
  const std::uint64_t proof = shared_.own.proof_for(peer_.attached.nonce, peer_.worker_id);
  const std::span<std::byte> data = memory_.add(peer_.attached, {record.segment, record.segment_fd},
                                                shared_.settings.attach, proof, problem);
  if (!problem.empty()) {
    log::warn("shm: worker {:016x}: {}", peer_.worker_id, problem);
    if (*fallback_ == '\0') fallback_ = shared_.texts.keep(problem).text;
  }
  return data;
}

Status RemoteAccess::mapped_base(const hw::KeyRecord& record, std::int64_t low, std::int64_t high,
                                 std::uint64_t& base) noexcept {
  std::span<std::byte> data;
  if (!memory_.find(record.segment, data)) [[unlikely]]
    data = map_memory(record);
  if (data.empty()) return Status::unsupported;
  std::int64_t first = 0, last = 0;
  if (__builtin_add_overflow(record.segment_offset, low, &first) ||
      __builtin_add_overflow(record.segment_offset, high, &last) || first < 0 || last < first ||
      static_cast<std::uint64_t>(last) > data.size())
    return Status::access_error;
  base = reinterpret_cast<std::uint64_t>(data.data()) + static_cast<std::uint64_t>(record.segment_offset);
  return Status::ok;
}

}  // namespace stria::shm
