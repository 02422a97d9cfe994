// Atomics that a CPU performs: finds the word of memory, and changes it. Used by the engine of the region's
// owner, by peers that have the memory mapped, and by the test bed.
#pragma once

#include <cstdint>

#include "transport/payload.hpp"

namespace stria::transport {

inline constexpr std::uint64_t kWordBytes = 8;
static_assert(__atomic_always_lock_free(kWordBytes, nullptr), "atomic between processes, too");

constexpr bool is_atomic_op(std::uint32_t op) noexcept {
  return op == STRIA_ATOMIC_FETCH_ADD || op == STRIA_ATOMIC_COMPARE_SWAP;
}

/// Finds the word at `offset` of the stream of `memory`, which must contain it. invalid: the word's bytes lie
/// apart, or at an address that is no multiple of 8.
inline Status find_word(const Payload& memory, std::uint64_t offset, std::uint64_t*& word) noexcept {
  const Payload bytes = slice(memory, offset, kWordBytes);
  void* at = nullptr;
  if (bytes.layout == nullptr) {
    at = contiguous_begin(bytes);
  } else {
    iovec run{};
    std::int64_t covered = 0;
    datatype::iovecs(range_of(bytes), &run, 1, &covered);
    if (run.iov_len != kWordBytes) return Status::invalid;
    at = run.iov_base;
  }
  if (reinterpret_cast<std::uintptr_t>(at) % kWordBytes != 0) return Status::invalid;
  word = static_cast<std::uint64_t*>(at);
  return Status::ok;
}

/// Performs an atomic on `word`, and returns the word's old value. Sequentially consistent, as an adapter's
/// atomics are with each other.
inline std::uint64_t perform(const Atomic& what, std::uint64_t& word) noexcept {
  if (what.op == STRIA_ATOMIC_FETCH_ADD) return __atomic_fetch_add(&word, what.operand, __ATOMIC_SEQ_CST);
  std::uint64_t before = what.compare;
  __atomic_compare_exchange_n(&word, &before, what.operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return before;
}

}  // namespace stria::transport
