// Registrations of the application's memory, found again while somebody uses them. They have local rights and
// the right to bind windows, never remote rights: only windows and regions of a key's own grant those.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <memory>

#include "stria/provider.h"
#include "transport/verbs/poster.hpp"

namespace stria::verbs {

struct Region {
  ibv_mr* mr = nullptr;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uint32_t users = 0;
  bool shared = true;  ///< false: made for one transfer, with more rights than others may have
};

class Regions {
 public:
  /// may_bind: the device has windows. sink_rights: what the memory that a read fills needs beside local
  /// writes, as with iWARP; such regions serve one transfer alone.
  void open(ibv_pd* pd, bool may_bind, unsigned sink_rights, const stria_services_t& services,
            Counters& counters) noexcept;
  ~Regions();

  enum class Use { source, sink };
  /// A region that covers the bytes; null when they cannot be registered, of which the log tells once.
  Region* acquire(const void* memory, std::uint64_t bytes, Use use) noexcept;
  void release(Region* region) noexcept;
  /// A region of its own for a key, with remote rights (IBV_ACCESS_*); null as above.
  ibv_mr* make_key(const void* memory, std::uint64_t bytes, unsigned rights) noexcept;

 private:
  Region* add(std::uintptr_t begin, std::uintptr_t end, unsigned rights, bool shared) noexcept;
  ibv_mr* register_memory(std::uintptr_t begin, std::uintptr_t end, unsigned rights) noexcept;

  ibv_pd* pd_ = nullptr;
  unsigned rights_ = 0;
  unsigned sink_rights_ = 0;
  bool told_ = false;
  const stria_services_t* services_ = nullptr;
  Counters* counters_ = nullptr;
  std::multimap<std::uintptr_t, std::unique_ptr<Region>> by_begin_;  // the shared ones, in use
};

}  // namespace stria::verbs
