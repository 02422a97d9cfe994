// StoredKey: the provider keys of an operation. Short keys, as those of paths inside one host and of verbs
// are, lie in the operation itself; longer ones lie in a block of the engine's KeyPool, so that operations
// keep their size. Behind the sender's key there may be the receiver's, for a message that both sides copy
// (share.cpp).
//
//   both fit      | bytes | the sender's key | the receiver's |          36 bytes
//   they do not   | bytes | address of a block | … |    block: | the sender's key | the receiver's |
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "transport/contract.hpp"
#include "transport/key.hpp"

namespace stria::rndv {

/// Blocks for two keys each. Allocates when more blocks are in use than ever before, so never where keys are
/// short.
class KeyPool {
 public:
  union Block {
    std::uint8_t data[std::size_t{2} * STRIA_PROVIDER_KEY_MAX];
    Block* next;  ///< the next free block
  };
  KeyPool() = default;
  KeyPool(const KeyPool&) = delete;
  KeyPool& operator=(const KeyPool&) = delete;

  /// A free block; null when memory is out.
  Block* take() noexcept {
    Block* const block = free_;
    if (block != nullptr) {
      free_ = block->next;
      return block;
    }
    try {
      return all_.emplace_back(std::make_unique<Block>()).get();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  void give(Block* block) noexcept {
    block->next = free_;
    free_ = block;
  }
  /// How many blocks there are: as many as were ever in use at a time.
  std::size_t size() const noexcept { return all_.size(); }

 private:
  std::vector<std::unique_ptr<Block>> all_;
  Block* free_ = nullptr;
};

class StoredKey {
 public:
  static constexpr std::uint32_t kInside = 36;

  StoredKey() noexcept = default;
  StoredKey(const StoredKey&) = delete;
  StoredKey& operator=(const StoredKey&) = delete;

  std::uint32_t bytes() const noexcept { return bytes_; }
  bool is_outside() const noexcept { return outside_; }
  /// Stores the sender's key; no key may be stored yet. False: no memory, and nothing is stored.
  [[nodiscard]] bool set(KeyPool& pool, const transport::Key& key) noexcept {
    if (key.bytes > kInside && !move_out(pool)) [[unlikely]]
      return false;
    bytes_ = static_cast<std::uint8_t>(key.bytes);
    transport::copy_key_bytes(data(), key);
    return true;
  }
  void copy_to(transport::Key& key) const noexcept {
    key.bytes = bytes_;
    copy_bytes_to(key.data);
  }
  void copy_bytes_to(void* to) const noexcept {
    struct {
      std::uint32_t bytes;
      const std::uint8_t* data;
    } const from{bytes_, data()};
    transport::copy_key_bytes(to, from);
  }
  /// Stores the receiver's key, over an earlier one. False: no memory, and nothing changed.
  [[nodiscard]] bool set_second(KeyPool& pool, const void* key, std::uint32_t bytes) noexcept {
    if (bytes_ + bytes > kInside && !outside_ && !move_out(pool)) [[unlikely]]
      return false;
    std::memcpy(data() + bytes_, key, bytes);
    return true;
  }
  /// The receiver's key, which has `bytes` bytes.
  transport::Key second(std::uint32_t bytes) const noexcept {
    transport::Key key;
    key.bytes = bytes;
    std::memcpy(key.data, data() + bytes_, bytes);
    return key;
  }
  /// Forgets both keys, the sender's and the receiver's.
  void clear(KeyPool& pool) noexcept {
    bytes_ = 0;
    if (outside_) [[unlikely]]
      pool.give(block());
    outside_ = false;
  }

 private:
  static_assert(STRIA_PROVIDER_KEY_MAX < 256);
  static constexpr std::size_t kAddressBytes = sizeof(std::uintptr_t);
  KeyPool::Block* block() const noexcept {
    KeyPool::Block* block = nullptr;
    std::memcpy(&block, data_, kAddressBytes);
    return block;
  }
  const std::uint8_t* data() const noexcept { return outside_ ? block()->data : data_; }
  std::uint8_t* data() noexcept { return outside_ ? block()->data : data_; }
  [[gnu::cold, gnu::noinline]] bool move_out(KeyPool& pool) noexcept {
    KeyPool::Block* const block = pool.take();
    if (block == nullptr) return false;
    std::memcpy(block->data, data_, bytes_);
    std::memcpy(data_, &block, kAddressBytes);
    outside_ = true;
    return true;
  }

  std::uint8_t bytes_ = 0;  // length of the sender's key; 0: none
  bool outside_ = false;    // the keys lie in a block
  alignas(4) std::uint8_t data_[kInside];
};
static_assert(sizeof(StoredKey) == 40);

}  // namespace stria::rndv
