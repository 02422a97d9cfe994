#include "eager/buffer_pool.hpp"

#include <bit>
#include <cstdlib>

namespace stria::eager {

unsigned BufferPool::class_of(std::uint64_t bytes) noexcept {
  const unsigned log2 = bytes <= 1 ? 0 : static_cast<unsigned>(std::bit_width(bytes - 1));
  return log2 < kSmallest ? 0 : log2 - kSmallest;
}

BufferPool::~BufferPool() {
  trim();
}

std::byte* BufferPool::take(std::uint64_t bytes) noexcept {
  const unsigned index = class_of(bytes);
  const std::uint64_t size = 1ull << (index + kSmallest);
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
  const std::uint64_t size = 1ull << (index + kSmallest);
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
