// A queue of copies of messages that arrived and cannot be handled yet. It is needed because one call of
// UCX's progress brings all messages that it finds, and takes the memory of each back when the handler
// returns, while the worker handles only as many messages as its budget allows.
//
// The queue is a list of chunks of memory. Messages are appended to the last chunk; the first chunk is freed
// or used again when all of its messages are gone. The memory of a chunk never moves, so a message stays
// where it is while it is handled, even when more are appended meanwhile.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>

#include "transport/uct/packets.hpp"

namespace stria::uct {

class Stash {
 public:
  struct Message {
    Am id;
    std::span<const std::byte> bytes;
  };
  /// Appends a message of `bytes` bytes and returns the place that the caller fills; null: out of memory.
  std::byte* append(Am id, std::size_t bytes) noexcept;
  bool is_empty() const noexcept { return count_ == 0; }
  std::size_t count() const noexcept { return count_; }
  /// The oldest message. The stash is not empty.
  Message first() const noexcept;
  void drop_first() noexcept;

 private:
  struct Head {
    std::size_t bytes;
    Am id;
  };
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;   // size of memory
    std::size_t filled = 0;  // where the next message is appended
    std::size_t read = 0;    // where the oldest message begins
  };
  static constexpr std::size_t room_for(std::size_t bytes) noexcept {
    return sizeof(Head) + ((bytes + 15) & ~std::size_t{15});
  }
  Chunk make(std::size_t least);

  std::deque<Chunk> chunks_;
  Chunk spare_;  // an empty chunk for the next need; without memory: there is none
  std::size_t count_ = 0;
};

}  // namespace stria::uct
