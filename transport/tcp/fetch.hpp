// The receiving half of a bulk connection: pieces come in the order in which they were requested, and are
// read straight into the memory of their gets. What has not come yet is left to the kernel, where there is a
// KernelQueue.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

#include "base/fd.hpp"
#include "transport/tcp/byte_queue.hpp"
#include "transport/tcp/get.hpp"
#include "transport/tcp/kernel_queue.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

class Fetch final : KernelQueue::Operation {
 public:
  /// `lane`: the token of the bulk connection. `queue`: null, or what the kernel is asked by.
  Fetch(BufferPool& pool, const stria_services_t& services, Token lane, KernelQueue* queue) noexcept
      : Operation(lane), pool_(pool), services_(services), queue_(queue) {}

  bool is_empty() const noexcept { return count_ == 0; }
  /// Bytes that were requested and did not come yet.
  std::uint64_t outstanding() const noexcept { return outstanding_; }
  /// Some byte has come since the connection began.
  bool has_received() const noexcept { return has_received_; }
  /// Another piece may be requested.
  bool has_room() const noexcept {
    return count_ < kPiecesMost && (count_ == 0 || outstanding_ < kOutstanding);
  }
  /// A piece was requested.
  void expect(const Part& part) noexcept;

  enum class After : std::uint8_t {
    idle,     ///< the system has no more bytes of the peer, or the kernel goes on by itself
    came,     ///< all of the first piece; take() is next
    refused,  ///< the first piece is, and the peer waits for Resume; take() is next
    ended,    ///< the connection has ended, or was reset
    wrong     ///< what it sent makes no sense, or cannot be written to its place
  };
  After receive(const UniqueFd& socket) noexcept;
  /// The get of the first piece, which is over.
  Get& take() noexcept;
  /// The kernel touches no memory any more. Pieces that have come meanwhile are there for receive(), which
  /// says that the connection has ended behind them.
  void stop() noexcept;
  /// What of the first piece has not come. Behind stop().
  Part give_back() noexcept;
  /// All pieces are forgotten, and the next one comes over another connection. No memory is touched any more.
  void drop() noexcept;

 private:
  struct Piece {
    std::byte* rest_of_head() noexcept { return reinterpret_cast<std::byte*>(&head) + head_bytes; }
    std::size_t missing_of_head() const noexcept { return sizeof head - head_bytes; }

    Get* get = nullptr;
    std::uint64_t offset = 0;  ///< of the piece in the stream behind the key
    std::uint32_t length = 0;
    std::uint32_t head_bytes = 0;  ///< that came
    PieceHead head;
    transport::Payload left{};
    msghdr header{};  ///< for the kernel
  };
  class Plan;
  enum class Read : std::uint8_t { full, some, none, ended, wrong };
  Piece& at(std::uint32_t place) noexcept { return pieces_[(first_ + place) % kPiecesMost]; }
  After first_piece() noexcept;
  Read read(const UniqueFd& socket) noexcept;
  Read read_head(const UniqueFd& socket, Piece& piece) noexcept;
  Read read_bytes(const UniqueFd& socket, Piece& piece) noexcept;
  Read read_packed(const UniqueFd& socket, Piece& piece) noexcept;
  static Read outcome(ssize_t bytes, std::size_t asked) noexcept;
  bool unpacks(const Piece& piece) const noexcept;
  void came(Piece& piece, std::int64_t bytes) noexcept;
  void hand_over(const UniqueFd& socket) noexcept;
  void over(int result) noexcept override;

  BufferPool& pool_;
  const stria_services_t& services_;
  KernelQueue* const queue_;
  std::array<Piece, kPiecesMost> pieces_;  // a ring
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t filling_ = 0;  // how many pieces the kernel has filled, of those that are there
  std::uint64_t outstanding_ = 0;
  bool has_received_ = false;
  bool is_broken_ = false;
  bool is_wrong_ = false;
};

}  // namespace stria::tcp
