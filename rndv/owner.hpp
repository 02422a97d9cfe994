// Owner: the upcalls of an engine's parts to the owner of the engine, which is the worker, and the counters
// that they keep for it.
#pragma once

#include <cstdint>
#include <span>

#include "rndv/operation.hpp"

namespace stria::rndv {

/// Upcalls to the owner. sent, received: the operation has ended; op.outcome has the result.
struct Events {
  void* self = nullptr;
  void (*sent)(void* self, SendOp& op) = nullptr;
  void (*received)(void* self, RecvOp& op) = nullptr;
  /// The provider refused (UNSUPPORTED) a get or put that the link's limits promise. Either the limits have
  /// changed, and the owner renews them; or the memory of this one operation was the reason, and the limits
  /// are as they were.
  void (*refused)(void* self, const transport::LinkRef& link) = nullptr;
  /// Returns the rails of the link's peer; connects rails that are missing. The list is valid until the next
  /// call, a rail until fail_rail(). A send by a rail that is not up yet answers no_resource. Called only for
  /// links that are `railed`.
  std::span<const transport::LinkRef* const> (*rails)(void* self, const transport::LinkRef& link) = nullptr;
  /// The provider refused (UNSUPPORTED) a get by `rail`, one of the rails of the link's peer.
  void (*refused_by_rail)(void* self, const transport::LinkRef& link,
                          const transport::LinkRef& rail) = nullptr;
};

/// Messages received by scheme, and other counts.
struct Counters {
  std::uint64_t get = 0;
  std::uint64_t mapped = 0;
  std::uint64_t mapped_both = 0;
  std::uint64_t pipeline = 0;
  std::uint64_t fallbacks = 0;  ///< refused gets and puts, and those that a peer's engine was asked to serve
  std::uint64_t by_rails = 0;   ///< pieces that came whole by rails
};

class Owner {
 public:
  explicit Owner(const Events& events) noexcept : events_(events) {}

  /// The operation is over. The owner may free or reuse it, and start others, before the call returns.
  void sent(SendOp& op) const { events_.sent(events_.self, op); }
  void received(RecvOp& op) const { events_.received(events_.self, op); }
  /// The provider refused a get or put on the link. Counts that, and tells the owner.
  [[gnu::cold, gnu::noinline]] void refused(const transport::LinkRef& link) noexcept {
    ++counters.fallbacks;
    if (events_.refused != nullptr) events_.refused(events_.self, link);
  }
  [[gnu::cold, gnu::noinline]] void refused_by_rail(const transport::LinkRef& link,
                                                    const transport::LinkRef& rail) noexcept {
    ++counters.fallbacks;
    if (events_.refused_by_rail != nullptr) events_.refused_by_rail(events_.self, link, rail);
  }
  bool has_rails() const noexcept { return events_.rails != nullptr; }
  /// The rails of the link's peer. To be called only when has_rails().
  std::span<const transport::LinkRef* const> rails(const transport::LinkRef& link) const {
    return events_.rails(events_.self, link);
  }

  Counters counters;

 private:
  const Events events_;
};

}  // namespace stria::rndv
