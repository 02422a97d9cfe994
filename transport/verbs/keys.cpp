#include "transport/verbs/keys.hpp"

#include <cstring>
#include <new>

#include "transport/payload.hpp"

namespace stria::verbs {
namespace {

unsigned rights_of(unsigned access) noexcept {
  return ((access & STRIA_ACCESS_REMOTE_READ) != 0 ? unsigned{IBV_ACCESS_REMOTE_READ} : 0u) |
         ((access & STRIA_ACCESS_REMOTE_WRITE) != 0 ? unsigned{IBV_ACCESS_REMOTE_WRITE} : 0u) |
         ((access & STRIA_ACCESS_REMOTE_ATOMIC) != 0 ? unsigned{IBV_ACCESS_REMOTE_ATOMIC} : 0u);
}

constexpr unsigned kAccessBits =
    STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC;

void write_key(std::uint32_t rkey, KeyKind kind, unsigned access, const Blocks& memory,
               transport::Key& key) noexcept {
  const KeyData data{rkey,         kKeyMark,    kind, static_cast<std::uint16_t>(access & kAccessBits),
                     memory.first, memory.bytes};
  key.bytes = sizeof data;
  std::memcpy(key.data, &data, sizeof data);
  if (memory.is_one()) return;
  const auto stride = static_cast<std::uint64_t>(memory.stride);
  const KeyStride more{static_cast<std::uint32_t>(memory.block),
                       {static_cast<std::uint32_t>(stride), static_cast<std::uint32_t>(stride >> 32)}};
  std::memcpy(key.data + key.bytes, &more, sizeof more);
  key.bytes += sizeof more;
}

}  // namespace

bool read_key(const transport::Key& key, KeyContent& out) noexcept {
  KeyData data;
  KeyStride more{};
  const bool is_strided = key.bytes == sizeof data + sizeof more;
  if (key.bytes != sizeof data && !is_strided) return false;
  std::memcpy(&data, key.data, sizeof data);
  if (is_strided) std::memcpy(&more, key.data + sizeof data, sizeof more);
  if (data.mark != kKeyMark || (data.kind != KeyKind::window && data.kind != KeyKind::region) ||
      (data.access & ~kAccessBits) != 0)
    return false;
  out.rkey = data.rkey;
  out.kind = data.kind;
  out.access = data.access;
  out.memory = {data.address, data.bytes, data.bytes, 0};
  if (is_strided) {
    out.memory.block = more.block;
    out.memory.stride =
        static_cast<std::int64_t>(std::uint64_t{more.stride[1]} << 32 | std::uint64_t{more.stride[0]});
    if (out.memory.is_one()) return false;
  }
  return span_of(out.memory, out.span);
}

void Keys::open(ibv_pd* pd, Regions& regions, bool has_windows, std::uint32_t most,
                Counters& counters) noexcept {
  pd_ = pd;
  regions_ = &regions;
  has_windows_ = has_windows;
  most_ = most;
  counters_ = &counters;
}

void Keys::close() noexcept {
  for (Window& window : windows_) {
    if (window.linked()) window.unlink();
    if (window.mw != nullptr) ::ibv_dealloc_mw(window.mw);
    window.mw = nullptr;
    if (window.region != nullptr) regions_->release(window.region);
    window.region = nullptr;
  }
  windows_.clear();
  free_.clear();
  by_index_.clear();
  for (const auto& [rkey, mr] : own_) ::ibv_dereg_mr(mr);
  own_.clear();
}

Window* Keys::take(Link& link, Region& region, const Span& span, unsigned access) noexcept try {
  if (valid_ >= most_) return nullptr;
  if (free_.empty()) {
    ibv_mw* const mw = ::ibv_alloc_mw(pd_, IBV_MW_TYPE_2);
    if (mw == nullptr) return nullptr;
    Window& made = windows_.emplace_back();
    made.mw = mw;
    by_index_[mw->rkey >> 8] = &made;
    free_.push_back(&made);
  }
  Window& window = *free_.front();
  free_.pop_front();
  window.rkey = ::ibv_inc_rkey(window.rkey == 0 ? window.mw->rkey : window.rkey);
  if (window.rkey == window.mw->rkey) window.rkey = ::ibv_inc_rkey(window.rkey);
  window.region = &region;
  window.link = &link;
  window.span = span;
  window.rights = rights_of(access);
  window.posted = false;
  ++valid_;
  return &window;
} catch (const std::bad_alloc&) {
  return nullptr;
}

Window* Keys::find(std::uint32_t rkey) noexcept {
  const auto at = by_index_.find(rkey >> 8);
  if (at == by_index_.end() || at->second->region == nullptr || at->second->rkey != rkey) return nullptr;
  return at->second;
}

void Keys::free(Window& window) noexcept {
  if (window.linked()) window.unlink();
  regions_->release(window.region);
  window.region = nullptr;
  window.link = nullptr;
  window.posted = false;
  --valid_;
  free_.push_back(&window);  // never more than windows_: the deque's blocks are there after the first round
}

void Keys::destroy(Window& window) noexcept {
  by_index_.erase(window.mw->rkey >> 8);
  ::ibv_dealloc_mw(window.mw);
  window.mw = ::ibv_alloc_mw(pd_, IBV_MW_TYPE_2);
  window.rkey = 0;
  if (window.linked()) window.unlink();
  regions_->release(window.region);
  window.region = nullptr;
  window.link = nullptr;
  window.posted = false;
  --valid_;
  if (window.mw == nullptr) return;  // the slot is lost; there is one window less
  try {
    by_index_[window.mw->rkey >> 8] = &window;
    free_.push_back(&window);
  } catch (const std::bad_alloc&) {
    ::ibv_dealloc_mw(window.mw);
    window.mw = nullptr;
  }
}

void Keys::fill(const Window& window, const Blocks& memory, transport::Key& key) noexcept {
  unsigned access = 0;
  if ((window.rights & IBV_ACCESS_REMOTE_READ) != 0) access |= STRIA_ACCESS_REMOTE_READ;
  if ((window.rights & IBV_ACCESS_REMOTE_WRITE) != 0) access |= STRIA_ACCESS_REMOTE_WRITE;
  if ((window.rights & IBV_ACCESS_REMOTE_ATOMIC) != 0) access |= STRIA_ACCESS_REMOTE_ATOMIC;
  write_key(window.rkey, KeyKind::window, access, memory, key);
}

Status Keys::add_region(const Blocks& memory, const Span& span, unsigned access, transport::Key& key) noexcept
    try {
  if (valid_ >= most_) return Status::no_resource;
  unsigned rights = rights_of(access);
  if ((rights & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0) rights |= IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* const mr = regions_->make_key(reinterpret_cast<const void*>(span.begin), span.bytes, rights);
  if (mr == nullptr) return Status::unsupported;
  try {
    own_.emplace(mr->rkey, mr);
  } catch (const std::bad_alloc&) {
    ::ibv_dereg_mr(mr);
    return Status::no_resource;
  }
  ++valid_;
  write_key(mr->rkey, KeyKind::region, access, memory, key);
  return Status::ok;
} catch (const std::bad_alloc&) {
  return Status::no_resource;
}

Status Keys::remove_region(const KeyContent& key) noexcept {
  const auto at = own_.find(key.rkey);
  if (at == own_.end() || reinterpret_cast<std::uint64_t>(at->second->addr) != key.span.begin ||
      at->second->length != key.span.bytes)
    return Status::access_error;
  ::ibv_dereg_mr(at->second);
  own_.erase(at);
  --valid_;
  return Status::ok;
}

}  // namespace stria::verbs
