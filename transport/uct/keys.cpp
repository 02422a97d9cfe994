#include "transport/uct/keys.hpp"

#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "transport/uct/link.hpp"

namespace stria::uct {
namespace {

// The low kSlotBits bits of a key's name are the number of its slot; the other bits count the uses of the
// slot.
constexpr unsigned kSlotBits = 12;
constexpr std::uint32_t kSlotMask = kKeysMost - 1;
static_assert(kKeysMost == 1u << kSlotBits);

constexpr unsigned kAccessBits =
    STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC;

/// A 64-bit number as keys hold it: in two parts of 32 bits.
struct Halves {
  explicit Halves(std::uint64_t whole) noexcept
      : low(static_cast<std::uint32_t>(whole)), high(static_cast<std::uint32_t>(whole >> 32)) {}
  std::uint32_t low, high;
};
std::uint64_t whole_of(const std::uint32_t (&halves)[2]) noexcept {
  return std::uint64_t{halves[1]} << 32 | halves[0];
}

}  // namespace

bool read_key(const transport::Key& key, std::uint32_t ucx_bytes, KeyContent& out) noexcept {
  const std::uint32_t plain = ucx_bytes + static_cast<std::uint32_t>(sizeof(KeyTail));
  const bool lies_apart = key.bytes == plain + sizeof(KeyStride);
  if (ucx_bytes == 0 || (key.bytes != plain && !lies_apart)) return false;
  std::memcpy(&out.tail, key.data + ucx_bytes, sizeof out.tail);
  if (out.tail.mark != kKeyMark || (out.tail.access & ~kAccessBits) != 0) return false;
  const std::uint64_t bytes = whole_of(out.tail.bytes);
  out.memory = {whole_of(out.tail.first), bytes, bytes, 0};
  if (lies_apart) {
    KeyStride more;
    std::memcpy(&more, key.data + plain, sizeof more);
    out.memory.block = more.block;
    out.memory.stride = static_cast<std::int64_t>(whole_of(more.stride));
    if (out.memory.is_one()) return false;
  }
  out.ucx = key.data;
  transport::Span span;
  return span_of(out.memory, span);
}

void Keys::open(Domain& domain, const stria_services_t& services) noexcept {
  domain_ = &domain;
  services_ = &services;
}

void Keys::close() noexcept {
  for (OwnKey& key : all_) {
    if (key.linked()) key.unlink();
    if (key.memory != nullptr) domain_->remove(std::exchange(key.memory, nullptr));
  }
  all_.clear();
}

OwnKey* Keys::take() noexcept try {
  if (OwnKey* const key = free_.pop_front()) return key;
  if (all_.size() == kKeysMost) return nullptr;
  OwnKey& made = all_.emplace_back();
  made.name = static_cast<std::uint32_t>(all_.size() - 1);
  return &made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

OwnKey* Keys::find(std::uint32_t name) noexcept {
  const std::uint32_t slot = name & kSlotMask;
  if (slot >= all_.size()) return nullptr;
  OwnKey& key = all_[slot];
  return key.memory != nullptr && key.name == name ? &key : nullptr;
}

void Keys::free(OwnKey& key) noexcept {
  if (key.linked()) key.unlink();
  if (key.memory != nullptr) domain_->remove(std::exchange(key.memory, nullptr));
  key.link = nullptr;
  key.name += kKeysMost;
  free_.push_back(&key);
}

bool Keys::write(OwnKey& own, const transport::Blocks& memory, unsigned access) noexcept {
  transport::Key& key = own.key;
  const std::uint32_t ucx_bytes = domain_->key_bytes();
  if (!domain_->write_key(own.memory, key.data)) return false;
  const Halves first(memory.first), bytes(memory.bytes), stride(static_cast<std::uint64_t>(memory.stride));
  const KeyTail tail{own.name,
                     kKeyMark,
                     static_cast<std::uint16_t>(access & kAccessBits),
                     {first.low, first.high},
                     {bytes.low, bytes.high}};
  std::memcpy(key.data + ucx_bytes, &tail, sizeof tail);
  key.bytes = ucx_bytes + static_cast<std::uint32_t>(sizeof tail);
  if (memory.is_one()) return true;
  const KeyStride more{static_cast<std::uint32_t>(memory.block), {stride.low, stride.high}};
  std::memcpy(key.data + key.bytes, &more, sizeof more);
  key.bytes += static_cast<std::uint32_t>(sizeof more);
  return true;
}

Status Keys::add(Link* link, const transport::Payload& memory, unsigned access,
                 transport::Key& key) noexcept {
  transport::Blocks blocks;
  transport::Span span;
  if ((access & STRIA_REGISTER_MAPPED) != 0 || !transport::describe(*services_, memory, blocks, span))
    return Status::unsupported;
  const bool lies_apart = !blocks.is_one();
  if (lies_apart && ((access & STRIA_REGISTER_GATHERED) != 0 ||
                     blocks.block > std::numeric_limits<decltype(KeyStride::block)>::max()))
    return Status::unsupported;
  if (link != nullptr && link->dying) return Status::peer_failed;
  OwnKey* const own = take();
  if (own == nullptr) return Status::no_resource;
  own->memory = domain_->add(reinterpret_cast<const void*>(span.begin), span.bytes, Domain::Use::remote,
                             link == nullptr);
  if (own->memory == nullptr || !write(*own, blocks, access)) {
    free(*own);
    if (!std::exchange(told_of_refusal_, true))
      services_->log(3, fmt::format("uct: {} bytes of the application's memory cannot be registered; such "
                                    "messages are copied",
                                    span.bytes)
                            .c_str());
    return Status::unsupported;
  }
  own->link = link;
  if (link != nullptr) link->keys.push_back(own);
  key = own->key;
  return Status::ok;
}

Status Keys::end(const transport::Key& key) noexcept {
  KeyContent content;
  if (domain_ == nullptr || !read_key(key, domain_->key_bytes(), content)) return Status::access_error;
  OwnKey* const own = find(content.tail.name);
  if (own == nullptr || own->key.bytes != key.bytes || std::memcmp(own->key.data, key.data, key.bytes) != 0)
    return Status::access_error;
  free(*own);
  return Status::ok;
}

void Keys::end_by_message(const Link& link, std::uint32_t name) noexcept {
  OwnKey* const own = find(name);
  if (own != nullptr && own->link == &link) free(*own);
}

void Keys::end_all_of(Link& link) noexcept {
  while (OwnKey* const own = link.keys.front()) free(*own);
}

}  // namespace stria::uct
