// The fake's key table: what hardware would check before it touches memory. A key is a 32-bit word (24-bit
// slot index, 8-bit consumer key), the bits that engines read, the device it belongs to, and a serial number
// that catches what eight bits would let through.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "transport/contract.hpp"

namespace stria::fake {

/// Under the fabric's lock.
class KeyTable {
 public:
  /// Keys have `key_bytes` bytes, 16 to STRIA_PROVIDER_KEY_MAX; all of them are looked at.
  KeyTable(std::uint32_t device, std::uint32_t max_keys, std::uint32_t key_bytes) noexcept
      : device_(device), max_keys_(max_keys), key_bytes_(key_bytes) {}

  /// no_resource when max_keys are valid. `is_mapped`: of memory that peers map.
  Status add(const transport::Payload& memory, unsigned access, bool is_mapped, transport::Key& key);
  /// access_error for a key that is not valid.
  Status remove(const transport::Key& key) noexcept;
  /// The registered stream range [offset, offset + length), if the key gives `access` to it.
  std::optional<transport::Payload> find(const transport::Key& key, unsigned access, std::uint64_t offset,
                                         std::uint64_t length) noexcept;
  /// Whether the bytes are a key of this table, valid or not.
  bool names_this_table(const transport::Key& key) const noexcept;
  std::size_t valid() const noexcept { return valid_; }

 private:
  struct Slot {
    transport::Payload memory{};
    std::uint64_t serial = 0;
    unsigned access = 0;
    std::uint8_t consumer_key = 0;
    bool valid = false;
  };
  Slot* slot_of(const transport::Key& key) noexcept;

  std::uint32_t device_;
  std::uint32_t max_keys_;
  std::uint32_t key_bytes_;
  std::size_t valid_ = 0;
  std::uint64_t next_serial_ = 1;
  std::vector<Slot> slots_;
  std::deque<std::uint32_t> free_;  // oldest first, so that a consumer key comes round as late as possible
};

}  // namespace stria::fake
