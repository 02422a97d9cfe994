#include "eager/buffer_pool.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace stria::eager {

// The four classes of the doubling that begins at 2^k are 5/4, 6/4, 7/4 and 8/4 of 2^k bytes.
unsigned BufferPool::class_of(std::uint64_t bytes) noexcept {
  const std::uint64_t last = std::max<std::uint64_t>(bytes, (1u << kSmallestLog2) + 1) - 1;
  const auto log2 = static_cast<unsigned>(std::bit_width(last)) - 1;
  return 4 * (log2 - kSmallestLog2) + static_cast<unsigned>(last >> (log2 - 2) & 3);
}

std::uint64_t BufferPool::size_of(unsigned index) noexcept {
  const unsigned log2 = kSmallestLog2 + index / 4;
  return static_cast<std::uint64_t>(5 + index % 4) << (log2 - 2);
}

// glibc puts a word before each allocation, and allocates multiples of 16 bytes, 32 at least.
std::uint64_t BufferPool::footprint_of(unsigned index) noexcept {
  return std::max<std::uint64_t>(32, (size_of(index) + 8 + 15) / 16 * 16);
}

std::uint64_t BufferPool::footprint(std::uint64_t bytes) noexcept {
  return footprint_of(class_of(bytes));
}

BufferPool::~BufferPool() {
  trim();
}

std::byte* BufferPool::acquire(std::uint64_t bytes) noexcept {
  const unsigned index = class_of(bytes);
  const std::uint64_t taken = footprint_of(index);
  void* memory = nullptr;
  if (free_[index] != nullptr) {
    memory = free_[index];
    free_[index] = free_[index]->next;
    cached_ -= taken;
  } else {
    // Free buffers and buffers in use together have to stay within the limit.
    if (cached_ + in_use_ + taken > limit_) trim();
    memory = std::malloc(size_of(index));
    if (memory == nullptr) return nullptr;
  }
  in_use_ += taken;
  if (in_use_ > in_use_max_) in_use_max_ = in_use_;
  return static_cast<std::byte*>(memory);
}

void BufferPool::release(std::byte* buffer, std::uint64_t bytes) noexcept {
  const unsigned index = class_of(bytes);
  const std::uint64_t taken = footprint_of(index);
  in_use_ -= taken;
  auto* entry = reinterpret_cast<Free*>(buffer);
  entry->next = free_[index];
  free_[index] = entry;
  cached_ += taken;
  if (cached_ + in_use_ > limit_) trim();
}

void BufferPool::trim() noexcept {
  if (cached_ == 0) return;
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
