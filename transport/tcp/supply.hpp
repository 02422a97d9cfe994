// The sending half of a bulk connection: pieces that the peer has requested go straight out of the memory
// behind their keys, in the order of the requests. What the system has no room for is left to the kernel,
// where there is a KernelQueue.
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
  /// `lane`: the token of the bulk connection. `queue`: null, or what the kernel is asked by.
  Supply(BufferPool& pool, const stria_services_t& services, Token lane, KernelQueue* queue) noexcept
      : Operation(lane), pool_(pool), services_(services), queue_(queue) {}
  Supply(const Supply&) = delete;
  Supply& operator=(const Supply&) = delete;
  ~Supply() override { drop(); }

  /// A piece out of `memory`, whose key is `key`; or the answer that it is refused. False: the peer has
  /// requested more than it may.
  bool add(Keys& keys, const KeyName& key, const transport::Payload& memory) noexcept;
  bool refuse(std::uint32_t length) noexcept;
  bool is_empty() const noexcept { return count_ == 0; }
  /// Sends what there is. OK: all of it, or the kernel goes on with it, or the peer has to answer first.
  /// NO_RESOURCE: the system has no room. PEER_FAILED: the connection has ended. IO_ERROR: the memory cannot
  /// be read.
  Status send(const UniqueFd& socket) noexcept;
  /// The peer has heard that a piece is refused. False: none was.
  bool resume() noexcept { return std::exchange(is_paused_, false); }
  /// All pieces are forgotten, and the next one goes over another connection. No memory is touched any more.
  void drop() noexcept;

 private:
  struct Piece final : Access {
    void key_ends() noexcept override;
    void sent(std::size_t bytes) noexcept;
    std::size_t left() const noexcept { return head_left + static_cast<std::size_t>(memory.length); }

    Supply* owner = nullptr;
    PieceHead head;
    std::uint32_t head_left = 0;  ///< bytes of the head that are not sent yet
    bool is_lost = false;         ///< the key ended, and there was no memory for what is left
    transport::Payload memory{};  ///< what is left
    std::unique_ptr<std::byte[]> copy;
    msghdr header{};  ///< for the kernel
  };
  class Plan;
  Piece& at(std::uint32_t place) noexcept { return pieces_[(first_ + place) % kRoom]; }
  Piece* append() noexcept;
  void pop() noexcept;
  bool packs(const Piece& piece) const noexcept;
  std::size_t describe(Piece& piece, std::int64_t most, iovec* runs, std::int64_t& covered) const noexcept;
  Status send(const UniqueFd& socket, Piece& piece) noexcept;
  bool hand_over(const UniqueFd& socket) noexcept;
  void over(int result) noexcept override;
  void update() noexcept;
  void take_back() noexcept;

  /// A peer requests no more than kPiecesMost, but it may have read what the kernel has not told of yet.
  static constexpr std::uint32_t kRoom = kPiecesMost + kPiecesOfKernel;
  BufferPool& pool_;
  const stria_services_t& services_;
  KernelQueue* const queue_;
  std::array<Piece, kRoom> pieces_;  // a ring
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t sending_ = 0;  // how many pieces the kernel has sent, of those that are there
  bool is_broken_ = false;
  bool is_wrong_ = false;
  bool is_paused_ = false;
};

}  // namespace stria::tcp
