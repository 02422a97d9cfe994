#include "eager/buffer_pool.hpp"

#include <bit>
#include <cstdlib>

namespace stria::eager {

// Class 0 is 32 bytes; the four of the doubling that begins at 2^k are 5/4, 6/4, 7/4 and 8/4 of 2^k.
unsigned BufferPool::class_of(std::uint64_t bytes) noexcept {
  if (bytes <= 1u << kSmallest) return 0;
  const std::uint64_t last = bytes - 1;
  const auto log2 = static_cast<unsigned>(std::bit_width(last)) - 1;
  return 1 + 4 * (log2 - kSmallest) + static_cast<unsigned>(last >> (log2 - 2) & 3);
}

std::uint64_t BufferPool::size_of(unsigned index) noexcept {
  if (index == 0) return 1u << kSmallest;
  const unsigned log2 = kSmallest + (index - 1) / 4;
  return static_cast<std::uint64_t>(5 + (index - 1) % 4) << (log2 - 2);
}

BufferPool::~BufferPool() {
  trim();
}

std::byte* BufferPool::take(std::uint64_t bytes) noexcept {
  const unsigned index = class_of(bytes);
  const std::uint64_t size = size_of(index);
  void* memory = nullptr;
  if (free_[index] != nullptr) {
    memory = free_[index];
    free_[index] = free_[index]->next;
    cached_ -= size;
  } else {
    memory = std::malloc(size);
    if (memory == nullptr) return nullptr;
  }
  in_use_ += size;
  if (in_use_ > in_use_max_) in_use_max_ = in_use_;
  return static_cast<std::byte*>(memory);
}

void BufferPool::give(std::byte* buffer, std::uint64_t bytes) noexcept {
  const unsigned index = class_of(bytes);
  const std::uint64_t size = size_of(index);
  in_use_ -= size;
  auto* entry = reinterpret_cast<Free*>(buffer);
  entry->next = free_[index];
  free_[index] = entry;
  cached_ += size;
  if (cached_ + in_use_ > cache_limit_) trim();
}

void BufferPool::trim() noexcept {
  for (Free*& list : free_) {
    while (list != nullptr) {
      Free* entry = list;
      list = entry->next;
      std::free(entry);
    }
  }
  cached_ = 0;
}

}  // namespace stria::eager
