// Gets, puts and atomics on the memory of one peer, by the keys of it. This CPU does them: it looks the key's
// slot up in the peer's table, checks right and bounds, and copies by cross-memory attach, or by plain loads
// and stores where the memory is mapped here or is this process's. A get asks afterwards whether the key was
// valid all the time; a put, and a get by plain loads, pin the key meanwhile (hw/key_table.hpp says why).
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

/// The device's thread.
class RemoteAccess {
 public:
  RemoteAccess(Shared& shared, const PeerSegment& peer) noexcept : shared_(shared), peer_(peer) {}
  /// The peer's segment is mapped: finds out by which ways its other memory is reached.
  void open();
  /// The link is down.
  void shut() noexcept;
  /// Lets go of mapped memory that the peer freed.
  void refresh() noexcept { memory_.refresh(); }

  // The contract.
  Status get(const transport::Payload& local, const transport::Key& key,
             std::uint64_t remote_offset) noexcept;
  Status put(const transport::Payload& local, const transport::Key& key,
             std::uint64_t remote_offset) noexcept;
  Status atomic(const transport::Atomic& atomic, const transport::Key& key) noexcept;

  /// Cross-memory attach works, or the peer is in this process.
  bool can_copy() const noexcept { return can_copy_; }
  /// What the peer allocated can be mapped.
  bool can_map() const noexcept { return can_map_; }
  /// Atomics are performed on any memory of the peer, not on mapped memory alone.
  bool can_atomic() const noexcept { return peer_.attached.same_process && can_copy_; }
  /// Why a better way is not used; "" if none.
  const char* fallback() const noexcept { return fallback_; }

 private:
  /// Memory of the peer, from its lowest to its highest address, that is to be copied.
  struct Reach {
    std::uint64_t begin, end;
    bool writes;
  };
  Status move(Direction direction, const transport::Payload& local, const transport::Key& key,
              std::uint64_t remote_offset) noexcept;
  Status get_by_hint(const transport::Payload& local, const transport::Key& key,
                     std::uint64_t remote_offset) noexcept;
  /// The answer of a get or put whose copy by cross-memory attach the system refused.
  [[gnu::cold, gnu::noinline]] Status refused(Copied copied) noexcept;
  /// False: the kernel refused such memory lately, and is not asked this time.
  bool may_ask(const Reach& reach) noexcept {
    return refused_memory_ == nullptr || refused_memory_->allow(reach.begin, reach.end, reach.writes);
  }
  /// Remembers how the kernel answered.
  void note(const Reach& reach, Copied copied) noexcept {
    if (refused_memory_ != nullptr || copied == Copied::memory_refused) [[unlikely]]
      note_refusal(reach, copied);
  }
  [[gnu::cold, gnu::noinline]] void note_refusal(const Reach& reach, Copied copied) noexcept;
  Status copy(Direction direction, const transport::Payload& local, const hw::KeyRecord& record,
              std::uint64_t remote_offset) noexcept;
  /// By cross-memory attach.
  Status copy_across(const Reach& reach, const Stream& local, const Stream& remote,
                     std::int64_t length) noexcept;
  /// The layout of the record's memory (null: contiguous), and how far it reaches from the base.
  /// access_error: the record contradicts it.
  Status shape_of(const hw::KeyRecord& record, const datatype::Layout*& layout, std::int64_t& low,
                  std::int64_t& high) noexcept;
  Status atomic_on(const hw::KeyRecord& record, const transport::Atomic& atomic) noexcept;
  /// Where the layout's base lies in this process's mapping of the peer's memory. unsupported: it cannot be
  /// mapped; access_error: the record contradicts it.
  Status mapped_base(const hw::KeyRecord& record, std::int64_t low, std::int64_t high,
                     std::uint64_t& base) noexcept;
  [[gnu::cold, gnu::noinline]] std::span<std::byte> map_memory(const hw::KeyRecord& record) noexcept;
  /// One line of the log for each reason, however many peers it holds for.
  [[gnu::cold, gnu::noinline]] void fall_back(const std::string& why) noexcept;

  Shared& shared_;
  const PeerSegment& peer_;
  hw::KeyTableView keys_;
  DecodedLayouts layouts_;
  PeerMemory memory_;
  std::unique_ptr<RefusedMemory> refused_memory_;  // the peer's; null until there is some
  const char* fallback_ = "";
  bool can_copy_ = false;
  bool can_map_ = false;
  bool is_down_ = false;
};

}  // namespace stria::shm
