// How a test drives the fake provider. A fabric is a world of its own: devices opened while a thread has it
// selected belong to it and reach each other, nobody else. Its scheduler draws every choice from one seed, so
// a run that is driven by one thread is repeatable: print the seed when a test fails.
//
//   auto fabric = fake::make_fabric({.seed = seed, .delay = 8, .no_resource_percent = 20});
//   fake::UseFabric use(fabric);        // devices this thread opens from here on are in it
//   ... open contexts and workers with provider "fake" ...
//   fake::kill(*fabric, worker_id, fake::Loss::random);
//
// Devices opened without a selected fabric share the process's default one, made from STRIA_FAKE_*.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "stria/provider.h"

namespace stria::fake {

class Fabric;

inline constexpr std::uint32_t kMostDevices = 4;

/// Times are steps: one call of a device's progress, or a look at one of its links, is one step of that
/// device.
struct FabricOptions {
  std::uint64_t seed = 1;
  std::uint32_t devices = 1;     ///< of each worker; 1 to kMostDevices
  std::uint32_t delay = 4;       ///< longest delay of a packet in steps of the receiver; 0: none
  std::uint32_t queue = 16;      ///< packets of one link and direction before no_resource
  std::uint32_t accesses = ~0u;  ///< gets, puts and atomics of one link under way before no_resource
  /// Sends and atomics refused at random although there is room; below 100.
  std::uint32_t no_resource_percent = 0;
  std::uint32_t connect_delay = 0;  ///< longest time until a link is up; sends answer no_resource before
  std::uint32_t async_percent = 0;  ///< gets, puts and atomics that complete later instead of at once
  /// Fragments that go before some of the older ones on their path, as if they came by another link.
  std::uint32_t fragment_overtakes_percent = 0;
  bool death_seen_by_check_only = false;  ///< link_down comes from check(), not from progress()

  /// Rounds in which the device of an index moves nothing, so that it is slower; below 100.
  std::array<std::uint32_t, kMostDevices> idle_percent{};

  bool pio = true;  ///< what is switched off is absent from the capabilities and answers unsupported
  bool get = true;
  bool put = true;
  bool atomics = true;  ///< as an adapter's
  bool fast_register = true;
  bool send_invalidate = true;
  bool event_fd = true;
  bool zcopy = true;                   ///< payloads are sent out of the caller's memory
  bool offload = false;                ///< get_finish works, as with an adapter
  bool looks = true;                   ///< at the next packet of one link
  bool keeps = false;                  ///< payloads of every other packet may stay where they are
  bool maps = false;                   ///< memory of stria_mem_alloc is mapped by all devices
  bool contiguous_keys_only = false;   ///< fast_register of anything else answers unsupported
  bool contiguous_zcopy_only = false;  ///< and zcopy_send
  /// Payloads of eager_send that are delivered while they are written.
  std::uint32_t grows_percent = 0;
  /// Links whose caches are far apart at first, and rounds of a device in which that changes for one link.
  std::uint32_t far_percent = 0;
  std::uint32_t far_changes_percent = 0;
  /// Zero-copy sends that take a copy and answer OK.
  std::uint32_t zcopy_copies_percent = 10;
  /// Payloads of the buffered path and of zero-copy sends for which the sink is asked where they are to go.
  std::uint32_t places_percent = 75;

  std::uint32_t pio_max = 256;            ///< payload bytes
  std::uint32_t pio_windows = 1024;       ///< links of a device that have a window
  std::uint32_t pio_window_bytes = 8192;  ///< credit of one link and direction, headers included
  std::uint32_t eager_max = 16384;        ///< payload bytes
  std::uint32_t zcopy_max = 40960;        ///< payload bytes
  std::uint32_t latency_ns = 0;           ///< that links state; nothing waits for it
  std::uint32_t max_keys = 4096;
  std::uint32_t key_bytes = 16;  ///< of every key; 16 to 64
};

/// A fabric lives while a handle or one of its devices does.
std::shared_ptr<Fabric> make_fabric(const FabricOptions& options);

/// Selects a fabric for the devices that this thread opens, until the scope ends.
class UseFabric {
 public:
  explicit UseFabric(std::shared_ptr<Fabric> fabric);
  ~UseFabric();
  UseFabric(const UseFabric&) = delete;
  UseFabric& operator=(const UseFabric&) = delete;

