// The word of memory that an atomic is for, and what a CPU does to it: the same for the owner's engine, for a
// peer that has the memory mapped, and for the test bed.
#pragma once

#include <cstdint>

#include "transport/payload.hpp"

namespace stria::transport {

inline constexpr std::uint64_t kWordBytes = 8;
static_assert(__atomic_always_lock_free(kWordBytes, nullptr), "atomic between processes, too");

constexpr bool is_atomic_op(std::uint32_t op) noexcept {
  return op == STRIA_ATOMIC_FETCH_ADD || op == STRIA_ATOMIC_COMPARE_SWAP;
}

/// The word at `offset`, which lies in the stream of `memory`. invalid: its bytes lie apart, or at an address
/// that is no multiple of 8.
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

/// What the word was before. Sequentially consistent, as the adapters' are with each other.
inline std::uint64_t perform(const Atomic& what, std::uint64_t& word) noexcept {
  if (what.op == STRIA_ATOMIC_FETCH_ADD) return __atomic_fetch_add(&word, what.operand, __ATOMIC_SEQ_CST);
  std::uint64_t before = what.compare;
  __atomic_compare_exchange_n(&word, &before, what.operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return before;
}

}  // namespace stria::transport
