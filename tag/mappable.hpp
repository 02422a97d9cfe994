// Mappable: where memory of stria_mem_alloc() has been in this process, as one range from the lowest address
// to the highest, so that the test of a message costs two comparisons. Other memory may lie within the range;
// it is then taken for mapped memory, and little is lost.
#pragma once

#include <atomic>
#include <cstdint>

#include "datatype/address.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

class Mappable {
 public:
  /// Adds memory that was allocated. Any thread, before the memory is handed out.
  static void add(const void* begin, std::uint64_t bytes) noexcept {
    const auto low = reinterpret_cast<std::uintptr_t>(begin);
    for (auto at = low_.load(std::memory_order_relaxed); low < at;)
      if (low_.compare_exchange_weak(at, low, std::memory_order_relaxed)) break;
    for (auto at = high_.load(std::memory_order_relaxed); low + bytes > at;)
      if (high_.compare_exchange_weak(at, low + bytes, std::memory_order_relaxed)) break;
  }
  /// Whether the memory may be of stria_mem_alloc().
  static bool has(const transport::Payload& memory) noexcept {
    const std::uintptr_t first = first_byte(memory);
    return first >= low_.load(std::memory_order_relaxed) && first < high_.load(std::memory_order_relaxed);
  }

 private:
  static std::uintptr_t first_byte(const transport::Payload& memory) noexcept {
    const auto* layout = transport::layout_of(memory);
    return datatype::moved(datatype::address_of(memory.base),
                           layout != nullptr ? layout->true_lb() : memory.offset);
  }
  static inline std::atomic<std::uintptr_t> low_{UINTPTR_MAX}, high_{0};
};

}  // namespace stria::tag
