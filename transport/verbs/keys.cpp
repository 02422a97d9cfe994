#include "transport/verbs/keys.hpp"

#include <cstring>
#include <new>

#include "transport/payload.hpp"

namespace stria::verbs {
namespace {

unsigned rights_of(unsigned access) noexcept {
  return ((access & STRIA_ACCESS_REMOTE_READ) != 0 ? unsigned{IBV_ACCESS_REMOTE_READ} : 0u) |
         ((access & STRIA_ACCESS_REMOTE_WRITE) != 0 ? unsigned{IBV_ACCESS_REMOTE_WRITE} : 0u);
}

constexpr unsigned kAccessBits = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;

void write_key(const KeyData& data, transport::Key& key) noexcept {
  key.bytes = sizeof data;
  std::memcpy(key.data, &data, sizeof data);
}

}  // namespace

bool read_key(const transport::Key& key, KeyData& out) noexcept {
  if (key.bytes != sizeof out) return false;
  std::memcpy(&out, key.data, sizeof out);
  return out.mark == kKeyMark && (out.kind == KeyKind::window || out.kind == KeyKind::region) &&
         (out.access & ~kAccessBits) == 0;
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

Window* Keys::take(Link& link, Region& region, std::uint64_t address, std::uint64_t bytes,
                   unsigned access) noexcept try {
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
  window.address = address;
  window.bytes = bytes;
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

void Keys::fill(const Window& window, transport::Key& key) noexcept {
  unsigned access = 0;
  if ((window.rights & IBV_ACCESS_REMOTE_READ) != 0) access |= STRIA_ACCESS_REMOTE_READ;
  if ((window.rights & IBV_ACCESS_REMOTE_WRITE) != 0) access |= STRIA_ACCESS_REMOTE_WRITE;
  write_key({window.rkey, kKeyMark, KeyKind::window, static_cast<std::uint16_t>(access), window.address,
             window.bytes},
            key);
}

Status Keys::add_region(const transport::Payload& memory, unsigned access, transport::Key& key) noexcept try {
  if (valid_ >= most_) return Status::no_resource;
  void* const begin = memory.base;
  const auto bytes = static_cast<std::uint64_t>(memory.count);
  unsigned rights = rights_of(access);
  if ((rights & IBV_ACCESS_REMOTE_WRITE) != 0) rights |= IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* const mr = regions_->make_key(begin, bytes, rights);
  if (mr == nullptr) return Status::unsupported;
  try {
    own_.emplace(mr->rkey, mr);
  } catch (const std::bad_alloc&) {
    ::ibv_dereg_mr(mr);
    return Status::no_resource;
  }
  ++valid_;
  write_key({mr->rkey, kKeyMark, KeyKind::region, static_cast<std::uint16_t>(access & kAccessBits),
             reinterpret_cast<std::uint64_t>(begin), bytes},
            key);
  return Status::ok;
} catch (const std::bad_alloc&) {
  return Status::no_resource;
}

Status Keys::remove_region(const KeyData& key) noexcept {
  const auto at = own_.find(key.rkey);
  if (at == own_.end() || reinterpret_cast<std::uint64_t>(at->second->addr) != key.address ||
      at->second->length != key.bytes)
    return Status::access_error;
  ::ibv_dereg_mr(at->second);
  own_.erase(at);
  --valid_;
  return Status::ok;
}

}  // namespace stria::verbs
