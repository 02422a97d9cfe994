// Buffers for bytes between the system and a link: those that have come and are not handled, and those that
// are to be sent and had no room. A pool that all links of a device share lends the memory, for as long as
// there are bytes in it: an idle link has none.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace stria::tcp {

class BufferPool {
 public:
  explicit BufferPool(std::size_t bytes) noexcept : bytes_(bytes) {}
  std::size_t bytes() const noexcept { return bytes_; }  ///< size of one buffer
  /// Lends a buffer. Null: there is no memory.
  std::unique_ptr<std::byte[]> take() noexcept;
  /// Takes a buffer back, for the next take().
  void give(std::unique_ptr<std::byte[]> buffer) noexcept;

 private:
  static constexpr std::size_t kKept = 16;  // free buffers; more are freed
  const std::size_t bytes_;
  std::vector<std::unique_ptr<std::byte[]>> free_;
};

class ByteQueue {
 public:
  explicit ByteQueue(BufferPool& pool) noexcept : pool_(pool) {}
  bool is_empty() const noexcept { return begin_ == end_; }
  std::span<const std::byte> held() const noexcept { return {buffer_.get() + begin_, end_ - begin_}; }
  /// Removes the first `bytes` bytes. Gives the buffer back when none is left.
  void drop(std::size_t bytes) noexcept;
  /// Room for at least `bytes` more bytes behind those that are held, which may move for it. Empty: there is
  /// none.
  std::span<std::byte> room(std::size_t bytes) noexcept;
  /// Adds the first `bytes` bytes of the room to those that are held.
  void added(std::size_t bytes) noexcept { end_ += bytes; }
  /// Gives the buffer back if it holds nothing.
  void settle() noexcept { drop(0); }

 private:
  BufferPool& pool_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace stria::tcp
