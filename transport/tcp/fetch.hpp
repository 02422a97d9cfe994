// The receiving half of a bulk connection: pieces come in the order in which they were requested, and are
// read straight into the memory of their gets.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

#include "base/fd.hpp"
#include "transport/tcp/byte_queue.hpp"
#include "transport/tcp/get.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

class Fetch {
 public:
  Fetch(BufferPool& pool, const stria_services_t& services) noexcept : pool_(pool), services_(services) {}

  bool is_empty() const noexcept { return count_ == 0; }
  std::uint64_t outstanding() const noexcept { return outstanding_; }
  /// Another piece may be requested.
  bool has_room() const noexcept {
    return count_ < kPiecesMost && (count_ == 0 || outstanding_ < kOutstanding);
  }
  /// A piece of the get was requested, to be read into `memory`.
  void expect(Get& get, const transport::Payload& memory) noexcept;

  enum class After : std::uint8_t {
    idle,     ///< the system has no more bytes of the peer
    came,     ///< all of the first piece; take() is next
    refused,  ///< the first piece is; take() is next
    ended,    ///< the peer sends no more
    wrong     ///< what it sent makes no sense
  };
  After receive(const UniqueFd& socket) noexcept;
  /// The get of the first piece, which is over.
  Get& take() noexcept;
  /// No memory is touched any more.
  void drop() noexcept { count_ = 0; }

 private:
  struct Piece {
    Get* get = nullptr;
    std::uint32_t length = 0;
    transport::Payload left{};
  };
  /// Bytes of a head that came.
  struct Head {
    std::byte* rest() noexcept { return reinterpret_cast<std::byte*>(&head) + bytes; }
    std::size_t missing() const noexcept { return sizeof head - bytes; }
    PieceHead head;
    std::uint32_t bytes = 0;
  };
  enum class Read : std::uint8_t { full, some, none, ended };
  Read read(const UniqueFd& socket) noexcept;
  Read read_head(const UniqueFd& socket) noexcept;
  Read read_bytes(const UniqueFd& socket) noexcept;
  Read read_packed(const UniqueFd& socket) noexcept;
  static Read outcome(ssize_t bytes, std::size_t asked) noexcept;

  BufferPool& pool_;
  const stria_services_t& services_;
  std::array<Piece, kPiecesMost> pieces_;  // a ring
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t outstanding_ = 0;  // bytes
  Head head_;                      // of the first piece
  Head next_;                      // of the piece behind it
};

}  // namespace stria::tcp