 private:
  std::shared_ptr<Fabric> previous_;
};

enum class Loss : std::uint8_t {
  none,    ///< what was sent before the death still arrives
  random,  ///< of each path a random tail is lost
};

/// The devices of `worker_id` die as by kill -9: their own calls do nothing from now on, their keys are gone,
/// peers see link_down after what was not lost. They must still be closed. False: no such worker. Any thread;
/// the devices themselves must not be in use by another thread.
bool kill(Fabric& fabric, std::uint64_t worker_id, Loss loss);

/// A device of a worker is cut off, as when its cable is pulled: all its links end, and it is unreachable
/// from then on. Both ends of a link see link_down with IO, each at a step of its own, after what was not
/// lost. The worker's other devices, and all keys, stay as they are. False: no such device. Threads: as of
/// kill, for the devices at both ends.
bool cut_device(Fabric& fabric, std::uint64_t worker_id, std::uint32_t device, Loss loss);

/// The link between two workers by their devices of that index is cut, as by cut_device. They may connect
/// again when both have seen link_down. False: no such link.
bool cut_link(Fabric& fabric, std::uint64_t worker_id, std::uint64_t peer, std::uint32_t device, Loss loss);

/// While blocked, what `from` sends to `to` by links that are there now stays in the queue (sends answer
/// no_resource once it is full). False: no such link. Death ends a block.
bool block(Fabric& fabric, std::uint64_t from, std::uint64_t to, bool blocked);

/// From now on gets, puts and atomics answer unsupported and the limits of every link say so, as when the
/// system forbids what it allowed before.
void refuse_copies(Fabric& fabric);

/// From now on a get or put with a byte of this memory on either side moves a half of what it should and
/// answers unsupported, at once or by its completion, while the limits of the links stay as they are: the
/// memory is one that the system does not pin for other processes.
void refuse_memory(Fabric& fabric, const void* memory, std::size_t bytes);

/// What becomes of a fragment on its way.
enum class Fate : std::uint8_t { arrives, lost, doubled };
/// From now on `fate` decides for each fragment of the fabric when it is sent, and may change its header. It
/// is called under the fabric's lock, so it calls nothing of the fabric. An empty function: all arrive.
void meddle(Fabric& fabric, std::function<Fate(stria_header_t& fragment)> fate);

/// What the fabric did so far.
struct Statistics {
  std::uint64_t delivered_pio = 0;
  std::uint64_t delivered_buffered = 0;
  std::uint64_t overtakes = 0;           ///< packets delivered before an older one of the link's other path
  std::uint64_t fragment_overtakes = 0;  ///< fragments that went before an older one of their path
  std::uint64_t refused = 0;             ///< sends answered with no_resource
  std::uint64_t completed_later = 0;     ///< gets, puts and atomics that were asynchronous
  std::uint64_t atomics = 0;             ///< performed
  std::uint64_t keys_ended_here = 0;     ///< by invalidate(), before the peer's message did
  std::uint64_t memory_refused = 0;      ///< gets and puts of memory that refuse_memory() named
  std::uint64_t taken = 0;               ///< packets, where they lay
  std::uint64_t zcopy_sends = 0;         ///< that answered IN_PROGRESS
  std::uint64_t mapped = 0;              ///< gets, puts and atomics through mapped keys
  std::uint64_t grown = 0;               ///< payloads delivered while they were written
  std::uint64_t left = 0;                ///< of these, for another time: the sender stood still
  std::uint64_t distances = 0;           ///< changes between near and far
  std::uint64_t placed = 0;              ///< payloads that went into memory that the sink named
  std::uint64_t lost = 0;                ///< packets that died with a device
  std::uint64_t kept = 0;                ///< payloads that were kept, and not released yet, now
  std::uint64_t all_kept = 0;            ///< that were ever
  std::uint64_t in_flight = 0;           ///< packets sent and not delivered, now
  std::uint64_t looks = 0;  ///< at links, of progress calls that searched for something to deliver
};
Statistics statistics(Fabric& fabric);

/// Valid keys of the devices of `worker_id` now: 0 after a test says that nothing leaked.
std::size_t valid_keys(Fabric& fabric, std::uint64_t worker_id);

}  // namespace stria::fake
