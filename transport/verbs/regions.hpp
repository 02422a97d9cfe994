// Registrations of the application's memory. They have local rights and the right to bind windows, never
// remote rights: only windows and regions of a key's own grant those. Memory that may not be written is
// registered for local reads alone, which serves a put; no window is bound to it. One that is not in use is
// kept while the system tells whether its memory is still there (memory_watch.hpp), up to an amount of bytes;
// the one that was not used for longest goes first.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <memory>

#include "base/intrusive_list.hpp"
#include "base/refused_memory.hpp"
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
  bool shared = true;    ///< false: made for one transfer, with more rights than others may have
  bool known = false;    ///< found by others; no longer when its memory went away
  bool writable = true;  ///< false: for local reads alone
};

class Regions {
 public:
  /// may_bind: the device has windows. sink_rights: what the memory that a read fills needs beside local
  /// writes, as with iWARP; such regions serve one transfer alone. keep_bytes: of memory that nobody uses.
  void open(ibv_pd* pd, bool may_bind, unsigned sink_rights, std::uint64_t keep_bytes,
            MemoryWatch::Source watch, const stria_services_t& services, Counters& counters);
  ~Regions() { close(); }
  void close() noexcept;

  enum class Use {
    source,  ///< of a put: it is read here
    sink,    ///< of a get: it is written here
    window,  ///< a window, or a strided key, is to be bound to it
  };
  /// A region that covers the bytes; null when they cannot be registered, of which the log tells once, if it
  /// is to `tell`. Memory that was refused lately is not tried each time.
  Region* acquire(const void* memory, std::uint64_t bytes, Use use, bool tell = true) noexcept;
  void release(Region* region) noexcept;
  /// A region of its own for a key, with remote rights (IBV_ACCESS_*); null as above. lasting: the key is for
  /// many messages, so memory that was refused lately is tried all the same.
  ibv_mr* make_key(const void* memory, std::uint64_t bytes, unsigned rights, bool lasting) noexcept;

 private:
  Region* find(std::uintptr_t begin, std::uintptr_t end, bool writable) noexcept;
  Region* add(std::uintptr_t begin, std::uintptr_t end, Use use, bool shared, bool tell) noexcept;
  struct Asking {
    bool tell;    ///< the log says so when it is refused, once
    bool insist;  ///< also when it was refused lately
  };
  ibv_mr* register_memory(std::uintptr_t begin, std::uintptr_t end, unsigned rights, Asking how) noexcept;
  void forget(Region& region) noexcept;
  void destroy(Region* region) noexcept;

  ibv_pd* pd_ = nullptr;
  unsigned rights_ = 0;
  unsigned sink_rights_ = 0;
  std::uint64_t keep_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;
  std::uintptr_t page_ = 4096;
  bool told_ = false;
  RefusedMemory refused_;
  const stria_services_t* services_ = nullptr;
  Counters* counters_ = nullptr;
  std::shared_ptr<MemoryWatch> watch_;
  std::multimap<std::uintptr_t, Region*> by_begin_;  // the known ones
  IntrusiveList<Region> unused_;                     // oldest first
};

}  // namespace stria::verbs
