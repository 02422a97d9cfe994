// The keys of a device: memory that is registered for peers, each time anew, and named by a key that ends
// when its owner, or the last message of a peer, says so. A registration is a system call, and so is its end.
//
//   key   UCX's part | KeyTail | KeyStride, where the memory lies apart            (packets.hpp)
//
// What registrations of UCX allow a peer's adapter is UCX's business; the rights in the key are what this
// provider asks before it starts an access.
#pragma once

#include <uct/api/uct.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "base/intrusive_list.hpp"
#include "transport/blocks.hpp"
#include "transport/contract.hpp"
#include "transport/uct/domain.hpp"
#include "transport/uct/packets.hpp"

namespace stria::uct {

class Link;

inline constexpr std::uint32_t kKeysMost = 4096;  // valid at a time

/// What a key says.
struct KeyContent {
  KeyTail tail;
  transport::Blocks memory;
  const void* ucx;  ///< UCX's part, in the key
};
/// Reads a key's bytes, of a domain whose keys have `ucx_bytes`. False: they are none of this provider, or
/// name memory that cannot be.
bool read_key(const transport::Key& key, std::uint32_t ucx_bytes, KeyContent& out) noexcept;

/// Memory that is registered for peers; in the list of the link that the key is for, or of the free ones.
struct OwnKey : ListNode {
  uct_mem_h memory = nullptr;  ///< null: free
  const Link* link = nullptr;  ///< null: for every link
  std::uint32_t name = 0;
  transport::Key key{};
};

class Keys {
 public:
  void open(Domain& domain, const stria_services_t& services) noexcept;
  /// Ends all of them, before the domain is closed.
  void close() noexcept;

  /// The contract's fast_register and invalidate.
  Status add(Link* link, const transport::Payload& memory, unsigned access, transport::Key& key) noexcept;
  Status end(const transport::Key& key) noexcept;
  /// A message of the link's peer ends the key, if it was made for the link.
  void end_by_message(const Link& link, std::uint32_t name) noexcept;
  void end_all_of(Link& link) noexcept;

 private:
  OwnKey* take() noexcept;
  OwnKey* find(std::uint32_t name) noexcept;
  void free(OwnKey& key) noexcept;
  bool write(OwnKey& own, const transport::Blocks& memory, unsigned access) noexcept;

  Domain* domain_ = nullptr;
  const stria_services_t* services_ = nullptr;
  std::deque<OwnKey> all_;      // they do not move
  IntrusiveList<OwnKey> free_;  // oldest first: a name comes round late
  bool told_ = false;
};

}  // namespace stria::uct
