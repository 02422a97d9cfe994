// Registrations of the application's memory. They have local rights and the right to bind windows, never
// remote rights: only windows and regions of a key's own grant those. One that nobody uses is kept while the
// system tells whether its memory is still there (memory_watch.hpp), up to an amount of bytes; the one that
// was not used for longest goes first.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <memory>

#include "base/intrusive_list.hpp"
#include "stria/provider.h"
#include "transport/verbs/memory_watch.hpp"
#include "transport/verbs/poster.hpp"

namespace stria::verbs {

/// In the list of those that are kept while nobody uses it.
struct Region : ListNode {
  ibv_mr* mr = nullptr;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uint32_t users = 0;
  int mark = MemoryWatch::kNone;
  bool shared = true;  ///< false: made for one transfer, with more rights than others may have
  bool known = false;  ///< found by others; no longer when its memory went away
};

class Regions {
 public:
  /// may_bind: the device has windows. sink_rights: what the memory that a read fills needs beside local
  /// writes, as with iWARP; such regions serve one transfer alone. keep_bytes: of memory that nobody uses.
  void open(ibv_pd* pd, bool may_bind, unsigned sink_rights, std::uint64_t keep_bytes,
            MemoryWatch::Source watch, const stria_services_t& services, Counters& counters);
  ~Regions() { close(); }
  void close() noexcept;

  enum class Use { source, sink };
  /// A region that covers the bytes; null when they cannot be registered, of which the log tells once.
  Region* acquire(const void* memory, std::uint64_t bytes, Use use) noexcept;
  void release(Region* region) noexcept;
  /// A region of its own for a key, with remote rights (IBV_ACCESS_*); null as above.
  ibv_mr* make_key(const void* memory, std::uint64_t bytes, unsigned rights) noexcept;

 private:
  Region* find(std::uintptr_t begin, std::uintptr_t end) noexcept;
  Region* add(std::uintptr_t begin, std::uintptr_t end, unsigned rights, bool shared) noexcept;
  ibv_mr* register_memory(std::uintptr_t begin, std::uintptr_t end, unsigned rights, bool tell) noexcept;
  void forget(Region& region) noexcept;
  void destroy(Region* region) noexcept;

  ibv_pd* pd_ = nullptr;
  unsigned rights_ = 0;
  unsigned sink_rights_ = 0;
  std::uint64_t keep_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;
  std::uintptr_t page_ = 4096;
  bool told_ = false;
  const stria_services_t* services_ = nullptr;
  Counters* counters_ = nullptr;
  std::shared_ptr<MemoryWatch> watch_;
  std::multimap<std::uintptr_t, Region*> by_begin_;  // the known ones
  IntrusiveList<Region> unused_;                     // oldest first
};

}  // namespace stria::verbs
