// The keys by which the rails of a peer read one message, beside the announced one, which is the main link's.
// A send has none of them, and no object for them, until a rail asks (rail_keys.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
  std::uint8_t number = 0;  ///< the receiver's for the rail
  bool is_due = false;      ///< the answer did not find room yet

  /// The receiver has the key, or will.
  bool is_given() const noexcept { return key.bytes != 0 && !is_due; }
  void end() noexcept {
    if (key.bytes != 0) static_cast<void>(ops->invalidate(device, &key));
    key.bytes = 0;
  }
};

/// Those of one send. Once the receiver has ended the send, only those are left of which it says that they
/// end by a packet of their rail: they are awaited.
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
  RailKey* add(const transport::LinkRef& link, std::uint8_t number) noexcept {
    if (count_ == all_.size()) return nullptr;
    RailKey& one = all_[count_++];
    one.link = &link;
    one.ops = link.ops;
    one.device = link.device;
    one.key.bytes = 0;
    one.number = number;
    one.is_due = false;
    return &one;
  }
  /// Ends the rail's key, and forgets the rail.
  void remove(RailKey& one) noexcept {
    one.end();
    one = all_[--count_];
  }
  /// Keys of the rails whose bits are set are awaited. All others end.
  void await(std::uint8_t rails) noexcept {
    is_over_ = true;
    for (std::size_t i = count_; i-- > 0;)
      if (RailKey& one = all_[i]; !one.is_given() || (rails >> one.number & 1) == 0) remove(one);
  }
  /// The receiver has ended the send.
  bool is_over() const noexcept { return is_over_; }
  bool is_awaited() const noexcept { return is_over_ && count_ != 0; }
  /// No access through any of them succeeds any more.
  void end() noexcept {
    for (RailKey& one : all()) one.end();
    count_ = 0;
  }
  RailKeysOfSend* next = nullptr;  ///< of the spare ones

 private:
  friend class RailKeyPool;
  wire::OpId receiver_;  // its name for the operation
  bool is_over_ = false;
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
    one.is_over_ = false;
    one.next = std::exchange(spare_, &one);
  }

 private:
  RailKeysOfSend* spare_ = nullptr;
};

}  // namespace stria::rndv
