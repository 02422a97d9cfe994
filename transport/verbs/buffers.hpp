// Registered memory for packets: buffers that are posted to the shared receive queue, and slots that sends
// are packed into. Both are cut from chunks, each registered once.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "transport/verbs/packets.hpp"

namespace stria::verbs {

/// A registered piece of memory of our own.
class Chunk {
 public:
  Chunk() = default;
  Chunk(Chunk&& other) noexcept;
  Chunk& operator=(Chunk&&) = delete;
  ~Chunk();
  /// Errors name the limit of locked memory where it is the reason.
  static Result<Chunk> make(ibv_pd* pd, std::size_t bytes);
  std::byte* data() const noexcept { return data_; }
  std::uint32_t lkey() const noexcept { return region_->lkey; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  ibv_mr* region_ = nullptr;
};

/// "... (RLIMIT_MEMLOCK is 64 KiB; raise it with ulimit -l)" when that may be why a registration failed.
std::string locked_memory_hint(int error);

/// A buffer of the shared receive queue; what lies before the packet says how to post it again.
struct ReceiveBuffer {
  std::uint32_t lkey;
  std::uint32_t reserved;
  std::byte* packet() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

class ReceiveBuffers {
 public:
  /// `per_link`: as many as a peer may have packets under way.
  ReceiveBuffers(ibv_pd* pd, ibv_srq* srq, std::uint32_t packet_bytes, std::uint32_t per_link) noexcept
      : pd_(pd), srq_(srq), packet_bytes_(packet_bytes), per_link_(per_link) {}
  /// Makes and posts more until there are enough for so many links. The connector's thread.
  Result<void> provide_for(std::uint32_t links);
  /// Posts them again, as one piece of work. The worker's thread.
  bool post(ReceiveBuffer* const* buffers, unsigned count) noexcept;
  static constexpr unsigned kBatch = 16;

 private:
  ibv_pd* pd_;
  ibv_srq* srq_;
  std::uint32_t packet_bytes_;
  std::uint32_t per_link_;
  std::vector<Chunk> chunks_;  // of a link each
};

/// Slots for what is sent: taken with the message, free again when its completion, or that of a later one of
/// the same link, was seen.
class SendSlots {
 public:
  static constexpr std::uint32_t kNone = ~0u;
  Result<void> open(ibv_pd* pd, std::uint32_t count, std::uint32_t packet_bytes);
  std::uint32_t take() noexcept {
    if (free_.empty()) return kNone;
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give(std::uint32_t slot) noexcept { free_.push_back(slot); }
  /// Fewer than half are free: from here on each slot asks for its own completion, so that there are always
  /// some under way that come back.
  bool is_low() const noexcept { return free_.size() < count_ / 2; }
  std::byte* at(std::uint32_t slot) const noexcept { return chunk_.front().data() + stride_ * slot; }
  std::uint32_t lkey() const noexcept { return chunk_.front().lkey(); }

 private:
  std::vector<Chunk> chunk_;  // one
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
  std::size_t stride_ = 0;
};

}  // namespace stria::verbs
