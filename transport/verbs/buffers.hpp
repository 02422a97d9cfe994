// Registered memory for packets: buffers that are posted to the shared receive queue, and slots that messages
// are packed into before they are sent. Buffers and slots are cut from chunks, each registered once.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "transport/verbs/packets.hpp"

namespace stria::verbs {

/// A piece of the provider's own memory, registered with the adapter.
class Chunk {
 public:
  Chunk() = default;
  Chunk(Chunk&& other) noexcept;
  Chunk& operator=(Chunk&&) = delete;
  ~Chunk();
  /// Errors name the limit of locked memory where it may be the reason.
  static Result<Chunk> make(ibv_pd* pd, std::size_t bytes);
  std::byte* data() const noexcept { return data_; }
  std::uint32_t lkey() const noexcept { return region_->lkey; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  ibv_mr* region_ = nullptr;
};

/// For the text of a registration that failed with errno `error`: names the limit of locked memory
/// (RLIMIT_MEMLOCK) and how to raise it, when the limit may be the reason; else "".
std::string locked_memory_hint(int error);

/// A buffer of the shared receive queue. This head lies before the packet, and holds what is needed to post
/// the buffer again.
struct ReceiveBuffer {
  std::uint32_t lkey;
  std::uint32_t reserved;
  std::byte* packet() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

class ReceiveBuffers {
 public:
  /// `per_link`: how many packets a peer may have under way to this device.
  ReceiveBuffers(ibv_pd* pd, ibv_srq* srq, std::uint32_t packet_bytes, std::uint32_t per_link) noexcept
      : pd_(pd), srq_(srq), packet_bytes_(packet_bytes), per_link_(per_link) {}
  /// Makes and posts buffers until there are enough for `links` links. The connector's thread.
  Result<void> provide_for(std::uint32_t links);
  /// Posts up to kBatch buffers by one call. The worker's thread posts used buffers again with this function,
  /// and provide_for() posts new ones.
  bool post(ReceiveBuffer* const* buffers, unsigned count) noexcept;
  static constexpr unsigned kBatch = 16;

 private:
  ibv_pd* pd_;
  ibv_srq* srq_;
  std::uint32_t packet_bytes_;
  std::uint32_t per_link_;
  std::vector<Chunk> chunks_;  // each has the buffers for one link
};

/// A pool of registered slots of one size, for what work requests send or, with atomics, bring back. A slot
/// is taken when the request is posted, and given back when its completion, or that of a later request of the
/// same link, was seen. The worker's thread.
class SendSlots {
 public:
  static constexpr std::uint32_t kNone = ~0u;
  Result<void> open(ibv_pd* pd, std::uint32_t count, std::uint32_t packet_bytes);
  /// A free slot; kNone when all are in use.
  std::uint32_t take() noexcept {
    if (free_.empty()) return kNone;
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give(std::uint32_t slot) noexcept { free_.push_back(slot); }
  /// Whether fewer than half of the slots are free. Then each request that takes a slot asks for a completion
  /// of its own, so that slots keep coming back.
  bool is_low() const noexcept { return free_.size() < count_ / 2; }
  std::byte* at(std::uint32_t slot) const noexcept { return chunk_.front().data() + stride_ * slot; }
  std::uint32_t lkey() const noexcept { return chunk_.front().lkey(); }

 private:
  std::vector<Chunk> chunk_;  // one chunk after open()
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
  std::size_t stride_ = 0;
};

}  // namespace stria::verbs
