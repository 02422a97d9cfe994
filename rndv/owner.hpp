// Owner: what the parts of an engine tell the owner of the engine, what they ask it, and what they count for
// it.
#pragma once

#include <cstdint>
#include <span>

#include "rndv/operation.hpp"

namespace stria::rndv {

/// What the owner hears; op.outcome has the result.
struct Events {
  void* self = nullptr;
  void (*sent)(void* self, SendOp& op) = nullptr;
  void (*received)(void* self, RecvOp& op) = nullptr;
  /// The provider refused a get or put that the link's limits promise (UNSUPPORTED). Either they changed, and
  /// the owner renews them, or it was the memory of this one operation, and they are as they were.
  void (*refused)(void* self, const transport::LinkRef& link) = nullptr;
  /// The rails of the link's peer, which are valid until the next call, and each until fail_rail(). Sends on
  /// one that is not up yet answer no_resource. Asked for links that are `railed` alone; the owner connects
  /// rails that are missing.
  std::span<const transport::LinkRef* const> (*rails)(void* self, const transport::LinkRef& link) = nullptr;
  /// As refused(), of a get by a rail of the link's peer.
  void (*refused_by_rail)(void* self, const transport::LinkRef& link,
                          const transport::LinkRef& rail) = nullptr;
};

struct Counters {
  std::uint64_t get = 0;
  std::uint64_t mapped = 0;
  std::uint64_t mapped_both = 0;
  std::uint64_t both = 0;
  std::uint64_t pipeline = 0;
  std::uint64_t fallbacks = 0;
  std::uint64_t by_rails = 0;  ///< pieces that came whole by rails
};

class Owner {
 public:
  explicit Owner(const Events& events) noexcept : events_(events) {}

  /// The operation is over. The owner may free or reuse it, and start others, before it returns.
  void sent(SendOp& op) const { events_.sent(events_.self, op); }
  void received(RecvOp& op) const { events_.received(events_.self, op); }
  /// The provider refused a get or put that the link's limits promise.
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
  /// Only when has_rails().
  std::span<const transport::LinkRef* const> rails(const transport::LinkRef& link) const {
    return events_.rails(events_.self, link);
  }

  Counters counters;

 private:
  const Events events_;
};

}  // namespace stria::rndv
