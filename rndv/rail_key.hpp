// The keys by which the rails of a peer read one message, beside the announced one, which is the main link's.
// A send has none of them, and no object for them, until a rail asks (rail_keys.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "stria/stria.h"
#include "transport/link_ref.hpp"

namespace stria::rndv {

/// The key of one rail. The link may be gone before the key is ended, so what ends it lies here.
struct RailKey {
  const transport::LinkRef* link = nullptr;
  const transport::HotOps* ops = nullptr;
  stria_device_t* device = nullptr;
  transport::Key key;
  bool is_due = false;  ///< the answer did not find room yet

  void end() noexcept {
    if (key.bytes != 0) static_cast<void>(ops->invalidate(device, &key));
    key.bytes = 0;
  }
};

/// Those of one send.
class RailKeysOfSend {
 public:
  explicit RailKeysOfSend(wire::OpId receiver) noexcept : receiver_(receiver) {}
  wire::OpId receiver() const noexcept { return receiver_; }
  std::span<RailKey> all() noexcept { return {all_.data(), count_}; }
  RailKey* find(const transport::LinkRef& link) noexcept {
    for (RailKey& one : all())
      if (one.link == &link) return &one;
    return nullptr;
  }
  /// One without a key, for the rail. Null: there are more rails than a worker has devices.
  RailKey* add(const transport::LinkRef& link) noexcept {
    if (count_ == all_.size()) return nullptr;
    RailKey& one = all_[count_++];
    one.link = &link;
    one.ops = link.ops;
    one.device = link.device;
    one.key.bytes = 0;
    one.is_due = false;
    return &one;
  }
  /// Ends the rail's key, and forgets the rail.
  void remove(RailKey& one) noexcept {
    one.end();
    one = all_[--count_];
  }
  /// No access through any of them succeeds any more.
  void end() noexcept {
    for (RailKey& one : all()) one.end();
    count_ = 0;
  }
  RailKeysOfSend* next = nullptr;  ///< of the spare ones

 private:
  friend class RailKeyPool;
  wire::OpId receiver_;  // its name for the operation
  std::size_t count_ = 0;
  std::array<RailKey, STRIA_DEVICES_MAX> all_;
};

/// Those that no send has.
class RailKeyPool {
 public:
  RailKeyPool() = default;
  RailKeyPool(const RailKeyPool&) = delete;
  RailKeyPool& operator=(const RailKeyPool&) = delete;
  ~RailKeyPool() {
    while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
  }

  /// One without keys; null: no memory.
  RailKeysOfSend* take(wire::OpId receiver) noexcept {
    if (spare_ == nullptr) return new (std::nothrow) RailKeysOfSend(receiver);
    RailKeysOfSend* const one = std::exchange(spare_, spare_->next);
    one->receiver_ = receiver;
    return one;
  }
  /// Without ending keys that it has: their provider has ended them, or end() was called.
  void give_back(RailKeysOfSend& one) noexcept {
    one.count_ = 0;
    one.next = std::exchange(spare_, &one);
  }

 private:
  RailKeysOfSend* spare_ = nullptr;
};

}  // namespace stria::rndv
