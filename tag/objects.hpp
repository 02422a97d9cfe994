// The objects behind the opaque types of stria.h that carry no behaviour of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "datatype/layout.hpp"
#include "stria/provider.h"
#include "stria/stria.h"
#include "tag/mapped_memory.hpp"
#include "tag/settings.hpp"
#include "transport/loader.hpp"

namespace stria::tag {

class Worker;
struct Peer;

/// Configuration, providers and the job's secret; workers hold a reference.
struct Context {
  Config config;  ///< as providers ask for it
  Settings settings;
  std::vector<std::unique_ptr<const transport::LoadedProvider>> providers;  ///< best first
  std::vector<bool> by_auto;  ///< for each provider: the user has not named it
  std::vector<std::byte> job_secret;
  std::string name;
  std::atomic<unsigned> workers{0};
  MappedMemory memory;
};

/// Opens a context with the built-in providers and those STRIA_PROVIDERS names. Errors name the variable or
/// provider.
Result<std::unique_ptr<Context>> open_context(const stria_context_params_t* params,
                                              std::span<const stria_provider_t* const> builtins);

/// A handle of the application, which leads to a peer.
struct Endpoint {
  Worker* worker = nullptr;  ///< null once closed
  Peer* peer = nullptr;
  void* user = nullptr;  ///< the application's; of a closed endpoint: the next free endpoint
};

/// The STRIA_ACCESS_* bits that a region can have.
inline constexpr unsigned kAllAccess = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE |
                                       STRIA_ACCESS_REMOTE_ATOMIC | STRIA_ACCESS_ATOMIC_WITH_CPU;

/// The beginning of a packed key; remote_key.hpp has the rest.
struct KeyHead {
  std::uint8_t version;
  std::uint8_t parts;   ///< how many keys of devices follow
  std::uint8_t access;  ///< STRIA_ACCESS_* bits of the region
  /// What performs all atomics on the region: an adapter, through its part of the key (kAdapter), or CPUs
  /// (kCpu).
  std::uint8_t performer;
  std::uint8_t reserved[4];
  std::uint64_t owner;   ///< worker id
  std::uint64_t region;  ///< slot index and generation in the owner's table
  std::uint64_t length;  ///< bytes of the packed stream
  static constexpr std::uint8_t kCpu = 0, kAdapter = 1;
};
static_assert(sizeof(KeyHead) == 32);
inline constexpr std::uint8_t kKeyVersion = 2;

struct Region {
  Region() = default;
  ~Region() { stria_layout_free(layout); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  Worker* worker;
  stria_layout_t* layout = nullptr;  ///< a reference that the region holds: `memory` points into the layout
  stria_payload_t memory;
  unsigned access;
  std::uint8_t performer = KeyHead::kCpu;
  std::uint64_t id;
  std::vector<stria_provider_key_t> keys;  ///< one per device; bytes == 0 where the device gave none
};

}  // namespace stria::tag

/// A layout of the API: reference counted, because C callers share it across operations and threads.
struct stria_layout {
  stria::datatype::Layout value;
  std::atomic<unsigned> references{1};
};
