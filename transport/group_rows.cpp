#include "transport/group_rows.hpp"

#include <cstring>

#include "stria/provider_coresident.h"

namespace stria::transport {
namespace {

// Names every function of the core and of the groups once. The static_asserts below find missing ones.
constexpr TableEntry kCore[] = {
    {"open", offsetof(stria_provider_t, open)},
    {"close", offsetof(stria_provider_t, close)},
    {"capabilities", offsetof(stria_provider_t, capabilities)},
    {"address", offsetof(stria_provider_t, address)},
    {"connect", offsetof(stria_provider_t, connect)},
    {"link_limits", offsetof(stria_provider_t, link_limits)},
    {"eager_send", offsetof(stria_provider_t, eager_send)},
    {"progress", offsetof(stria_provider_t, progress)},
    {"check", offsetof(stria_provider_t, check)},
    {"event_fd", offsetof(stria_provider_t, event_fd)},
    {"arm", offsetof(stria_provider_t, arm)},
};
constexpr TableEntry kPio[] = {{"pio_send", offsetof(stria_group_pio_t, pio_send)}};
constexpr TableEntry kKeys[] = {
    {"fast_register", offsetof(stria_group_keys_t, fast_register)},
    {"invalidate", offsetof(stria_group_keys_t, invalidate)},
    {"send_invalidate", offsetof(stria_group_keys_t, send_invalidate)},
};
constexpr TableEntry kGet[] = {{"get", offsetof(stria_group_get_t, get)}};
constexpr TableEntry kPut[] = {{"put", offsetof(stria_group_put_t, put)}};
constexpr TableEntry kAtomic[] = {{"atomic", offsetof(stria_group_atomic_t, atomic)}};
constexpr TableEntry kOffload[] = {{"get_finish", offsetof(stria_group_offload_t, get_finish)}};
constexpr TableEntry kBulk[] = {{"zcopy_send", offsetof(stria_group_bulk_t, zcopy_send)}};
constexpr TableEntry kDevices[] = {{"count", offsetof(stria_group_devices_t, count)}};
constexpr TableEntry kLook[] = {
    {"poll", offsetof(stria_group_look_t, poll)},
    {"take", offsetof(stria_group_look_t, take)},
};
constexpr TableEntry kKeep[] = {
    {"release", offsetof(stria_group_keep_t, release)},
    {"kept_arrived", offsetof(stria_group_keep_t, kept_arrived)},
};
constexpr TableEntry kMemory[] = {
    {"mem_alloc", offsetof(stria_group_memory_t, mem_alloc)},
    {"mem_free", offsetof(stria_group_memory_t, mem_free)},
};

constexpr GroupRow kGroups[] = {
    {"pio", offsetof(stria_provider_t, pio), sizeof(stria_group_pio_t), kPio, STRIA_CAP_PIO, ""},
    {"keys", offsetof(stria_provider_t, keys), sizeof(stria_group_keys_t), kKeys,
     STRIA_CAP_FAST_REGISTER | STRIA_CAP_LOCAL_INVALIDATE | STRIA_CAP_SEND_INVALIDATE, ""},
    {"get", offsetof(stria_provider_t, get), sizeof(stria_group_get_t), kGet, STRIA_CAP_GET, "keys"},
    {"put", offsetof(stria_provider_t, put), sizeof(stria_group_put_t), kPut, STRIA_CAP_PUT, "keys"},
    {"atomic", offsetof(stria_provider_t, atomic), sizeof(stria_group_atomic_t), kAtomic, STRIA_CAP_ATOMICS,
     "keys"},
    {"offload", offsetof(stria_provider_t, offload), sizeof(stria_group_offload_t), kOffload,
     STRIA_CAP_OFFLOAD, "get"},
    {"bulk", offsetof(stria_provider_t, bulk), sizeof(stria_group_bulk_t), kBulk, STRIA_CAP_ZCOPY, ""},
    {"devices", offsetof(stria_provider_t, devices), sizeof(stria_group_devices_t), kDevices, 0, ""},
    {"look", offsetof(stria_provider_t, look), sizeof(stria_group_look_t), kLook, 0, ""},
    {"keep", offsetof(stria_provider_t, keep), sizeof(stria_group_keep_t), kKeep, 0, ""},
    {"memory", offsetof(stria_provider_t, memory), sizeof(stria_group_memory_t), kMemory,
     STRIA_CAP_MAP_MEMORY, "keys"},
};

// A function or a group that is added to the contract without an entry above does not compile.
template <std::size_t n>
constexpr std::size_t with_size(const TableEntry (&)[n]) noexcept {
  return (n + 1) * sizeof(void*);
}
static_assert(
    sizeof(stria_group_pio_t) == with_size(kPio) && sizeof(stria_group_keys_t) == with_size(kKeys) &&
    sizeof(stria_group_get_t) == with_size(kGet) && sizeof(stria_group_put_t) == with_size(kPut) &&
    sizeof(stria_group_atomic_t) == with_size(kAtomic) &&
    sizeof(stria_group_offload_t) == with_size(kOffload) && sizeof(stria_group_bulk_t) == with_size(kBulk) &&
    sizeof(stria_group_devices_t) == with_size(kDevices) && sizeof(stria_group_look_t) == with_size(kLook) &&
    sizeof(stria_group_keep_t) == with_size(kKeep) && sizeof(stria_group_memory_t) == with_size(kMemory));
// Five words are no function and no group: size and version, name, description, variables, their number.
static_assert(sizeof(stria_provider_t) == (5 + std::size(kCore) + std::size(kGroups)) * sizeof(void*));

const void* pointer_at(const void* table, std::size_t at) noexcept {
  const void* pointer = nullptr;
  std::memcpy(&pointer, static_cast<const char*>(table) + at, sizeof pointer);
  return pointer;
}

}  // namespace

std::span<const GroupRow> group_rows() noexcept {
  return kGroups;
}
std::span<const TableEntry> core_functions() noexcept {
  return kCore;
}

const void* group_of(const stria_provider_t& table, const GroupRow& row) noexcept {
  return pointer_at(&table, row.at);
}

const char* missing_function(const void* table, std::span<const TableEntry> functions) noexcept {
  for (const TableEntry& entry : functions)
    if (pointer_at(table, entry.at) == nullptr) return entry.name;
  return nullptr;
}

std::vector<std::string> groups_of(const stria_provider_t& table) {
  std::vector<std::string> names;
  for (const GroupRow& row : kGroups)
    if (group_of(table, row) != nullptr) names.emplace_back(row.name);
  return names;
}

}  // namespace stria::transport
