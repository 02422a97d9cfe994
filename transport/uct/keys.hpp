// The keys that a device gives to peers. Each key has a registration of its own, which is made when the key
// is made. A key ends when its owner ends it, or by a message of the peer that it was made for. Making and
// ending a registration are system calls.
//
//   key   UCX's part | KeyTail | KeyStride, only if the memory lies apart            (packets.hpp)
//
// The rights in a key are checked by this provider on the peer's side, before it starts an access. What the
// registration allows the peer's adapter to do is decided by UCX.
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

/// The decoded content of a key.
struct KeyContent {
  KeyTail tail;
  transport::Blocks memory;
  const void* ucx;  ///< UCX's part; points into the key's bytes
};
/// Decodes a key. `ucx_bytes`: the size of UCX's part in keys of this domain. False: the key is not of this
/// provider, or describes memory that cannot exist.
bool read_key(const transport::Key& key, std::uint32_t ucx_bytes, KeyContent& out) noexcept;

/// A slot for a key of this device. The slot is in the list of the link that the key is for, in the list of
/// free slots, or, with a key for every link, in no list.
struct OwnKey : ListNode {
  uct_mem_h memory = nullptr;  ///< null: free
  const Link* link = nullptr;  ///< null: the key is for every link
  std::uint32_t name = 0;      ///< of the present key; the next use of the slot has another name
  transport::Key key{};
};

class Keys {
 public:
  void open(Domain& domain, const stria_services_t& services) noexcept;
  /// Ends all keys. Called before the domain is closed.
  void close() noexcept;

  /// Makes a key (fast_register of the provider contract). `link`: the link of the peer that the key is for;
  /// null: every link.
  Status add(Link* link, const transport::Payload& memory, unsigned access, transport::Key& key) noexcept;
  /// Ends a key (invalidate of the provider contract).
  Status end(const transport::Key& key) noexcept;
  /// Ends the key of this name because a message of the link's peer asks for it. Does nothing unless the key
  /// was made for this link.
  void end_by_message(const Link& link, std::uint32_t name) noexcept;
  /// Ends the keys that were made for the link.
  void end_all_of(Link& link) noexcept;

 private:
  OwnKey* take() noexcept;
  OwnKey* find(std::uint32_t name) noexcept;
  void free(OwnKey& key) noexcept;
  bool write(OwnKey& own, const transport::Blocks& memory, unsigned access) noexcept;

  Domain* domain_ = nullptr;
  const stria_services_t* services_ = nullptr;
  std::deque<OwnKey> all_;        // a deque, so that slots do not move
  IntrusiveList<OwnKey> free_;    // freed longest ago first, so that a name is used again as late as possible
  bool told_of_refusal_ = false;  // memory that cannot be registered is logged once
};

}  // namespace stria::uct
