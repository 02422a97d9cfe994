// The keys by which a peer reads the memory of one send over rails. (The announced key is for the main link.)
// A send has no such keys, and no object for them, until the receiver asks for one by a rail (rail_keys.hpp).
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

/// The key of one rail. The link may be gone before the key is ended, so `ops` and `device`, which end it,
/// are kept here.
struct RailKey {
  const transport::LinkRef* link = nullptr;
  const transport::HotOps* ops = nullptr;
  stria_device_t* device = nullptr;
  transport::Key key;
  std::uint8_t number = 0;  ///< the receiver's number for the rail
  bool is_due = false;      ///< the answer with the key has not found room yet

  /// The receiver has the key, or will get it.
  bool is_given() const noexcept { return key.bytes != 0 && !is_due; }
  void end() noexcept {
    if (key.bytes != 0) static_cast<void>(ops->invalidate(device, &key));
    key.bytes = 0;
  }
};

/// The keys of rails of one send. Once the receiver has ended the send, only those keys are left that the
/// receiver ends by a packet of their rail; these packets are awaited.
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
  /// Adds the rail, without a key. Null: there are more rails than a worker has devices.
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
  /// Ends the key of `one`, and forgets its rail.
  void remove(RailKey& one) noexcept {
    one.end();
    one = all_[--count_];
  }
  /// The receiver has ended the send. The keys of the rails whose bits are set in `rails` are awaited; all
  /// other keys end.
  void await(std::uint8_t rails) noexcept {
    is_over_ = true;
    for (std::size_t i = count_; i-- > 0;)
      if (RailKey& one = all_[i]; !one.is_given() || (rails >> one.number & 1) == 0) remove(one);
  }
  /// The receiver has ended the send.
  bool is_over() const noexcept { return is_over_; }
  bool is_awaited() const noexcept { return is_over_ && count_ != 0; }
  /// Ends all keys: no access through any of them succeeds any more.
  void end() noexcept {
    for (RailKey& one : all()) one.end();
    count_ = 0;
  }
  RailKeysOfSend* next = nullptr;  ///< in a RailKeyPool: the next spare one

 private:
  friend class RailKeyPool;
  wire::OpId receiver_;  // the receiver's name for the operation
  bool is_over_ = false;
  std::size_t count_ = 0;
  std::array<RailKey, STRIA_DEVICES_MAX> all_;
};

/// The spare RailKeysOfSend objects, which no send uses.
class RailKeyPool {
 public:
  RailKeyPool() = default;
  RailKeyPool(const RailKeyPool&) = delete;
  RailKeyPool& operator=(const RailKeyPool&) = delete;
  ~RailKeyPool() {
    while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
  }

  /// Returns an object without keys for a send that the receiver knows by the name `receiver`; null: no
  /// memory.
  RailKeysOfSend* acquire(wire::OpId receiver) noexcept {
    if (spare_ == nullptr) return new (std::nothrow) RailKeysOfSend(receiver);
    RailKeysOfSend* const one = std::exchange(spare_, spare_->next);
    one->receiver_ = receiver;
    return one;
  }
  /// Takes an object back without ending its keys: their provider has ended them, or end() was called.
  void release(RailKeysOfSend& one) noexcept {
    one.count_ = 0;
    one.is_over_ = false;
    one.next = std::exchange(spare_, &one);
  }

 private:
  RailKeysOfSend* spare_ = nullptr;
};

}  // namespace stria::rndv
