// The provider contract as a C++20 concept, and the table of stria/provider.h generated from it. A provider
// inside the tree is a Device class and a Link class; the table, with its thunks, comes from
// ProviderTable<P>, so that what is checked at compile time is what crosses the C boundary.
#pragma once

#include <concepts>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "base/result.hpp"
#include "base/status.hpp"
#include "base/words.hpp"
#include "datatype/layout.hpp"
#include "stria/provider.h"

namespace stria::transport {

using Atomic = stria_remote_atomic_t;
using Capabilities = stria_capabilities_t;
using Completion = stria_completion_t;
using DeviceParams = stria_device_params_t;
using Header = stria_header_t;
using Key = stria_provider_key_t;
using LinkLimits = stria_link_limits_t;
using Packet = stria_packet_t;
using Payload = stria_payload_t;
using Sink = stria_sink_t;

constexpr stria_status_t to_c(Status status) noexcept {
  return static_cast<stria_status_t>(static_cast<int>(status));
}
constexpr Status from_c(stria_status_t status) noexcept {
  return static_cast<Status>(static_cast<int>(status));
}

/// The layout behind a payload; null for contiguous memory.
inline const datatype::Layout* layout_of(const Payload& payload) noexcept {
  return static_cast<const datatype::Layout*>(payload.layout);
}

/// Whether a key (transport::Key or rndv::SmallKey) of a device with STRIA_CAP_MAP_MEMORY names memory that
/// peers map. Of other devices the byte means something else: ask LinkRef::can_map first.
template <class AnyKey>
bool is_mapped(const AnyKey& key) noexcept {
  return key.bytes > STRIA_KEY_FLAGS_AT && (key.data[STRIA_KEY_FLAGS_AT] & STRIA_KEY_MAPPED) != 0;
}

/// Copies a key, or a descriptor of memory, as base/words.hpp says; 16 bytes are what most keys of one host
/// have.
template <class From>
void copy_key_bytes(void* to, const From& from) noexcept {
  if (from.bytes == 16)
    copy_words<16>(to, from.data);
  else
    std::memcpy(to, from.data, from.bytes);
}
template <class To, class From>
void copy_key(To& to, const From& from) noexcept {
  to.bytes = from.bytes;
  copy_key_bytes(to.data, from);
}
inline void copy_payload(Payload& to, const Payload& from) noexcept {
  static_assert(sizeof(Payload) == 40);
  copy_words<sizeof(Payload)>(&to, &from);
}

/// Cuts off what a stored key can do without (STRIA_KEY_HINT). The same condition holds.
template <class AnyKey>
void drop_hint(AnyKey& key) noexcept {
  if (key.bytes <= STRIA_KEY_FLAGS_AT || (key.data[STRIA_KEY_FLAGS_AT] & STRIA_KEY_HINT) == 0) return;
  key.data[STRIA_KEY_FLAGS_AT] &= static_cast<std::uint8_t>(~STRIA_KEY_HINT);
  key.bytes = STRIA_KEY_FLAGS_AT + (key.data[STRIA_KEY_FLAGS_AT] != 0 ? 1u : 0u);
}

/// P names a provider: P::Device, P::Link (complete types) and P::kName, P::kDescription.
template <class P>
concept Provider = requires(typename P::Device& device, typename P::Link& link, const DeviceParams& params,
                            const Header& header, const void* data, void* out, std::uint32_t bytes,
                            const Payload& payload, const Key& key, Key& made, Completion* completion,
                            Capabilities& capabilities, LinkLimits& limits, unsigned access,
                            std::uint64_t offset) {
  { P::kName } -> std::convertible_to<const char*>;
  { P::kDescription } -> std::convertible_to<const char*>;
  // data path
  { link.pio_send(header, data, bytes) }
  noexcept->std::same_as<Status>;
  { link.eager_send(header, payload) }
  noexcept->std::same_as<Status>;
  { link.send_invalidate(header, data, bytes, key) }
  noexcept->std::same_as<Status>;
  { link.get(payload, key, offset, completion) }
  noexcept->std::same_as<Status>;
  { link.put(payload, key, offset, completion) }
  noexcept->std::same_as<Status>;
  { device.fast_register(&link, payload, access, made) }
  noexcept->std::same_as<Status>;
  { device.invalidate(key) }
  noexcept->std::same_as<Status>;
  { device.progress(unsigned{}) }
  noexcept->std::same_as<unsigned>;
  // setup and query
  { P::Device::open(params) } -> std::same_as<Result<std::unique_ptr<typename P::Device>>>;
  { device.close(int{}) }
  noexcept;
  { device.capabilities(capabilities) }
  noexcept;
  { device.address(out, bytes) }
  noexcept->std::same_as<std::uint32_t>;
  { device.connect(data, bytes, out, int{}) } -> std::same_as<Result<typename P::Link*>>;
  { link.limits(limits) }
  noexcept;
  { device.check() }
  noexcept;
  { device.event_fd() }
  noexcept->std::same_as<int>;
  { device.arm() }
  noexcept->std::same_as<Status>;
  { P::mem_alloc(offset) } -> std::same_as<Result<void*>>;
  { P::mem_free(out) }
  noexcept->std::same_as<Status>;
};

/// The C table of provider P. A Result's error text is copied into the caller's buffer; connect answers OK
/// with a link or the error's status (a link that is still coming up answers no_resource to sends).
template <Provider P>
class ProviderTable {
  using Device = typename P::Device;
  using Link = typename P::Link;
  static Device& as_device(stria_device_t* device) noexcept { return *reinterpret_cast<Device*>(device); }
  static Link& as_link(stria_link_t* link) noexcept { return *reinterpret_cast<Link*>(link); }
  static stria_status_t refuse(const Error& error, char* text, std::uint32_t bytes) noexcept {
    if (bytes > 0) text[error.context.copy(text, bytes - 1)] = '\0';
    return to_c(error.status);
  }
  static stria_status_t out_of_memory(char* text, std::uint32_t bytes) noexcept {
    std::snprintf(text, bytes, "%s: out of memory", P::kName);
    return STRIA_ERR_IO;
  }

