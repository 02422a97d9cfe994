// The provider contract as concepts: a core, which every provider has, and groups, which it declares. A
// provider inside the tree is a struct of traits
//
//   struct ShmProvider {
//     using Device = shm::Device;
//     using Link = shm::Link;
//     using Groups = transport::GroupList<group::Pio, group::Keys, group::Get>;
//     static constexpr const char* kName = "shm";
//     static constexpr const char* kDescription = "processes of one host, through shared memory";
//     static constexpr Variables kVariables = shm::kVariables;
//   };
//
// whose list of groups is the only place that says which groups the provider has. A group in the list with a
// missing or wrongly typed function does not compile (provider_table.hpp); a function of a group that is not
// in the list is ignored.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>

#include "base/result.hpp"
#include "base/variable.hpp"
#include "transport/contract.hpp"

namespace stria::transport {

/// The core, which every provider has. To move a message it has only Link::eager_send.
template <class P>
concept ProviderCore = requires(typename P::Device& device, typename P::Link& link,
                                const DeviceParams& params, const Header& header, const void* data, void* out,
                                std::uint32_t bytes, const Payload& payload, Capabilities& capabilities,
                                LinkLimits& limits) {
  typename P::Groups;
  { P::kName } -> std::convertible_to<const char*>;
  { P::kDescription } -> std::convertible_to<const char*>;
  { P::kVariables } -> std::convertible_to<Variables>;
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
  { link.eager_send(header, payload) }
  noexcept->std::same_as<Status>;
  { device.progress(unsigned{}) }
  noexcept->std::same_as<unsigned>;
  { device.check() }
  noexcept;
  { device.event_fd() }
  noexcept->std::same_as<int>;
  { device.arm() }
  noexcept->std::same_as<Status>;
};

template <class P>
concept PioGroup = requires(typename P::Link& link, const Header& header, const void* data,
                            std::uint32_t bytes) {
  { link.pio_send(header, data, bytes) }
  noexcept->std::same_as<Status>;
};

template <class P>
concept KeysGroup = requires(typename P::Device& device, typename P::Link& link, const Header& header,
                             const void* data, std::uint32_t bytes, const Payload& memory, unsigned access,
                             const Key& key, Key& made) {
  { device.fast_register(&link, memory, access, made) }
  noexcept->std::same_as<Status>;
  { device.invalidate(key) }
  noexcept->std::same_as<Status>;
  { link.send_invalidate(header, data, bytes, key) }
  noexcept->std::same_as<Status>;
};

template <class P>
concept GetGroup = requires(typename P::Link& link, const Payload& local, const Key& key,
                            std::uint64_t offset, Completion* completion) {
  { link.get(local, key, offset, completion) }
  noexcept->std::same_as<Status>;
};

template <class P>
concept PutGroup = requires(typename P::Link& link, const Payload& local, const Key& key,
                            std::uint64_t offset, Completion* completion) {
  { link.put(local, key, offset, completion) }
  noexcept->std::same_as<Status>;
};

template <class P>
concept AtomicGroup = requires(typename P::Link& link, const Atomic& atomic, const Key& key,
                               Completion* completion) {
  { link.atomic(atomic, key, completion) }
  noexcept->std::same_as<Status>;
};

template <class P>
concept OffloadGroup = requires(typename P::Link& link, const Payload& local, const Key& key,
                                std::uint64_t offset, const Header& header, Completion* completion) {
  { link.get_finish(local, key, offset, header, completion) }
  noexcept->std::same_as<Status>;
};

template <class P>
concept BulkGroup = requires(typename P::Link& link, const Header& header, const Payload& payload,
                             Completion* completion) {
  { link.zcopy_send(header, payload, completion) }
  noexcept->std::same_as<Status>;
};

template <class P>
concept LookGroup = requires(typename P::Link& link, Header& header, void* memory, std::uint32_t capacity) {
  { link.poll(unsigned{}) }
  noexcept->std::same_as<unsigned>;
  { link.take(header, memory, capacity) }
  noexcept->std::same_as<std::int32_t>;
};

template <class P>
concept KeepGroup = requires(typename P::Link& link, std::uint64_t keep, std::uint32_t bytes) {
  { link.release(keep) }
  noexcept->std::same_as<void>;
  { link.kept_arrived(keep, bytes, bytes) }
  noexcept->std::same_as<std::uint32_t>;
};

/// These are static functions of P, not of a device: `device` may be null.
template <class P>
concept MemoryGroup = requires(typename P::Device* device, std::uint64_t bytes, void* memory) {
  { P::mem_alloc(device, bytes) } -> std::same_as<Result<void*>>;
  { P::mem_free(device, memory) }
  noexcept->std::same_as<Status>;
};

/// This is a static function of P: no device is open yet.
template <class P>
concept DevicesGroup = requires(const DeviceParams& params) {
  { P::device_count(params) } -> std::same_as<std::uint32_t>;
};

/// The groups by name, for a provider's list.
namespace group {
struct Pio {};
struct Keys {};
struct Get {};
struct Put {};
struct Atomic {};
struct Offload {};
struct Bulk {};
struct Devices {};
struct Look {};
struct Keep {};
struct Memory {};
}  // namespace group

template <class G, class... Any>
concept OneOf = (std::same_as<G, Any> || ...);
template <class G>
concept Group = OneOf<G, group::Pio, group::Keys, group::Get, group::Put, group::Atomic, group::Offload,
                      group::Bulk, group::Devices, group::Look, group::Keep, group::Memory>;

template <Group... G>
struct GroupList {
  template <Group One>
  static constexpr bool has = OneOf<One, G...>;
};

template <class P, class G>
concept Declares = P::Groups::template has<G>;

}  // namespace stria::transport
