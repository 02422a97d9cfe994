// The receiving half of a bulk connection. Pieces come in the order in which they were requested, and are
// read straight into the memory of their gets. Bytes that have not come yet are left to the kernel to read,
// where there is a KernelQueue.
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
  /// `lane`: the link's token with kBulkBit. `queue`: the device's kernel queue, or null.
  Fetch(BufferPool& pool, const stria_services_t& services, Token lane, KernelQueue* queue) noexcept
      : Operation(lane), pool_(pool), services_(services), queue_(queue) {}

  bool is_empty() const noexcept { return count_ == 0; }
  /// Bytes that were requested and have not come.
  std::uint64_t outstanding() const noexcept { return outstanding_; }
  /// Whether a byte has come over the present connection.
  bool has_received() const noexcept { return has_received_; }
  /// Whether another piece may be requested.
  bool has_room() const noexcept {
    return count_ < kPiecesMost && (count_ == 0 || outstanding_ < kOutstanding);
  }
  /// Notes that a piece was requested.
  void expect(const Part& part) noexcept;

  enum class After : std::uint8_t {
    idle,     ///< the system has no more bytes of the peer, or the kernel goes on by itself
    came,     ///< all of the first piece has come; take() is next
    refused,  ///< the first piece is refused, and the peer waits for Resume; take() is next
    ended,    ///< the connection has ended, or was reset
    wrong     ///< what the peer sent makes no sense, or cannot be written to its place
  };
  /// Reads what has come, at most to the end of the first piece.
  After receive(const UniqueFd& socket) noexcept;
  /// Removes the first piece, which has come or was refused. Returns its get.
  Get& take() noexcept;
  /// Stops the kernel, which touches no memory any more on return. receive() then gives the pieces that have
  /// come, and behind them says that the connection has ended.
  void stop() noexcept;
  /// Removes the first piece. Returns the part of it that has not come. Only after stop().
  Part give_back() noexcept;
  /// Forgets all pieces: the next one comes over another connection. No memory is touched any more on return.
  void drop() noexcept;

 private:
  struct Piece {
    std::byte* rest_of_head() noexcept { return reinterpret_cast<std::byte*>(&head) + head_bytes; }
    std::size_t missing_of_head() const noexcept { return sizeof head - head_bytes; }

    Get* get = nullptr;
    std::uint64_t offset = 0;  ///< of the piece in the stream of the key's memory
    std::uint32_t length = 0;
    std::uint32_t head_bytes = 0;  ///< bytes of the head that have come
    PieceHead head;
    transport::Payload left{};  ///< memory for the bytes that have not come
    msghdr header{};            ///< for the kernel, while it reads the piece
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
  void step_has_ended(int result) noexcept override;

  BufferPool& pool_;
  const stria_services_t& services_;
  KernelQueue* const queue_;
  std::array<Piece, kPiecesMost> pieces_;  // a ring, from first_ on
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t filling_ = 0;  // the piece that the kernel is filling, counted from the first one
  std::uint64_t outstanding_ = 0;
  bool has_received_ = false;
  bool is_broken_ = false;  // the connection has ended, or stop() was called
  bool is_wrong_ = false;
};

}  // namespace stria::tcp