 public:
  static constexpr stria_hot_ops_t kOps = {
      .size = sizeof(stria_hot_ops_t),
      .version = STRIA_PROVIDER_VERSION,
      .pio_send = [](stria_link_t* link, const stria_header_t* header, const void* payload,
                     std::uint32_t bytes) { return to_c(as_link(link).pio_send(*header, payload, bytes)); },
      .eager_send =
          [](stria_link_t* link, const stria_header_t* header, const stria_payload_t* payload) {
            return to_c(as_link(link).eager_send(*header, *payload));
          },
      .send_invalidate =
          [](stria_link_t* link, const stria_header_t* header, const void* payload, std::uint32_t bytes,
             const stria_provider_key_t* key) {
            return to_c(as_link(link).send_invalidate(*header, payload, bytes, *key));
          },
      .fast_register =
          [](stria_device_t* device, stria_link_t* link, const stria_payload_t* memory, unsigned access,
             stria_provider_key_t* key) {
            return to_c(
                as_device(device).fast_register(reinterpret_cast<Link*>(link), *memory, access, *key));
          },
      .invalidate = [](stria_device_t* device,
                       const stria_provider_key_t* key) { return to_c(as_device(device).invalidate(*key)); },
      .get =
          [](stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
             std::uint64_t offset, stria_completion_t* completion) {
            return to_c(as_link(link).get(*local, *key, offset, completion));
          },
      .put =
          [](stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
             std::uint64_t offset, stria_completion_t* completion) {
            return to_c(as_link(link).put(*local, *key, offset, completion));
          },
      .get_finish = [](stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
                       std::uint64_t offset, const stria_header_t* header,
                       stria_completion_t* completion) -> stria_status_t {
        if constexpr (requires { as_link(link).get_finish(*local, *key, offset, *header, completion); })
          return to_c(as_link(link).get_finish(*local, *key, offset, *header, completion));
        else
          return STRIA_ERR_UNSUPPORTED;
      },
      .progress = [](stria_device_t* device, unsigned budget) { return as_device(device).progress(budget); },
      .poll = [](stria_link_t* link, unsigned budget) -> unsigned {
        if constexpr (requires { as_link(link).poll(budget); })
          return as_link(link).poll(budget);
        else
          return 0;
      },
      .atomic = [](stria_link_t* link, const stria_remote_atomic_t* atomic, const stria_provider_key_t* key,
                   stria_completion_t* completion) -> stria_status_t {
        if constexpr (requires { as_link(link).atomic(*atomic, *key, completion); })
          return to_c(as_link(link).atomic(*atomic, *key, completion));
        else
          return STRIA_ERR_UNSUPPORTED;
      },
      .take = [](stria_link_t* link, stria_header_t* header, void* memory,
                 std::uint32_t capacity) -> std::int32_t {
        if constexpr (requires { as_link(link).take(*header, memory, capacity); })
          return as_link(link).take(*header, memory, capacity);
        else
          return STRIA_TAKE_OTHER;
      },
      .release =
          [](stria_link_t* link, std::uint64_t keep) {
            if constexpr (requires { as_link(link).release(keep); }) as_link(link).release(keep);
          },
      .kept_arrived = [](stria_link_t* link, std::uint64_t keep, std::uint32_t all,
                         std::uint32_t bytes) -> std::uint32_t {
        if constexpr (requires { as_link(link).kept_arrived(keep, all, bytes); })
          return as_link(link).kept_arrived(keep, all, bytes);
        else
          return all;  // it keeps none that is still being written
      },
  };

