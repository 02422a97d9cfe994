// Messages that came and cannot be handled yet, in their order. UCX calls its handler for all that one look
// at the network found, and takes the memory back when the handler returns; the worker takes as many as its
// budget allows.
//
// A row of chunks: messages are appended to the last one, and the first one is given back when all of its
// messages are gone. A chunk never moves, so a message stays where it is while it is handled, also when more
// are appended meanwhile.
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
  /// Room for a message at the end; null: there is no memory.
  std::byte* append(Am id, std::size_t bytes) noexcept;
  bool is_empty() const noexcept { return count_ == 0; }
  std::size_t count() const noexcept { return count_; }
  /// Of one that is not empty.
  Message first() const noexcept;
  void drop_first() noexcept;

 private:
  struct Head {
    std::size_t bytes;
    Am id;
  };
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
    std::size_t filled = 0;
    std::size_t read = 0;
  };
  static constexpr std::size_t room_for(std::size_t bytes) noexcept {
    return sizeof(Head) + ((bytes + 15) & ~std::size_t{15});
  }
  Chunk make(std::size_t least);

  std::deque<Chunk> chunks_;
  Chunk spare_;
  std::size_t count_ = 0;
};

}  // namespace stria::uct
