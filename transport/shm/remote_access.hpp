// Gets, puts and atomics on the memory of one peer, by keys of the peer. This CPU performs them: it looks
// the slot of the key up in the peer's key table, checks right and bounds, and copies by cross-memory
// attach, or by plain loads and stores where the memory is mapped here or belongs to this process. A put, an
// atomic, and a get within this process pin the key meanwhile; any other get asks afterwards whether the key
// was valid all the time (hw/key_table.hpp says why).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/refused_memory.hpp"
#include "hw/key_table.hpp"
#include "transport/contract.hpp"
#include "transport/shm/cma.hpp"
#include "transport/shm/layouts.hpp"
#include "transport/shm/peer_memory.hpp"
#include "transport/shm/peer_segment.hpp"

namespace stria::shm {

struct Shared;

/// Threads: the device's thread only.
class RemoteAccess {
 public:
  RemoteAccess(Shared& shared, const PeerSegment& peer) noexcept : shared_(shared), peer_(peer) {}
  /// To be called once, when the peer's segment is mapped: finds out in which ways the peer's other memory
  /// can be reached.
  void open();
  /// To be called when the link is down: unmaps memory of the peer, and from now on answers peer_failed.
  void shut() noexcept;
  /// Unmaps memory that the peer has freed.
  void refresh() noexcept { memory_.refresh(); }

  // Calls of the provider contract (transport/contract.hpp).
  Status get(const transport::Payload& local, const transport::Key& key,
             std::uint64_t remote_offset) noexcept;
  Status put(const transport::Payload& local, const transport::Key& key,
             std::uint64_t remote_offset) noexcept;
  Status atomic(const transport::Atomic& atomic, const transport::Key& key) noexcept;

  /// Whether gets and puts reach any memory of the peer: by cross-memory attach, or within this process.
  bool can_copy() const noexcept { return can_copy_; }
  /// Whether gets and puts reach the peer's allocations (memory.hpp), by mapping them.
  bool can_map() const noexcept { return can_map_; }
  /// Whether atomics reach any memory of the peer, and not its allocations alone.
  bool can_atomic() const noexcept { return peer_.attached.same_process && can_copy_; }
  /// Why the link does not use a faster path; "" if it uses the fastest.
  const char* fallback() const noexcept { return fallback_; }

 private:
  /// The range of the peer's addresses that a get or put may touch.
  struct Reach {
    std::uint64_t begin, end;
    bool writes;
  };
  Status move(Direction direction, const transport::Payload& local, const transport::Key& key,
              std::uint64_t remote_offset) noexcept;
  Status get_by_hint(const transport::Payload& local, const transport::Key& key,
                     std::uint64_t remote_offset) noexcept;
  /// The answer of a get or put whose copy by cross-memory attach ended as `copied`, not with `all`.
  [[gnu::cold, gnu::noinline]] Status refused(Copied copied) noexcept;
  /// Whether to try cross-memory attach. False: the kernel refused this memory lately, and is not asked now.
  bool may_ask(const Reach& reach) noexcept {
    return refused_memory_ == nullptr || refused_memory_->allow(reach.begin, reach.end, reach.writes);
  }
  /// Remembers whether the kernel refused the memory.
  void note(const Reach& reach, Copied copied) noexcept {
    if (refused_memory_ != nullptr || copied == Copied::memory_refused) [[unlikely]]
      note_refusal(reach, copied);
  }
  [[gnu::cold, gnu::noinline]] void note_refusal(const Reach& reach, Copied copied) noexcept;
  /// Checks bounds and layout by the record of the key, and copies in the way that the memory allows.
  Status copy_checked(Direction direction, const transport::Payload& local, const hw::KeyRecord& record,
                      std::uint64_t remote_offset) noexcept;
  /// Copies by cross-memory attach.
  Status copy_across(const Reach& reach, const Copy& copy) noexcept;
  /// Finds the layout of the key's memory (null: contiguous), and the lowest and highest byte of the memory,
  /// relative to its base. access_error: the layout is not published any more, or contradicts the key
  /// record.
  Status find_layout(const hw::KeyRecord& record, const datatype::Layout*& layout, std::int64_t& low,
                     std::int64_t& high) noexcept;
  Status atomic_on(const hw::KeyRecord& record, const transport::Atomic& atomic) noexcept;
  /// Sets `base` to the place of the key's memory in this process's mapping of the peer's allocation.
  /// unsupported: the allocation cannot be mapped; access_error: the memory is not within the allocation.
  /// After an error `base` is as it was.
  Status mapped_base(const hw::KeyRecord& record, std::int64_t low, std::int64_t high,
                     std::uint64_t& base) noexcept;
  [[gnu::cold, gnu::noinline]] std::span<std::byte> map_memory(const hw::KeyRecord& record) noexcept;
  /// Sets fallback() to `why`, and logs each reason once, however many peers it holds for.
  [[gnu::cold, gnu::noinline]] void fall_back(const std::string& why) noexcept;

  Shared& shared_;
  const PeerSegment& peer_;
  hw::KeyTableView keys_;
  DecodedLayouts layouts_;
  PeerMemory memory_;
  std::unique_ptr<RefusedMemory> refused_memory_;  // of the peer; null until the kernel refuses some
  const char* fallback_ = "";
  bool can_copy_ = false;
  bool can_map_ = false;
  bool is_down_ = false;
};

}  // namespace stria::shm
