// Bytes on their way between the system and a link: what came and is not handled, what is to go and had no
// room. The memory is lent by a pool, which all links of a device share, for as long as there is something in
// it: a link that is idle has none.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace stria::tcp {

class BufferPool {
 public:
  explicit BufferPool(std::size_t bytes) noexcept : bytes_(bytes) {}
  std::size_t bytes() const noexcept { return bytes_; }  ///< of one buffer
  /// Null: there is no memory.
  std::unique_ptr<std::byte[]> take() noexcept;
  void give(std::unique_ptr<std::byte[]> buffer) noexcept;

 private:
  static constexpr std::size_t kKept = 16;
  const std::size_t bytes_;
  std::vector<std::unique_ptr<std::byte[]>> free_;
};

class ByteQueue {
 public:
  explicit ByteQueue(BufferPool& pool) noexcept : pool_(pool) {}
  bool is_empty() const noexcept { return begin_ == end_; }
  std::span<const std::byte> held() const noexcept { return {buffer_.get() + begin_, end_ - begin_}; }
  /// The first `bytes` of them are done with.
  void drop(std::size_t bytes) noexcept;
  /// Room for at least `bytes` more behind them, which may move them; empty: there is none.
  std::span<std::byte> room(std::size_t bytes) noexcept;
  /// The first `bytes` of the room are filled.
  void added(std::size_t bytes) noexcept { end_ += bytes; }
  /// Gives the memory back if nothing was added to the room.
  void settle() noexcept { drop(0); }

 private:
  BufferPool& pool_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace stria::tcp
