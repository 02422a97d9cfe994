// Registrations of the application's memory, called regions. A region has local rights and the right to bind
// windows, but no remote rights: only windows, and regions that are keys of their own, grant those. (With
// iWARP the region that a get fills needs a remote right, too; it serves one transfer alone.) Memory that may
// not be written is registered for local reads alone, which serves a put; no window is bound to it. A region
// that is not in use stays registered as long as a MemoryWatch can say whether its memory is still there, up
// to an amount of bytes in all; the region that was unused for longest is dropped first.
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

/// While it has no users but stays registered, it is in Regions::unused_.
struct Region : ListNode {
  ibv_mr* mr = nullptr;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uint32_t users = 0;
  int mark = MemoryWatch::kNone;  ///< of its memory; kNone: not watched
  bool shared = true;             ///< false: made for one transfer alone
  bool known = false;             ///< find() sees it; no longer when its memory went away
  bool writable = true;           ///< false: registered for local reads alone
};

class Regions {
 public:
  struct Setup {
    ibv_pd* pd;
    bool may_bind;  ///< the device has windows
    /// The rights that memory which a get fills needs beside local writes, as with iWARP. If there are any,
    /// the region of a get serves one transfer alone.
    unsigned sink_rights;
    std::uint64_t keep_bytes;  ///< how much unused memory stays registered
    MemoryWatch::Source watch;
  };
  void open(const Setup& setup, const stria_services_t& services, Counters& counters);
  ~Regions() { close(); }
  void close() noexcept;

  enum class Use {
    source,  ///< the local memory of a put, which is read
    sink,    ///< the local memory of a get, which is written
    window,  ///< a window or a strided key is to be bound to the region
  };
  /// Finds or makes a region that covers the bytes, for one more user. Null: they cannot be registered, which
  /// the log says once, unless `tell` is false. Memory that was refused lately is not tried each time.
  Region* acquire(const void* memory, std::uint64_t bytes, Use use, bool tell = true) noexcept;
  /// Ends one use of the region.
  void release(Region* region) noexcept;
  /// Registers memory as a key of its own, with remote rights (IBV_ACCESS_*), which the caller deregisters.
  /// Null: the memory cannot be registered, which the log says once. lasting: the key is for many messages,
  /// so memory that was refused lately is tried all the same.
  ibv_mr* make_key(const void* memory, std::uint64_t bytes, unsigned rights, bool lasting) noexcept;

 private:
  Region* find(std::uintptr_t begin, std::uintptr_t end, bool writable) noexcept;
  Region* add(std::uintptr_t begin, std::uintptr_t end, Use use, bool shared, bool tell) noexcept;
  struct Asking {
    bool tell;    ///< if the memory is refused, the log says so, once
    bool insist;  ///< ask the driver also for memory that was refused lately
  };
  ibv_mr* register_memory(std::uintptr_t begin, std::uintptr_t end, unsigned rights, Asking how) noexcept;
  void forget(Region& region) noexcept;
  void destroy(Region* region) noexcept;

  ibv_pd* pd_ = nullptr;
  unsigned rights_ = 0;
  unsigned sink_rights_ = 0;
  std::uint64_t keep_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;  // of unused_
  std::uintptr_t page_ = 4096;
  bool told_ = false;  // the log said that memory cannot be registered
  RefusedMemory refused_;
  const stria_services_t* services_ = nullptr;
  Counters* counters_ = nullptr;
  std::shared_ptr<MemoryWatch> watch_;
  std::multimap<std::uintptr_t, Region*> by_begin_;  // the known regions
  IntrusiveList<Region> unused_;                     // the longest unused first
};

}  // namespace stria::verbs
