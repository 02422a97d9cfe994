// StoredKey: the provider keys of an operation. Short keys, as those of paths inside one host and of verbs
// are, lie in the operation itself; longer ones lie in a block of the engine's KeyPool, so that operations
// keep their size. Behind the sender's key there may be the receiver's, for a message that both sides copy
// (mapped_both.cpp).
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
  Block* acquire() noexcept {
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
  void release(Block* block) noexcept {
    block->next = free_;
    free_ = block;
  }
  /// How many blocks there are: as many as were ever in use at a time.
  std::size_t size() const noexcept { return all_.size(); }

 private:
  std::vector<std::unique_ptr<Block>> all_;
  Block* free_ = nullptr;
};

/// The keys of one operation.
class StoredKey {
 public:
  /// Most bytes of both keys together that lie in the operation itself.
  static constexpr std::uint32_t kInlineBytes = 36;

  StoredKey() noexcept = default;
  StoredKey(const StoredKey&) = delete;
  StoredKey& operator=(const StoredKey&) = delete;

  std::uint32_t bytes() const noexcept { return bytes_; }
  /// Whether the keys lie in a block of the pool, which clear() gives back.
  bool uses_block() const noexcept { return in_block_; }
  /// Stores the sender's key; no key may be stored yet. False: no memory, and nothing is stored.
  [[nodiscard]] bool set(KeyPool& pool, const transport::Key& key) noexcept {
    if (key.bytes > kInlineBytes && !move_to_block(pool)) [[unlikely]]
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
  [[nodiscard]] bool set_sink_key(KeyPool& pool, const void* key, std::uint32_t bytes) noexcept {
    if (bytes_ + bytes > kInlineBytes && !in_block_ && !move_to_block(pool)) [[unlikely]]
      return false;
    std::memcpy(data() + bytes_, key, bytes);
    return true;
  }
  /// The receiver's key, which has `bytes` bytes.
  transport::Key sink_key(std::uint32_t bytes) const noexcept {
    transport::Key key;
    key.bytes = bytes;
    std::memcpy(key.data, data() + bytes_, bytes);
    return key;
  }
  /// Forgets both keys, the sender's and the receiver's.
  void clear(KeyPool& pool) noexcept {
    bytes_ = 0;
    if (in_block_) [[unlikely]]
      pool.release(block());
    in_block_ = false;
  }

 private:
  static_assert(STRIA_PROVIDER_KEY_MAX < 256);
  static constexpr std::size_t kAddressBytes = sizeof(std::uintptr_t);
  KeyPool::Block* block() const noexcept {
    KeyPool::Block* block = nullptr;
    std::memcpy(&block, data_, kAddressBytes);
    return block;
  }
  const std::uint8_t* data() const noexcept { return in_block_ ? block()->data : data_; }
  std::uint8_t* data() noexcept { return in_block_ ? block()->data : data_; }
  /// Moves the keys to a block of the pool. False: no memory.
  [[gnu::cold, gnu::noinline]] bool move_to_block(KeyPool& pool) noexcept {
    KeyPool::Block* const block = pool.acquire();
    if (block == nullptr) return false;
    std::memcpy(block->data, data_, bytes_);
    std::memcpy(data_, &block, kAddressBytes);
    in_block_ = true;
    return true;
  }

  std::uint8_t bytes_ = 0;  // length of the sender's key; 0: none
  bool in_block_ = false;   // the keys lie in a block
  alignas(4) std::uint8_t data_[kInlineBytes];
};
static_assert(sizeof(StoredKey) == 40);

}  // namespace stria::rndv