  static constexpr stria_provider_t kTable = {
      .size = sizeof(stria_provider_t),
      .version = STRIA_PROVIDER_VERSION,
      .name = P::kName,
      .description = P::kDescription,
      .ops = &kOps,
      .open = [](const stria_device_params_t* params, stria_device_t** device, char* error,
                 std::uint32_t error_bytes) -> stria_status_t {
        *device = nullptr;
        try {
          auto opened = Device::open(*params);
          if (!opened) return refuse(opened.error(), error, error_bytes);
          *device = reinterpret_cast<stria_device_t*>(opened->release());
          return STRIA_OK;
        } catch (const std::bad_alloc&) {
          return out_of_memory(error, error_bytes);
        }
      },
      .close =
          [](stria_device_t* device, int timeout_ms) {
            std::unique_ptr<Device> owned(&as_device(device));
            owned->close(timeout_ms);
          },
      .capabilities = [](stria_device_t* device,
                         stria_capabilities_t* out) { as_device(device).capabilities(*out); },
      .address = [](stria_device_t* device, void* buffer,
                    std::uint32_t bytes) { return as_device(device).address(buffer, bytes); },
      .connect = [](stria_device_t* device, const void* address, std::uint32_t bytes, void* peer,
                    int low_latency, stria_link_t** link, char* error,
                    std::uint32_t error_bytes) -> stria_status_t {
        *link = nullptr;
        try {
          auto connected = as_device(device).connect(address, bytes, peer, low_latency);
          if (!connected) return refuse(connected.error(), error, error_bytes);
          *link = reinterpret_cast<stria_link_t*>(*connected);
          return STRIA_OK;
        } catch (const std::bad_alloc&) {
          return out_of_memory(error, error_bytes);
        }
      },
      .link_limits = [](stria_link_t* link, stria_link_limits_t* out) { as_link(link).limits(*out); },
      .check = [](stria_device_t* device) { as_device(device).check(); },
      .event_fd = [](stria_device_t* device) { return as_device(device).event_fd(); },
      .arm = [](stria_device_t* device) { return to_c(as_device(device).arm()); },
      .mem_alloc = [](std::uint64_t bytes, void** out, char* error,
                      std::uint32_t error_bytes) -> stria_status_t {
        *out = nullptr;
        try {
          auto made = P::mem_alloc(bytes);
          if (!made) return refuse(made.error(), error, error_bytes);
          *out = *made;
          return STRIA_OK;
        } catch (const std::bad_alloc&) {
          return refuse({Status::io_error, std::string(P::kName) + ": out of memory"}, error, error_bytes);
        }
      },
      .mem_free = [](void* memory) { return to_c(P::mem_free(memory)); },
  };
};

}  // namespace stria::transport
