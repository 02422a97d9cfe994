// The sending half of a bulk connection. Pieces that the peer has requested are sent straight out of the
// memory behind their keys, in the order of the requests. Bytes that the system has no room for are left to
// the kernel to send, where there is a KernelQueue.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/fd.hpp"
#include "transport/tcp/byte_queue.hpp"
#include "transport/tcp/kernel_queue.hpp"
#include "transport/tcp/keys.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

class Supply final : KernelQueue::Operation {
 public:
  /// `lane`: the link's token with kBulkBit. `queue`: the device's kernel queue, or null.
  Supply(BufferPool& pool, const stria_services_t& services, Token lane, KernelQueue* queue) noexcept
      : Operation(lane), pool_(pool), services_(services), queue_(queue) {}
  Supply(const Supply&) = delete;
  Supply& operator=(const Supply&) = delete;
  ~Supply() override { drop(); }

  /// Adds a piece out of `memory`, whose key is `key`. False: the peer has requested more pieces than it may.
  bool add(Keys& keys, const KeyName& key, const transport::Payload& memory) noexcept;
  /// Adds the answer that a piece of `length` bytes is refused. False: the peer has requested more pieces
  /// than it may.
  bool refuse(std::uint32_t length) noexcept;
  bool is_empty() const noexcept { return count_ == 0; }
  /// Sends as much as possible. OK: everything is sent, or the kernel goes on with it, or the peer has to
  /// answer a refusal first. NO_RESOURCE: the system has no room. PEER_FAILED: the connection has ended, or
  /// has to. IO_ERROR: the memory cannot be read.
  Status send(const UniqueFd& socket) noexcept;
  /// Goes on behind a refused piece, because the peer has read the refusal. False: no piece was refused.
  bool resume() noexcept { return std::exchange(is_paused_, false); }
  /// Forgets all pieces: the next one goes over another connection. No memory is touched any more on return.
  void drop() noexcept;

 private:
  struct Piece final : Access {
    void key_ends() noexcept override;
    /// Counts bytes of the head, and then of the memory, as sent.
    void sent(std::size_t bytes) noexcept;
    std::size_t left() const noexcept { return head_left + static_cast<std::size_t>(memory.length); }

    Supply* owner = nullptr;
    PieceHead head;
    std::uint32_t head_left = 0;        ///< bytes of the head that are not sent yet
    bool is_lost = false;               ///< the key ended, and there was no memory for what is left
    transport::Payload memory{};        ///< memory of the bytes that are not sent yet
    std::unique_ptr<std::byte[]> copy;  ///< those bytes, after the key has ended
    msghdr header{};                    ///< for the kernel, while it sends the piece
  };
  class Plan;
  Piece& at(std::uint32_t place) noexcept { return pieces_[(first_ + place) % kRoom]; }
  Piece* append() noexcept;
  void pop() noexcept;
  bool packs(const Piece& piece) const noexcept;
  std::size_t describe(Piece& piece, std::int64_t most, iovec* runs, std::int64_t& covered) const noexcept;
  Status send(const UniqueFd& socket, Piece& piece) noexcept;
  bool hand_over(const UniqueFd& socket) noexcept;
  void step_has_ended(int result) noexcept override;
  void update() noexcept;
  void take_back() noexcept;

  /// Most pieces. A peer requests no more than kPiecesMost, but it may have read pieces of which the kernel
  /// has not said yet that they are sent.
  static constexpr std::uint32_t kRoom = kPiecesMost + kPiecesOfKernel;
  BufferPool& pool_;
  const stria_services_t& services_;
  KernelQueue* const queue_;
  std::array<Piece, kRoom> pieces_;  // a ring, from first_ on
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t sending_ = 0;  // the piece that the kernel is sending, counted from the first one
  bool is_broken_ = false;     // the kernel has found that it can send no more
  bool is_wrong_ = false;      // the kernel could not read the memory
  bool is_paused_ = false;     // a piece was refused, and the peer's Resume has not come
};

}  // namespace stria::tcp
