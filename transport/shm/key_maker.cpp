#include "transport/shm/key_maker.hpp"

#include <cstring>

#include "base/log.hpp"

namespace stria::shm {

void KeyMaker::open(const SegmentView& segment) {
  const hw::KeyTableShape shape = key_shape(segment.shape());
  table_ = hw::KeyTable(segment.keys(), shape);
  layouts_.resize(segment.shape().keys);
  published_ = PublishedLayouts(segment);
}

Status KeyMaker::fast_register(const transport::Payload& memory, unsigned access,
                               transport::Key& key) noexcept {
  const datatype::Layout* layout = transport::layout_of(memory);
  hw::KeyRecord record;
  record.base = reinterpret_cast<std::uint64_t>(memory.base);
  record.count = memory.count;
  if (memory.count < 0) return Status::invalid;
  LayoutName name;
  std::int64_t low = 0, high = 0;
  bool regular = true;
  if (layout == nullptr) {
    record.bytes = high = memory.count;
  } else if (layout->is_contiguous(memory.count)) {
    record.bytes = high = layout->size() * memory.count;
    record.base += static_cast<std::uint64_t>(layout->true_lb());
  } else {
    const auto reach = layout->reach(memory.count);
    if (!reach) return Status::invalid;
    record.bytes = reach->bytes;
    low = reach->low, high = reach->high;
    regular = false;
  }
  const MemoryRange* range = ranges_.find(record.base + static_cast<std::uint64_t>(low),
                                          record.base + static_cast<std::uint64_t>(high));
  if (range != nullptr) {
    record.segment = range->nonce;
    record.segment_offset = static_cast<std::int64_t>(record.base - range->begin);
    record.segment_fd = range->fd;
  } else if ((access & STRIA_REGISTER_MAPPED) != 0) {
    return Status::unsupported;
  }
  if (!regular)
    if (const Status status = published_.acquire(*layout, name); status != Status::ok) return status;
  record.layout = name.number;
  record.layout_generation = name.generation;
  std::uint32_t index = 0;
  if (const Status status = table_.allocate(index); status != Status::ok) {
    published_.release(name.number);
    return status;
  }
  layouts_[index] = name.number;
  const hw::KeyWord word = table_.bind(index, record, static_cast<std::uint8_t>(access & hw::kKeyAll));
  // The key word and the flags are put together in one word and stored at once: base/words.hpp says why.
  std::uint64_t begin = word;
  key.bytes = kPlainKeyBytes;
  if (range != nullptr) {
    begin |= std::uint64_t{STRIA_KEY_MAPPED} << (8 * STRIA_KEY_FLAGS_AT);
    key.bytes = kFlaggedKeyBytes;
  } else if (regular && (access & STRIA_REGISTER_HINT) != 0) {
    begin |= std::uint64_t{STRIA_KEY_HINT} << (8 * STRIA_KEY_FLAGS_AT);
    std::memcpy(key.data + kKeyBaseAt, &record.base, sizeof record.base);
    key.bytes = kHintedKeyBytes;
  }
  std::memcpy(key.data, &begin, sizeof begin);
  return Status::ok;
}

void KeyMaker::end(hw::KeyWord word) noexcept {
  if (table_.end(word) == Status::ok)
    give_back(word);
  else
    log::debug("shm: a peer ended key {:08x}, which was not valid", word);
}

void KeyMaker::give_back(hw::KeyWord word) noexcept {
  published_.release(layouts_[hw::key_index(word)]);
  table_.release(hw::key_index(word));
}

}  // namespace stria::shm
