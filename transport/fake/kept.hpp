// Payloads that the receiver left where they arrived, by the names that it knows them by; some are still
// being written.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "transport/fake/packet.hpp"

namespace stria::fake {

class Fabric;
class Link;

/// Under the fabric's lock.
class KeptPayloads {
 public:
  void add(std::uint64_t name, QueuedPacket packet, const Link& link, Fabric& fabric);
  void release(std::uint64_t name, Fabric& fabric) noexcept;
  /// As of stria_group_keep_t::kept_arrived.
  std::uint32_t arrived(std::uint64_t name, std::uint32_t bytes, Fabric& fabric) noexcept;
  /// The sender at the other end of the link is gone: the rest of what it was writing comes now, or never.
  void end_growth(const Link& link, bool may_be_cut, Fabric& fabric) noexcept;

 private:
  struct Kept {
    QueuedPacket packet;
    const Link* link;
  };
  std::unordered_map<std::uint64_t, Kept> kept_;
};

}  // namespace stria::fake
