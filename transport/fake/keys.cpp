#include "transport/fake/keys.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

#include "base/assert.hpp"

namespace stria::fake {
namespace {

struct KeyData {
  std::uint32_t word;             // index << 8 | consumer key
  std::uint32_t flags_of_device;  // STRIA_KEY_* bits | device << 8
  std::uint64_t serial;
};
static_assert(offsetof(KeyData, flags_of_device) == STRIA_KEY_FLAGS_AT &&
              std::endian::native == std::endian::little);
constexpr std::uint32_t kMostDevicesOfProcess = 1u << 24;
static_assert(sizeof(KeyData) == 16);

/// What stands behind the data of a longer key.
std::uint8_t filler(const KeyData& data, std::uint32_t at) noexcept {
  return static_cast<std::uint8_t>(data.serial * 31 + at);
}

std::optional<KeyData> read(const transport::Key& key, std::uint32_t key_bytes) noexcept {
  KeyData data{};
  if (key.bytes != key_bytes) return std::nullopt;
  std::memcpy(&data, key.data, sizeof data);
  for (std::uint32_t i = sizeof data; i < key_bytes; ++i)
    if (key.data[i] != filler(data, i)) return std::nullopt;
  return data;
}

std::uint64_t stream_bytes(const transport::Payload& memory) noexcept {
  const datatype::Layout* layout = transport::layout_of(memory);
  return static_cast<std::uint64_t>(layout == nullptr ? memory.count : layout->size() * memory.count);
}

}  // namespace

Status KeyTable::add(const transport::Payload& memory, unsigned access, bool is_mapped, transport::Key& key) {
  STRIA_CHECK(device_ < kMostDevicesOfProcess, "a device has a number that keys can hold");
  std::uint32_t index = 0;
  if (slots_.size() < max_keys_) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else if (!free_.empty()) {
    index = free_.front();
    free_.pop_front();
  } else {
    return Status::no_resource;
  }
  Slot& slot = slots_[index];
  ++slot.consumer_key;
  slot.memory = memory;
  slot.access = access;
  slot.serial = next_serial_++;
  slot.valid = true;
  ++valid_;
  const KeyData data{index << 8 | slot.consumer_key, device_ << 8 | (is_mapped ? STRIA_KEY_MAPPED : 0u),
                     slot.serial};
  key = {};
  key.bytes = key_bytes_;
  std::memcpy(key.data, &data, sizeof data);
  for (std::uint32_t i = sizeof data; i < key_bytes_; ++i) key.data[i] = filler(data, i);
  return Status::ok;
}

KeyTable::Slot* KeyTable::slot_of(const transport::Key& key) noexcept {
  const auto data = read(key, key_bytes_);
  if (!data || data->flags_of_device >> 8 != device_) return nullptr;
  const std::uint32_t index = data->word >> 8;
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  const bool current = slot.valid && slot.consumer_key == (data->word & 0xff) && slot.serial == data->serial;
  return current ? &slot : nullptr;
}

Status KeyTable::remove(const transport::Key& key) noexcept {
  Slot* slot = slot_of(key);
  if (slot == nullptr) return Status::access_error;
  slot->valid = false;
  --valid_;
  free_.push_back(static_cast<std::uint32_t>(slot - slots_.data()));
  return Status::ok;
}

std::optional<transport::Payload> KeyTable::find(const transport::Key& key, unsigned access,
                                                 std::uint64_t offset, std::uint64_t length) noexcept {
  const Slot* slot = slot_of(key);
  if (slot == nullptr || (slot->access & access) != access) return std::nullopt;
  const std::uint64_t limit = stream_bytes(slot->memory);
  if (offset > limit || length > limit - offset) return std::nullopt;
  transport::Payload range = slot->memory;
  range.offset = static_cast<std::int64_t>(offset);
  range.length = static_cast<std::int64_t>(length);
  return range;
}

bool KeyTable::names_this_table(const transport::Key& key) const noexcept {
  const auto data = read(key, key_bytes_);
  return data && data->flags_of_device >> 8 == device_;
}

}  // namespace stria::fake
