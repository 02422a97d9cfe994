#include "transport/tcp/keys.hpp"

#include <cstring>
#include <new>

#include "base/system.hpp"

namespace stria::tcp {
namespace {

constexpr std::uint32_t kSlotMask = kKeysMost - 1;
static_assert((kKeysMost & kSlotMask) == 0);
constexpr std::uint32_t kMark = 0x59454b54;  // "TKEY"
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

/// Length of the packed stream of all instances, in bytes; negative: there is no such memory.
std::int64_t stream_bytes(const transport::Payload& memory) noexcept {
  const datatype::Layout* const layout = transport::layout_of(memory);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(layout == nullptr ? 1 : layout->size(), memory.count, &bytes)) return -1;
  return bytes;
}

}  // namespace

Keys::Keys() noexcept : random_(random_word()) {}

bool Keys::read(const transport::Key& key, KeyName& name) noexcept {
  if (key.bytes != sizeof name) return false;
  std::memcpy(&name, key.data, sizeof name);
  return name.mark == kMark;
}

Keys::Own* Keys::take() noexcept try {
  if (Own* const own = free_.pop_front()) return own;
  if (all_.size() == kKeysMost) return nullptr;
  Own& made = all_.emplace_back();
  made.name.name = static_cast<std::uint32_t>(all_.size() - 1);
  made.name.mark = kMark;
  return &made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

Keys::Own* Keys::find(const KeyName& name) noexcept {
  const std::uint32_t slot = name.name & kSlotMask;
  if (slot >= all_.size()) return nullptr;
  Own& own = all_[slot];
  return own.is_valid && own.name == name ? &own : nullptr;
}

void Keys::free(Own& own) noexcept {
  own.is_valid = false;
  while (Access* const access = own.accesses.pop_front()) access->key_ends();
  own.name.name += kKeysMost;
  free_.push_back(&own);
}

Status Keys::add(const Link* link, const transport::Payload& memory, unsigned access,
                 transport::Key& key) noexcept {
  constexpr unsigned kNeedMore = STRIA_REGISTER_MAPPED | STRIA_REGISTER_GATHERED | STRIA_ACCESS_REMOTE_ATOMIC;
  const std::int64_t bytes = stream_bytes(memory);
  if ((access & kNeedMore) != 0 || bytes < 0) return Status::unsupported;
  Own* const own = take();
  if (own == nullptr) return Status::no_resource;
  own->link = link;
  own->memory = memory;
  own->bytes = static_cast<std::uint64_t>(bytes);
  own->access = access;
  own->name.random = random_ += kStep;
  own->is_valid = true;
  key.bytes = sizeof own->name;
  std::memcpy(key.data, &own->name, sizeof own->name);
  return Status::ok;
}

Status Keys::end(const transport::Key& key) noexcept {
  KeyName name;
  Own* const own = read(key, name) ? find(name) : nullptr;
  if (own == nullptr) return Status::access_error;
  free(*own);
  return Status::ok;
}

void Keys::end_by_message(const Link& link, const KeyName& name) noexcept {
  Own* const own = find(name);
  if (own != nullptr && (own->link == &link || own->link == nullptr)) free(*own);
}

void Keys::end_all_of(const Link& link) noexcept {
  for (Own& own : all_)
    if (own.is_valid && own.link == &link) free(own);
}

Status Keys::find(const Link& link, const KeyName& name, std::uint64_t offset, std::uint64_t length,
                  transport::Payload& memory) noexcept {
  const Own* const own = find(name);
  if (own == nullptr || (own->link != nullptr && own->link != &link) ||
      (own->access & STRIA_ACCESS_REMOTE_READ) == 0 || offset > own->bytes || length > own->bytes - offset)
    return Status::access_error;
  memory = own->memory;
  memory.offset = static_cast<std::int64_t>(offset);
  memory.length = static_cast<std::int64_t>(length);
  return Status::ok;
}

void Keys::join(const KeyName& name, Access& access) noexcept {
  find(name)->accesses.push_back(&access);
}

}  // namespace stria::tcp
