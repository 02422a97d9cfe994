// Regions: the memory of a worker that peers reach. Each region is registered with every device. When a peer
// asks the engine for an access that its provider cannot make, the region is found by its name in the packed
// key.
#pragma once

#include <cstdint>

#include "rndv/op_table.hpp"
#include "tag/devices.hpp"
#include "tag/objects.hpp"
#include "transport/contract.hpp"
#include "transport/wire.hpp"

namespace stria::tag {

/// Threads: called with the worker's lock held.
class Regions {
 public:
  explicit Regions(const Devices& devices) noexcept : devices_(devices) {}
  ~Regions();
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  /// Registers memory with every device. The region stays until remove().
  Result<Region*> add(Worker& worker, void* base, const stria_layout_t* layout, std::uint64_t count,
                      unsigned access);
  /// Ends the region's keys, so that no new access finds the region. Accesses that the engine serves may
  /// still be under way; remove() follows.
  void withdraw(const Region& region) noexcept;
  static void remove(Region* region) noexcept { delete region; }

  // Requests of a peer. Every argument comes from the peer, so it is checked.
  /// Finds the memory of the part of a region that a put or get is about; `right` is the STRIA_ACCESS_* bit
  /// that it needs.
  Status find(std::uint64_t region, unsigned right, const wire::RmaBody& body,
              stria_payload_t& memory) const noexcept;
  /// Performs an atomic on a region; `before` gets the word as it was.
  Status perform(std::uint64_t region, const transport::Atomic& what, std::uint64_t& before) const noexcept;

 private:
  /// The rights of `access` that the device is asked for when it makes a region's key.
  unsigned rights_for(const Device& device, unsigned access) const noexcept;

  const Devices& devices_;
  rndv::NameTable<Region> table_;
};

}  // namespace stria::tag
