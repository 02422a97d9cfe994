// The world that some fake devices share: the lock, the random numbers, and who is in it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "transport/contract.hpp"
#include "transport/fake/control.hpp"

namespace stria::fake {

class Device;

class Fabric {
 public:
  explicit Fabric(const FabricOptions& options);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  const FabricOptions& options() const noexcept { return options_; }
  std::uint64_t id() const noexcept { return id_; }
  std::mutex& mutex() noexcept { return mutex_; }

  // The rest: under the lock.
  std::uint32_t add(Device& device);  ///< returns the device's number
  void remove(Device& device) noexcept;
  Device* find(std::uint32_t number) noexcept;
  /// The device of a worker; null: there is none.
  Device* find(std::uint64_t worker_id, std::uint32_t index) noexcept;
  /// A number in [0, limit].
  std::uint64_t random(std::uint64_t limit) noexcept;
  bool chance(std::uint32_t percent) noexcept { return percent > 0 && random(99) < percent; }
  Statistics& statistics() noexcept { return statistics_; }
  void refuse_memory(const std::byte* begin, std::size_t bytes) { refused_.push_back({begin, bytes}); }
  void meddle(std::function<Fate(stria_header_t&)> fate) noexcept { fate_ = std::move(fate); }
  Fate fate(stria_header_t& fragment) const { return fate_ ? fate_(fragment) : Fate::arrives; }
  /// Whether the range holds a byte that refuse_memory() named.
  bool refuses(const transport::Payload& payload) const noexcept;

  // Any time.
  void refuse_copies() noexcept { copies_refused_.store(true, std::memory_order_relaxed); }
  bool copies_refused() const noexcept { return copies_refused_.load(std::memory_order_relaxed); }

 private:
  std::vector<Device*>::iterator place_of(std::uint32_t number) noexcept;

  const FabricOptions options_;
  const std::uint64_t id_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::uint32_t next_device_ = 1;
  std::vector<Device*> devices_;  // by number
  Statistics statistics_;
  std::vector<std::span<const std::byte>> refused_;
  std::function<Fate(stria_header_t&)> fate_;
  std::atomic<bool> copies_refused_{false};
};

/// The fabric that this thread selected, else the process's default one made from STRIA_FAKE_*. Errors: the
/// default one is in use with other values.
Result<std::shared_ptr<Fabric>> fabric_for(const transport::DeviceParams& params);

/// The fabric that this thread selected; null: none.
const Fabric* selected_fabric() noexcept;

/// Selects a fabric for this thread (may be empty) and returns the one before.
std::shared_ptr<Fabric> select_fabric(std::shared_ptr<Fabric> fabric) noexcept;

}  // namespace stria::fake
