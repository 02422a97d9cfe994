// The keys of a device: memory windows of type 2 and strided keys, made and ended by work requests on one
// link, and regions of their own for keys that every link may use.
//
//   window    free ── take ──► chosen ── posted by the link ──► bound
//               ▲                 │ never posted                 │ ended by the peer's message, by a work
//               └─────────────────┴──────────────────────────────┘ request of ours, or with its link
//
// The adapter gives the index, 24 bits; the consumer key, 8 bits, changes with every use. A strided key lives
// as a window does; what differs is what it is made of, and that it shows memory that lies apart as one run.
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

/// The adapter's part of a strided key, and what its next work request says.
struct StridedKey {
  mlx5dv_mkey* mkey = nullptr;
  hw::KeyPattern pattern;
};

/// In the list of its link while it is chosen or bound. One of the two is the adapter's part.
struct Window : ListNode {
  ibv_mw* mw = nullptr;
  std::unique_ptr<StridedKey> strided;
  Region* region = nullptr;
  Link* link = nullptr;
  Span span;  ///< as the key says it: of a strided one from 0 on
  std::uint32_t rkey = 0;
  unsigned rights = 0;  ///< IBV_ACCESS_*
  bool posted = false;
};

/// Whether the remote addresses of a window begin at 0, on a device that has such. With atomics they do not:
/// by its address a word is seen to be aligned before the adapter is asked.
constexpr bool is_from_zero(unsigned rights, bool device_can) noexcept {
  return device_can && (rights & IBV_ACCESS_REMOTE_ATOMIC) == 0;
}

/// What a key says: its memory, and from where to where that lies.
struct KeyContent {
  std::uint32_t rkey = 0;
  KeyKind kind = KeyKind::window;
  unsigned access = 0;  ///< STRIA_ACCESS_* bits
  Blocks memory;
  Span span;
};
/// Reads a key's bytes; false when they are none of this provider, or name memory that cannot be.
bool read_key(const transport::Key& key, KeyContent& out) noexcept;

class Keys {
 public:
  void open(ibv_pd* pd, Regions& regions, bool has_windows, std::uint32_t most, Counters& counters) noexcept;
  /// Strided keys too, of so many entries, `most` at a time as well.
  void open_strided(const hw::StridedLibrary& library, std::uint32_t entries) noexcept;
  /// Windows must go before their queue pairs.
  void close() noexcept;

  /// A free window with a fresh key, for the region that covers the memory; null: none is left.
  Window* take(Link& link, Region& region, const Span& span, unsigned access) noexcept;
  /// A free strided key with a fresh consumer key, for the pattern, whose memory the region covers.
  Window* take_strided(Link& link, Region& region, const hw::KeyPattern& pattern, unsigned access) noexcept;
  /// The window of this key, while the key is not ended.
  Window* find(std::uint32_t rkey) noexcept;
  /// It is unbound, or was never bound: its region is let go, and it serves again.
  void free(Window& window) noexcept;
  /// Ends it without its queue pair's help: a system call.
  void destroy(Window& window) noexcept;
  static void fill(const Window& window, const Blocks& memory, transport::Key& key) noexcept;

  /// A key of a region of its own; `lasting` as Regions::make_key's.
  Status add_region(const Blocks& memory, const Span& span, unsigned access, bool lasting,
                    transport::Key& key) noexcept;
  /// access_error: no such key.
  Status remove_region(const KeyContent& key) noexcept;
  std::uint32_t valid() const noexcept { return valid_; }

 private:
  bool make(Window& window) noexcept;    ///< the adapter's part of a window that is new or lost it
  void unmake(Window& window) noexcept;  ///< a system call
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
  std::uint16_t entries_ = 0;
  std::uint32_t most_ = 0;
  std::uint32_t valid_ = 0;
  std::deque<Window> windows_;
  std::deque<Window*> free_;                             // oldest first: a consumer key comes round late
  std::deque<Window*> free_strided_;                     // likewise
  std::unordered_map<std::uint32_t, Window*> by_index_;  // of the adapter
  std::unordered_map<std::uint32_t, ibv_mr*> own_;       // by rkey
};

}  // namespace stria::verbs
