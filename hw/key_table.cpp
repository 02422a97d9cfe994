#include "hw/key_table.hpp"

#include "base/assert.hpp"
#include "hw/pio.hpp"

namespace stria::hw {
namespace {

constexpr std::uint64_t kPinnedBit = std::uint64_t{1} << 32;

constexpr std::uint64_t make_control(KeyState state, std::uint8_t access, std::uint8_t consumer,
                                     std::uint32_t generation) noexcept {
  return static_cast<std::uint64_t>(state) | (std::uint64_t{access} << 8) | (std::uint64_t{consumer} << 16) |
         (std::uint64_t{generation} << 32);
}
constexpr KeyState state_of(std::uint64_t control) noexcept {
  return static_cast<KeyState>(control & 0xff);
}
constexpr std::uint8_t access_of(std::uint64_t control) noexcept {
  return static_cast<std::uint8_t>(control >> 8);
}
constexpr std::uint8_t consumer_of(std::uint64_t control) noexcept {
  return static_cast<std::uint8_t>(control >> 16);
}
constexpr std::uint32_t generation_of(std::uint64_t control) noexcept {
  return static_cast<std::uint32_t>(control >> 32);
}

// A record as the words of a slot. Each word is made and read in registers (base/words.hpp).
constexpr std::uint64_t join(std::uint32_t low, std::uint32_t high) noexcept {
  return low | (std::uint64_t{high} << 32);
}
struct RecordWords {
  std::uint64_t at[KeySlot::kWords];
  explicit RecordWords(const KeyRecord& r) noexcept
      : at{r.base,
           static_cast<std::uint64_t>(r.count),
           static_cast<std::uint64_t>(r.bytes),
           join(r.layout, r.layout_generation),
           r.segment,
           static_cast<std::uint64_t>(r.segment_offset),
           join(static_cast<std::uint32_t>(r.segment_fd), r.reserved)} {}
};

}  // namespace

KeyTableView::KeyTableView(std::byte* memory, const KeyTableShape& shape) noexcept
    : header_(reinterpret_cast<KeyTableHeader*>(memory)),
      slot_(reinterpret_cast<KeySlot*>(memory + sizeof(KeyTableHeader))),
      pin_(reinterpret_cast<KeyPin*>(memory + sizeof(KeyTableHeader) +
                                     std::size_t{shape.slots} * sizeof(KeySlot))),
      shape_(shape) {}

Status KeyTableView::look_up(KeyWord word, std::uint8_t access, KeyRecord& record,
                             std::uint64_t& control) const noexcept {
  if (key_index(word) >= shape_.slots) return Status::access_error;
  const KeySlot& slot = slot_[key_index(word)];
  // seq_cst: this load comes after the store of a pin, see begin_pinned(). Pairs with the release in bind().
  control = slot.control.load(std::memory_order_seq_cst);
  if (state_of(control) != KeyState::valid || consumer_of(control) != key_consumer(word) ||
      (access_of(control) & access) != access)
    return Status::access_error;
  const auto load = [&](std::size_t i) { return slot.words[i].load(std::memory_order_acquire); };
  record.base = load(0);
  record.count = static_cast<std::int64_t>(load(1));
  record.bytes = static_cast<std::int64_t>(load(2));
  const std::uint64_t layout = load(3);
  record.layout = static_cast<std::uint32_t>(layout);
  record.layout_generation = static_cast<std::uint32_t>(layout >> 32);
  record.segment = load(4);
  record.segment_offset = static_cast<std::int64_t>(load(5));
  const std::uint64_t last = load(6);
  record.segment_fd = static_cast<std::int32_t>(last);
  record.reserved = static_cast<std::uint32_t>(last >> 32);
  return check_unchanged(word, control);
}

Status KeyTableView::check_block(KeyWord word, std::uint8_t access, std::uint64_t base, std::uint64_t offset,
                                 std::int64_t length) const noexcept {
  KeyRecord record;
  std::uint64_t control = 0;
  const Status valid = look_up(word, access, record, control);
  if (valid != Status::ok) return valid;
  const bool right = record.base == base && record.layout == 0 && in_bounds(record, offset, length);
  return right ? Status::ok : Status::access_error;
}

Status KeyTableView::check_unchanged(KeyWord word, std::uint64_t control) const noexcept {
  // Earlier loads, of the slot or of the memory behind the key, are done before this one.
  hw::load_fence();
  return slot_[key_index(word)].control.load(std::memory_order_relaxed) == control ? Status::ok
                                                                                   : Status::access_error;
}

Status KeyTableView::begin_pinned(std::uint32_t accessor, KeyWord word, std::uint8_t access,
                                  KeyRecord& record) const noexcept {
  STRIA_ASSERT(accessor < shape_.accessors, "an accessor without a pin");
  // Pins, counts, and then loads the control: either the owner's invalidate() sees the count, or this load
  // sees the owner's change (both are seq_cst).
  pin_[accessor].word.store(kPinnedBit | word, std::memory_order_seq_cst);
  header_->pinned.fetch_add(1, std::memory_order_seq_cst);
  std::uint64_t control = 0;
  const Status status = look_up(word, access, record, control);
  if (status != Status::ok) end_pinned(accessor);
  return status;
}

void KeyTableView::end_pinned(std::uint32_t accessor) const noexcept {
  // Release: the bytes that were written are visible before the owner's invalidate() returns.
  header_->pinned.fetch_sub(1, std::memory_order_release);
  pin_[accessor].word.store(0, std::memory_order_release);
}

bool in_bounds(const KeyRecord& record, std::uint64_t offset, std::int64_t length) noexcept {
  if (length < 0 || record.bytes < 0) return false;
  const auto bytes = static_cast<std::uint64_t>(record.bytes);
  return offset <= bytes && static_cast<std::uint64_t>(length) <= bytes - offset;
}

KeyTable::KeyTable(std::byte* memory, const KeyTableShape& shape) : KeyTableView(memory, shape) {
  STRIA_CHECK(shape.slots > 0 && shape.slots <= kKeyMaxSlots, "key table size");
  ring_.resize(shape.slots);
}

Status KeyTable::allocate(std::uint32_t& index) noexcept {
  if (fresh_ < shape_.slots && ring_count_ < kQuarantine) {
    index = fresh_++;
  } else if (ring_count_ > 0) {
    index = ring_[ring_head_];
    ring_head_ = ring_head_ + 1 == shape_.slots ? 0 : ring_head_ + 1;
    --ring_count_;
  } else {
    return Status::no_resource;
  }
  KeySlot& slot = slot_[index];
  const std::uint64_t old = slot.control.load(std::memory_order_relaxed);
  slot.control.store(make_control(KeyState::invalid, 0, consumer_of(old), generation_of(old)),
                     std::memory_order_relaxed);
  return Status::ok;
}

KeyWord KeyTable::bind(std::uint32_t index, const KeyRecord& record, std::uint8_t access) noexcept {
  KeySlot& slot = slot_[index];
  const std::uint64_t old = slot.control.load(std::memory_order_relaxed);
  STRIA_CHECK(state_of(old) == KeyState::invalid, "bind of a key that is not invalid");
  const auto consumer = static_cast<std::uint8_t>(consumer_of(old) + 1);
  const std::uint32_t generation = generation_of(old) + 1;
  const RecordWords words(record);
  // Release on each word: a reader that sees one of them sees the `invalid` that was stored before it.
  for (std::size_t i = 0; i < KeySlot::kWords; ++i)
    slot.words[i].store(words.at[i], std::memory_order_release);
  slot.control.store(make_control(KeyState::valid, access, consumer, generation), std::memory_order_release);
  return make_key_word(index, consumer);
}

Status KeyTable::make_invalid(KeyWord word, std::memory_order order) noexcept {
  if (key_index(word) >= shape_.slots) return Status::invalid;
  KeySlot& slot = slot_[key_index(word)];
  const std::uint64_t old = slot.control.load(std::memory_order_relaxed);
  if (state_of(old) != KeyState::valid || consumer_of(old) != key_consumer(word)) return Status::invalid;
  slot.control.store(make_control(KeyState::invalid, 0, consumer_of(old), generation_of(old)), order);
  // What the owner stores from now on into the memory behind the key comes after the `invalid`: a reader that
  // reads it sees that the key has ended (check_unchanged()). `order` concerns only what was before.
  hw::store_fence();
  return Status::ok;
}

Status KeyTable::end(KeyWord word) noexcept {
  return make_invalid(word, std::memory_order_release);
}

Status KeyTable::start_invalidate(KeyWord word, bool& wait) noexcept {
  // Both are seq_cst: they pair with begin_pinned(), which pins and then loads the control.
  if (const Status status = make_invalid(word, std::memory_order_seq_cst); status != Status::ok)
    return status;
  wait = header_->pinned.load(std::memory_order_seq_cst) != 0;
  return Status::ok;
}

KeyWord KeyTable::word_of(std::uint32_t index) const noexcept {
  return make_key_word(index, consumer_of(slot_[index].control.load(std::memory_order_relaxed)));
}

void KeyTable::release(std::uint32_t index) noexcept {
  KeySlot& slot = slot_[index];
  const std::uint64_t old = slot.control.load(std::memory_order_relaxed);
  STRIA_CHECK(state_of(old) == KeyState::invalid, "release of a key that is not invalid");
  slot.control.store(make_control(KeyState::free, 0, consumer_of(old), generation_of(old)),
                     std::memory_order_relaxed);
  std::uint32_t at = ring_head_ + ring_count_;
  if (at >= shape_.slots) at -= shape_.slots;
  ring_[at] = index;
  ++ring_count_;
}

Status KeyTable::record_of(KeyWord word, KeyRecord& record) const noexcept {
  std::uint64_t control = 0;
  return look_up(word, 0, record, control);
}

void KeyTable::clear_accessor(std::uint32_t accessor) noexcept {
  if (accessor < shape_.accessors) pin_[accessor].word.store(0, std::memory_order_release);
}

}  // namespace stria::hw
