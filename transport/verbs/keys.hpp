// The keys of a device: memory windows of type 2 and strided keys, which work requests on one link make and
// end, and keys that are a memory region of their own, made and ended by system calls.
//
//   window    free ── take ──► chosen ── posted by the link ──► bound
//               ▲                 │ never posted                 │ ended by the peer's message, by a work
//               └─────────────────┴──────────────────────────────┘ request of this side, or with its link
//
// An rkey is an index of 24 bits, which the adapter gives, and a consumer key of 8 bits, which changes with
// every use of a window. A strided key has the same states as a window, and is kept in a Window; it differs
// in the adapter's object (an mkey) and shows memory that lies apart as one run.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/intrusive_list.hpp"
#include "base/status.hpp"
#include "hw/strided_keys.hpp"
#include "hw/strided_library.hpp"
#include "transport/blocks.hpp"
#include "transport/contract.hpp"
#include "transport/verbs/packets.hpp"
#include "transport/verbs/regions.hpp"

namespace stria::verbs {

using transport::Blocks;
using transport::Span;

class Link;

/// The adapter's object of a strided key, and the pattern that its next work request fills in.
struct StridedKey {
  mlx5dv_mkey* mkey = nullptr;
  hw::KeyPattern pattern;
};

/// A memory window (`mw`) or a strided key (`strided`). While chosen or bound it is in its link's list.
struct Window : ListNode {
  ibv_mw* mw = nullptr;
  std::unique_ptr<StridedKey> strided;
  Region* region = nullptr;  ///< null: free
  Link* link = nullptr;
  Span span;  ///< the memory of a window by its address; of a strided key from 0 on
  std::uint32_t rkey = 0;
  unsigned rights = 0;  ///< IBV_ACCESS_*
  bool posted = false;
};

/// Whether the remote addresses of a window begin at 0. `device_can`: the device has zero-based windows. A
/// window for atomics has the addresses of its memory, so that the peer sees from a word's address that the
/// word is aligned, before it asks the adapter.
constexpr bool is_from_zero(unsigned rights, bool device_can) noexcept {
  return device_can && (rights & IBV_ACCESS_REMOTE_ATOMIC) == 0;
}

/// What the bytes of a key say.
struct KeyContent {
  std::uint32_t rkey = 0;
  KeyKind kind = KeyKind::window;
  unsigned access = 0;  ///< STRIA_ACCESS_* bits
  Blocks memory;
  Span span;  ///< from the lowest byte of `memory` to the highest
};
/// Reads a key's bytes. False: they are no key of this provider, or name memory that cannot exist.
bool read_key(const transport::Key& key, KeyContent& out) noexcept;

class Keys {
 public:
  /// `most`: how many keys of all kinds may be valid at a time.
  void open(ibv_pd* pd, Regions& regions, bool has_windows, std::uint32_t most, Counters& counters) noexcept;
  /// Enables strided keys, of `entries` entries each.
  void open_strided(const hw::StridedLibrary& library, std::uint32_t entries) noexcept;
  /// Frees all windows and keys. To be called before queue pairs are destroyed.
  void close() noexcept;

  /// Takes a free window for memory that `region` covers, with a fresh consumer key. Null: none is left.
  Window* take(Link& link, Region& region, const Span& span, unsigned access) noexcept;
  /// Takes a free strided key for a pattern whose memory `region` covers, with a fresh consumer key. Null:
  /// none is left.
  Window* take_strided(Link& link, Region& region, const hw::KeyPattern& pattern, unsigned access) noexcept;
  /// The window or strided key with this rkey; null when the key has ended.
  Window* find(std::uint32_t rkey) noexcept;
  /// Frees a window that is unbound or was never bound: releases its region and puts it among the free ones.
  void free(Window& window) noexcept;
  /// Ends a window by a system call, where its queue pair cannot post, and frees it, with a new object of the
  /// adapter if there is one.
  void destroy(Window& window) noexcept;
  /// Writes the bytes of the key of a window, for the memory as the peer is to address it.
  static void fill(const Window& window, const Blocks& memory, transport::Key& key) noexcept;

  /// Makes a key that is a region of its own. `lasting`: see Regions::make_key(). Errors: no_resource (as
  /// many keys are valid as may be); unsupported (the memory cannot be registered).
  Status add_region(const Blocks& memory, const Span& span, unsigned access, bool lasting,
                    transport::Key& key) noexcept;
  /// Ends a key that is a region of its own. access_error: there is no such key.
  Status remove_region(const KeyContent& key) noexcept;
  /// How many keys of all kinds are valid.
  std::uint32_t valid() const noexcept { return valid_; }

 private:
  bool make(Window& window) noexcept;    ///< makes the adapter's object of a window that has none
  void unmake(Window& window) noexcept;  ///< destroys that object: a system call
  Window* take_from(std::deque<Window*>& free, bool strided);
  std::deque<Window*>& free_of(const Window& window) noexcept {
    return window.strided != nullptr ? free_strided_ : free_;
  }
  void end_use(Window& window) noexcept;

  ibv_pd* pd_ = nullptr;
  Regions* regions_ = nullptr;
  Counters* counters_ = nullptr;
  bool has_windows_ = false;
  hw::StridedLibrary library_;
  std::uint16_t entries_ = 0;  // of a strided key
  std::uint32_t most_ = 0;
  std::uint32_t valid_ = 0;
  std::deque<Window> windows_;  // all windows and strided keys
  // Free ones, longest free first, so that it takes long until a consumer key is used again.
  std::deque<Window*> free_;
  std::deque<Window*> free_strided_;
  std::unordered_map<std::uint32_t, Window*> by_index_;  // the upper 24 bits of an rkey
  std::unordered_map<std::uint32_t, ibv_mr*> own_;       // keys that are regions of their own, by rkey
};

}  // namespace stria::verbs
