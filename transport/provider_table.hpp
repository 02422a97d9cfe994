// Generates the C tables of stria/provider.h from a provider's classes, so that what is checked at compile
// time is what crosses the C boundary. provider_table<P>() is the one name that a provider uses.
#pragma once

#include <cstdio>
#include <new>
#include <string>

#include "transport/groups.hpp"

namespace stria::transport {

namespace table {

template <class P>
typename P::Device& device_of(stria_device_t* device) noexcept {
  return *reinterpret_cast<typename P::Device*>(device);
}
template <class P>
typename P::Link& link_of(stria_link_t* link) noexcept {
  return *reinterpret_cast<typename P::Link*>(link);
}

/// Copies an error's text into the caller's buffer.
inline stria_status_t refuse(const Error& error, char* text, std::uint32_t bytes) noexcept {
  if (bytes > 0) text[error.context.copy(text, bytes - 1)] = '\0';
  return to_c(error.status);
}
inline stria_status_t out_of_memory(const char* name, char* text, std::uint32_t bytes) noexcept {
  std::snprintf(text, bytes, "%s: out of memory", name);
  return STRIA_ERR_IO;
}

/// The table of one group that P declares.
template <class P, Group G>
struct Of;

template <class P>
struct Of<P, group::Pio> {
  static_assert(PioGroup<P>, "group pio is declared and lacks a function: Link::pio_send");
  static constexpr stria_group_pio_t kTable = {
      .size = sizeof(stria_group_pio_t),
      .pio_send =
          [](stria_link_t* link, const stria_header_t* header, const void* payload, std::uint32_t bytes) {
            return to_c(link_of<P>(link).pio_send(*header, payload, bytes));
          },
  };
};

template <class P>
struct Of<P, group::Keys> {
  static_assert(KeysGroup<P>,
                "group keys is declared and lacks a function: Device::fast_register, Device::invalidate, "
                "Link::send_invalidate");
  static constexpr stria_group_keys_t kTable = {
      .size = sizeof(stria_group_keys_t),
      .fast_register =
          [](stria_device_t* device, stria_link_t* link, const stria_payload_t* memory, unsigned access,
             stria_provider_key_t* key) {
            return to_c(device_of<P>(device).fast_register(reinterpret_cast<typename P::Link*>(link), *memory,
                                                           access, *key));
          },
      .invalidate =
          [](stria_device_t* device, const stria_provider_key_t* key) {
            return to_c(device_of<P>(device).invalidate(*key));
          },
      .send_invalidate =
          [](stria_link_t* link, const stria_header_t* header, const void* payload, std::uint32_t bytes,
             const stria_provider_key_t* key) {
            return to_c(link_of<P>(link).send_invalidate(*header, payload, bytes, *key));
          },
  };
};

template <class P>
struct Of<P, group::Get> {
  static_assert(GetGroup<P>, "group get is declared and lacks a function: Link::get");
  static_assert(Declares<P, group::Keys>, "group get needs group keys");
  static constexpr stria_group_get_t kTable = {
      .size = sizeof(stria_group_get_t),
      .get =
          [](stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
             std::uint64_t offset, stria_completion_t* completion) {
            return to_c(link_of<P>(link).get(*local, *key, offset, completion));
          },
  };
};

template <class P>
struct Of<P, group::Put> {
  static_assert(PutGroup<P>, "group put is declared and lacks a function: Link::put");
  static_assert(Declares<P, group::Keys>, "group put needs group keys");
  static constexpr stria_group_put_t kTable = {
      .size = sizeof(stria_group_put_t),
      .put =
          [](stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
             std::uint64_t offset, stria_completion_t* completion) {
            return to_c(link_of<P>(link).put(*local, *key, offset, completion));
          },
  };
};

template <class P>
struct Of<P, group::Atomic> {
  static_assert(AtomicGroup<P>, "group atomic is declared and lacks a function: Link::atomic");
  static_assert(Declares<P, group::Keys>, "group atomic needs group keys");
  static constexpr stria_group_atomic_t kTable = {
      .size = sizeof(stria_group_atomic_t),
      .atomic =
          [](stria_link_t* link, const stria_remote_atomic_t* atomic, const stria_provider_key_t* key,
             stria_completion_t* completion) {
            return to_c(link_of<P>(link).atomic(*atomic, *key, completion));
          },
  };
};

template <class P>
struct Of<P, group::Offload> {
  static_assert(OffloadGroup<P>, "group offload is declared and lacks a function: Link::get_finish");
  static_assert(Declares<P, group::Get>, "group offload needs group get");
  static constexpr stria_group_offload_t kTable = {
      .size = sizeof(stria_group_offload_t),
      .get_finish =
          [](stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
             std::uint64_t offset, const stria_header_t* header, stria_completion_t* completion) {
            return to_c(link_of<P>(link).get_finish(*local, *key, offset, *header, completion));
          },
  };
};

template <class P>
struct Of<P, group::Bulk> {
  static_assert(BulkGroup<P>, "group bulk is declared and lacks a function: Link::zcopy_send");
  static constexpr stria_group_bulk_t kTable = {
      .size = sizeof(stria_group_bulk_t),
      .zcopy_send =
          [](stria_link_t* link, const stria_header_t* header, const stria_payload_t* payload,
             stria_completion_t* completion) {
            return to_c(link_of<P>(link).zcopy_send(*header, *payload, completion));
          },
  };
};

template <class P>
struct Of<P, group::Devices> {
  static_assert(DevicesGroup<P>, "group devices is declared and lacks a function: P::device_count");
  static constexpr stria_group_devices_t kTable = {
      .size = sizeof(stria_group_devices_t),
      .count = [](const stria_device_params_t* params) -> std::uint32_t {
        try {
          return P::device_count(*params);
        } catch (const std::bad_alloc&) {
          return 1;
        }
      },
  };
};

template <class P>
struct Of<P, group::Look> {
  static_assert(LookGroup<P>, "group look is declared and lacks a function: Link::poll, Link::take");
  static constexpr stria_group_look_t kTable = {
      .size = sizeof(stria_group_look_t),
      .poll = [](stria_link_t* link, unsigned budget) { return link_of<P>(link).poll(budget); },
      .take = [](stria_link_t* link, stria_header_t* header, void* memory,
                 std::uint32_t capacity) { return link_of<P>(link).take(*header, memory, capacity); },
  };
};

template <class P>
struct Of<P, group::Keep> {
  static_assert(KeepGroup<P>,
                "group keep is declared and lacks a function: Link::release, Link::kept_arrived");
  static constexpr stria_group_keep_t kTable = {
      .size = sizeof(stria_group_keep_t),
      .release = [](stria_link_t* link, std::uint64_t keep) { link_of<P>(link).release(keep); },
      .kept_arrived = [](stria_link_t* link, std::uint64_t keep, std::uint32_t all,
                         std::uint32_t bytes) { return link_of<P>(link).kept_arrived(keep, all, bytes); },
  };
};

template <class P>
struct Of<P, group::Memory> {
  static_assert(MemoryGroup<P>, "group memory is declared and lacks a function: P::mem_alloc, P::mem_free");
  static_assert(Declares<P, group::Keys>, "group memory needs group keys");
  static constexpr stria_group_memory_t kTable = {
      .size = sizeof(stria_group_memory_t),
      .mem_alloc = [](stria_device_t* device, std::uint64_t bytes, void** out, char* error,
                      std::uint32_t error_bytes) -> stria_status_t {
        *out = nullptr;
        try {
          auto made = P::mem_alloc(reinterpret_cast<typename P::Device*>(device), bytes);
          if (!made) return refuse(made.error(), error, error_bytes);
          *out = *made;
          return STRIA_OK;
        } catch (const std::bad_alloc&) {
          return out_of_memory(P::kName, error, error_bytes);
        }
      },
      .mem_free =
          [](stria_device_t* device, void* memory) {
            return to_c(P::mem_free(reinterpret_cast<typename P::Device*>(device), memory));
          },
  };
};

/// The table of group G; null: P does not declare the group.
template <class P, Group G>
constexpr auto pointer() noexcept {
  if constexpr (Declares<P, G>)
    return &Of<P, G>::kTable;
  else
    return nullptr;
}

/// True while the link is not up yet. Only a provider whose connecting takes time has Link::is_coming().
template <class L>
constexpr bool is_coming(const L& link) noexcept {
  if constexpr (requires { link.is_coming(); })
    return link.is_coming();
  else
    return false;
}

/// The table of P. `connect` answers OK or IN_PROGRESS with a link, or the error's status. A link that is not
/// up yet answers no_resource to sends.
template <class P>
struct Core {
  static_assert(ProviderCore<P>, "the core of a provider (ProviderCore) lacks a function or a name");
  static constexpr stria_provider_t kTable = {
      .size = sizeof(stria_provider_t),
      .version = STRIA_PROVIDER_VERSION,
      .name = P::kName,
      .description = P::kDescription,
      .open = [](const stria_device_params_t* params, stria_device_t** device, char* error,
                 std::uint32_t error_bytes) -> stria_status_t {
        *device = nullptr;
        try {
          auto opened = P::Device::open(*params);
          if (!opened) return refuse(opened.error(), error, error_bytes);
          *device = reinterpret_cast<stria_device_t*>(opened->release());
          return STRIA_OK;
        } catch (const std::bad_alloc&) {
          return out_of_memory(P::kName, error, error_bytes);
        }
      },
      .close =
          [](stria_device_t* device, int timeout_ms) {
            std::unique_ptr<typename P::Device> owned(&device_of<P>(device));
            owned->close(timeout_ms);
          },
      .capabilities = [](stria_device_t* device,
                         stria_capabilities_t* out) { device_of<P>(device).capabilities(*out); },
      .address = [](stria_device_t* device, void* buffer,
                    std::uint32_t bytes) { return device_of<P>(device).address(buffer, bytes); },
      .connect = [](stria_device_t* device, const void* address, std::uint32_t bytes, void* peer,
                    int low_latency, stria_link_t** link, char* error,
                    std::uint32_t error_bytes) -> stria_status_t {
        *link = nullptr;
        try {
          auto connected = device_of<P>(device).connect(address, bytes, peer, low_latency);
          if (!connected) return refuse(connected.error(), error, error_bytes);
          *link = reinterpret_cast<stria_link_t*>(*connected);
          return is_coming(**connected) ? STRIA_IN_PROGRESS : STRIA_OK;
        } catch (const std::bad_alloc&) {
          return out_of_memory(P::kName, error, error_bytes);
        }
      },
      .link_limits = [](stria_link_t* link, stria_link_limits_t* out) { link_of<P>(link).limits(*out); },
      .eager_send =
          [](stria_link_t* link, const stria_header_t* header, const stria_payload_t* payload) {
            return to_c(link_of<P>(link).eager_send(*header, *payload));
          },
      .progress = [](stria_device_t* device,
                     unsigned budget) { return device_of<P>(device).progress(budget); },
      .check = [](stria_device_t* device) { device_of<P>(device).check(); },
      .event_fd = [](stria_device_t* device) { return device_of<P>(device).event_fd(); },
      .arm = [](stria_device_t* device) { return to_c(device_of<P>(device).arm()); },
      .pio = pointer<P, group::Pio>(),
      .keys = pointer<P, group::Keys>(),
      .get = pointer<P, group::Get>(),
      .put = pointer<P, group::Put>(),
      .atomic = pointer<P, group::Atomic>(),
      .offload = pointer<P, group::Offload>(),
      .bulk = pointer<P, group::Bulk>(),
      .devices = pointer<P, group::Devices>(),
      .look = pointer<P, group::Look>(),
      .keep = pointer<P, group::Keep>(),
      .memory = pointer<P, group::Memory>(),
      .variables = P::kVariables.data(),
      .variable_count = static_cast<std::uint32_t>(P::kVariables.size()),
  };
};

}  // namespace table

/// The table of provider P (groups.hpp says what P is). Constant, lives as long as the program.
template <class P>
constexpr const stria_provider_t& provider_table() noexcept {
  return table::Core<P>::kTable;
}

}  // namespace stria::transport
