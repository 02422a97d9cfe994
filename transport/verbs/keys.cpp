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
  if (data.mark != kKeyMark || (!ends_by_message(data.kind) && data.kind != KeyKind::region) ||
      (data.access & ~kAccessBits) != 0)
    return false;
  // A strided key has no addresses and names no blocks: it counts from 0, and is one run.
  if (data.kind == KeyKind::strided && (is_strided || data.address != 0)) return false;
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

void Keys::open_strided(const hw::StridedLibrary& library, std::uint32_t entries) noexcept {
  library_ = library;
  entries_ = static_cast<std::uint16_t>(entries);
}

void Keys::close() noexcept {
  for (Window& window : windows_) {
    if (window.linked()) window.unlink();
    unmake(window);
    if (window.region != nullptr) regions_->release(window.region);
    window.region = nullptr;
  }
  windows_.clear();
  free_.clear();
  free_strided_.clear();
  by_index_.clear();
  for (const auto& [rkey, mr] : own_) ::ibv_dereg_mr(mr);
  own_.clear();
}

bool Keys::make(Window& window) noexcept try {
  window.rkey = 0;
  std::uint32_t rkey = 0;
  if (window.strided != nullptr) {
    mlx5dv_mkey_init_attr attributes = hw::strided_key_attributes(pd_, entries_);
    mlx5dv_mkey* const mkey = library_.create_key(&attributes);
    if (mkey == nullptr) return false;
    window.strided->mkey = mkey;
    rkey = mkey->rkey;
  } else {
    window.mw = ::ibv_alloc_mw(pd_, IBV_MW_TYPE_2);
    if (window.mw == nullptr) return false;
    rkey = window.mw->rkey;
  }
  by_index_[rkey >> 8] = &window;
  return true;
} catch (const std::bad_alloc&) {
  unmake(window);
  return false;
}

void Keys::unmake(Window& window) noexcept {
  if (window.mw != nullptr) {
    by_index_.erase(window.mw->rkey >> 8);
    ::ibv_dealloc_mw(window.mw);
    window.mw = nullptr;
  } else if (window.strided != nullptr && window.strided->mkey != nullptr) {
    by_index_.erase(window.strided->mkey->rkey >> 8);
    static_cast<void>(library_.destroy_key(window.strided->mkey));
    window.strided->mkey = nullptr;
  }
}

/// Takes the one that was free for longest, or makes one more. Null: the adapter makes no more.
Window* Keys::take_from(std::deque<Window*>& free, bool strided) {
  if (free.empty()) {
    Window& made = windows_.emplace_back();
    if (strided) made.strided = std::make_unique<StridedKey>();
    if (!make(made)) {
      windows_.pop_back();
      return nullptr;
    }
    free.push_back(&made);
  }
  Window* const window = free.front();
  free.pop_front();
  return window;
}

Window* Keys::take(Link& link, Region& region, const Span& span, unsigned access) noexcept try {
  if (valid_ >= most_) return nullptr;
  Window* const taken = take_from(free_, false);
  if (taken == nullptr) return nullptr;
  Window& window = *taken;
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

Window* Keys::take_strided(Link& link, Region& region, const hw::KeyPattern& pattern,
                           unsigned access) noexcept try {
  if (valid_ >= most_) return nullptr;
  Window* const taken = take_from(free_strided_, true);
  if (taken == nullptr) return nullptr;
  Window& window = *taken;
  StridedKey& key = *window.strided;
  hw::advance_consumer_key(*key.mkey);
  key.pattern = pattern;
  key.pattern.set_lkey(region.mr->lkey);
  window.rkey = key.mkey->rkey;
  window.region = &region;
  window.link = &link;
  window.span = {0, pattern.bytes};
  window.rights = rights_of(access);
  // Adapters demand of all memory that a right of remote writes comes with the right of local writes.
  if ((window.rights & IBV_ACCESS_REMOTE_WRITE) != 0) window.rights |= IBV_ACCESS_LOCAL_WRITE;
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

/// The key of this window has ended: releases its region.
void Keys::end_use(Window& window) noexcept {
  if (window.linked()) window.unlink();
  regions_->release(window.region);
  window.region = nullptr;
  window.link = nullptr;
  window.posted = false;
  --valid_;
}

void Keys::free(Window& window) noexcept {
  end_use(window);
  // A free list never outgrows windows_: the deque's blocks are there after the first round.
  free_of(window).push_back(&window);
}

void Keys::destroy(Window& window) noexcept {
  unmake(window);
  end_use(window);
  if (!make(window)) return;  // the window is not used again
  try {
    free_of(window).push_back(&window);
  } catch (const std::bad_alloc&) {
    unmake(window);
  }
}

void Keys::fill(const Window& window, const Blocks& memory, transport::Key& key) noexcept {
  unsigned access = 0;
  if ((window.rights & IBV_ACCESS_REMOTE_READ) != 0) access |= STRIA_ACCESS_REMOTE_READ;
  if ((window.rights & IBV_ACCESS_REMOTE_WRITE) != 0) access |= STRIA_ACCESS_REMOTE_WRITE;
  if ((window.rights & IBV_ACCESS_REMOTE_ATOMIC) != 0) access |= STRIA_ACCESS_REMOTE_ATOMIC;
  write_key(window.rkey, window.strided != nullptr ? KeyKind::strided : KeyKind::window, access, memory, key);
}

Status Keys::add_region(const Blocks& memory, const Span& span, unsigned access, bool lasting,
                        transport::Key& key) noexcept try {
  if (valid_ >= most_) return Status::no_resource;
  unsigned rights = rights_of(access);
  if ((rights & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0) rights |= IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* const mr =
      regions_->make_key(reinterpret_cast<const void*>(span.begin), span.bytes, rights, lasting);
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
