#include "transport/tcp/byte_queue.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace stria::tcp {

std::unique_ptr<std::byte[]> BufferPool::take() noexcept {
  if (free_.empty()) return std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[bytes_]);
  auto out = std::move(free_.back());
  free_.pop_back();
  return out;
}

void BufferPool::give(std::unique_ptr<std::byte[]> buffer) noexcept try {
  if (free_.capacity() == 0) free_.reserve(kKept);
  if (free_.size() < kKept) free_.push_back(std::move(buffer));
} catch (const std::bad_alloc&) {
  // The buffer is freed.
}

void ByteQueue::drop(std::size_t bytes) noexcept {
  begin_ += bytes;
  if (begin_ != end_) return;
  begin_ = end_ = 0;
  if (buffer_ != nullptr) pool_.give(std::move(buffer_));
}

std::span<std::byte> ByteQueue::room(std::size_t bytes) noexcept {
  if (buffer_ == nullptr && (buffer_ = pool_.take()) == nullptr) return {};
  if (pool_.bytes() - end_ < bytes && begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  if (pool_.bytes() - end_ < bytes) return {};
  return {buffer_.get() + end_, pool_.bytes() - end_};
}

}  // namespace stria::tcp
