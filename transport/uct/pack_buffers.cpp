#include "transport/uct/pack_buffers.hpp"

#include <new>
#include <utility>

namespace stria::uct {

PackBuffer* PackBuffers::take(uct_ep_h endpoint) noexcept {
  PackBuffer* taken = free_.pop_front();
  if (taken == nullptr) try {
      if (all_.size() == kMost) return nullptr;
      auto made = std::make_unique<PackBuffer>();
      made->memory = std::make_unique_for_overwrite<std::byte[]>(kPackedMost);
      taken = all_.emplace_back(std::move(made)).get();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  taken->owner = this;
  taken->endpoint = endpoint;
  taken->func = [](uct_completion_t* self) {
    auto& read = *static_cast<PackBuffer*>(self);
    if (read.endpoint != nullptr) read.owner->give(read);
  };
  taken->count = 1;
  taken->status = UCS_OK;
  return taken;
}

void PackBuffers::give(PackBuffer& buffer) noexcept {
  buffer.endpoint = nullptr;
  free_.push_back(&buffer);
}

void PackBuffers::reclaim(uct_ep_h endpoint) noexcept {
  for (const std::unique_ptr<PackBuffer>& one : all_)
    if (one->endpoint == endpoint) give(*one);
}

}  // namespace stria::uct
