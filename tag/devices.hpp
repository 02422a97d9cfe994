// Devices: the devices that a worker has open, one or several of each provider, in the order of the context's
// providers. A device that cannot be opened is left out; the others are used. A device's number is its place
// in this list; its index, by which peers know it, is its place among all devices of its provider.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tag/objects.hpp"
#include "transport/hot_ops.hpp"
#include "transport/link_ref.hpp"

namespace stria::tag {

/// A provider's device under a worker.
struct Device {
  Worker* worker;       ///< for the provider's upcalls, which get this Device as `self`
  std::uint8_t number;  ///< place among the worker's devices
  std::uint8_t index;   ///< place among all devices of the provider
  const stria_provider_t* provider;
  const transport::HotOps* ops;  ///< the provider's data-path functions
  stria_device_t* handle = nullptr;
  stria_sink_t sink;
  std::string label;               ///< for messages: the provider's name, and the index where it has several
  std::vector<std::byte> address;  ///< the device's part of the worker's address
  enum class Atomics : std::uint8_t {
    none,
    cpu,
    adapter
  } atomics = Atomics::none;  ///< what performs the atomics that go by this device

  const char* name() const noexcept { return provider->name; }
  /// Describes a link of the device, with what the link can do now.
  transport::LinkRef link_ref(stria_link_t* link) const noexcept;
};

/// Threads: called with the worker's lock held.
class Devices {
 public:
  /// Opens all devices that can be opened, and makes the worker's address. `upcalls` has the functions that
  /// each device's sink gets. Errors: invalid (there are more devices than a worker may have; none is
  /// opened); io_error (no device could be opened; the text has the reason of each).
  Result<void> open(Context& context, Worker& worker, std::uint64_t worker_id, const stria_sink_t& upcalls);
  /// Closes all devices. Until the deadline, which is the same for all of them, they may send what they still
  /// have.
  void close(MappedMemory& memory, std::chrono::steady_clock::time_point deadline) noexcept;

  std::size_t size() const noexcept { return devices_.size(); }
  const Device& operator[](std::size_t number) const noexcept { return *devices_[number]; }
  auto begin() const noexcept { return devices_.begin(); }
  auto end() const noexcept { return devices_.end(); }
  /// The worker's address: the parts of all devices.
  const std::vector<std::byte>& address() const noexcept { return address_; }

  /// Calls progress of each device, with a budget of `budget` events for each. Returns the number of events
  /// handled.
  unsigned progress(unsigned budget) const noexcept {
    unsigned handled = 0;
    for (const Poll* poll = polls_.data(); poll != polls_.data() + polls_.size(); ++poll)
      handled += poll->progress(poll->device, budget);
    return handled;
  }
  /// Has each device check whether its peers are alive. Upcalls that this causes end requests.
  void check() const noexcept;
  /// Arms all devices. ok: each makes its event descriptor readable when something comes. Else the status of
  /// the first device that refuses; the devices after it are not armed.
  Status arm() const noexcept;
  /// The event descriptors of all devices; empty when a device has none. Throws bad_alloc.
  std::vector<int> event_fds() const;

 private:
  /// What a round of progress needs of a device.
  struct Poll {
    unsigned (*progress)(stria_device_t*, unsigned budget);
    stria_device_t* device;
  };
  static Result<std::vector<std::uint8_t>> count(const Context& context);
  static Result<void> open_one(Context& context, std::uint64_t worker_id, Device& device);

  std::vector<Poll> polls_;  // of devices_, in their order
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::byte> address_;
};

}  // namespace stria::tag
