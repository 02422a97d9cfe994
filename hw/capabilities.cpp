#include "hw/capabilities.hpp"

#include "base/format.hpp"

namespace stria::hw {
namespace {

constexpr CapabilityBit kBits[] = {
    {STRIA_CAP_PIO, "pio", "the CPU stores header and payload into a window of the peer or the adapter"},
    {STRIA_CAP_EAGER, "eager", "messages are gathered or packed into the provider's own memory"},
    {STRIA_CAP_GET, "get", "reads a peer's memory through a key, where the link allows it"},
    {STRIA_CAP_PUT, "put", "writes a peer's memory through a key, where the link allows it"},
    {STRIA_CAP_FAST_REGISTER, "fast_register", "makes a key valid in the data path, before later messages"},
    {STRIA_CAP_LOCAL_INVALIDATE, "local_invalidate", "makes its own key unusable in the data path"},
    {STRIA_CAP_INVALIDATE_FENCE, "invalidate_fence",
     "an invalidate is ordered after earlier work without waiting"},
    {STRIA_CAP_SEND_INVALIDATE, "send_invalidate", "a message ends a key of the peer before it is delivered"},
    {STRIA_CAP_READ_INVALIDATE, "read_invalidate", "a read ends the key that it used"},
    {STRIA_CAP_WINDOW_1, "window_1", "memory windows of type 1, bound by a call"},
    {STRIA_CAP_WINDOW_2A, "window_2a",
     "memory windows of type 2A, bound by a work request, for any connection"},
    {STRIA_CAP_WINDOW_2B, "window_2b",
     "memory windows of type 2B, bound by a work request to one connection"},
    {STRIA_CAP_ZERO_BASED, "zero_based", "remote addresses may start at 0 instead of the virtual address"},
    {STRIA_CAP_BLOCK_LIST, "block_list", "one key covers a list of equal blocks"},
    {STRIA_CAP_STRIDED, "strided", "one key covers a strided region"},
    {STRIA_CAP_COMPOSITE, "composite", "one key covers a region of several different parts"},
    {STRIA_CAP_ATOMICS, "atomics", "64-bit remote fetch-and-add and compare-and-swap"},
    {STRIA_CAP_MASKED_ATOMICS, "masked_atomics", "remote atomics on a part of the word"},
    {STRIA_CAP_XRC, "xrc", "one connection a host reaches every worker there (extended reliable connection)"},
    {STRIA_CAP_LOOPBACK_BLOCKING, "loopback_blocking", "a sender's own multicast packets are kept from it"},
    {STRIA_CAP_LOW_LATENCY_QP, "low_latency_qp", "queue pairs with a doorbell of their own"},
    {STRIA_CAP_ON_DEMAND_PAGING, "on_demand_paging", "registered memory need not be pinned"},
    {STRIA_CAP_EVENT_FD, "event_fd", "a waiting process can sleep on a descriptor"},
    {STRIA_CAP_MAP_MEMORY, "map_memory", "memory that it allocates is loaded and stored by peers directly"},
    {STRIA_CAP_OFFLOAD, "offload", "gets and puts are moved, and keys checked, by an adapter"},
    {STRIA_CAP_ZCOPY, "zcopy", "packets are sent out of the caller's memory, without a copy"},
    {STRIA_CAP_PLACES, "places", "payloads that arrive are put into the memory of their receive"},
    {STRIA_CAP_GROWING, "growing", "what takes long to pack is unpacked meanwhile"},
};

constexpr CapabilityLimit kLimits[] = {
    {&Capabilities::pio_max, "pio_max", "bytes", "payload of one PIO send (inline limit)", "no PIO"},
    {&Capabilities::pio_windows, "pio_windows", "windows", "links that can have a PIO window", "none"},
    {&Capabilities::pio_window_bytes, "pio_window_bytes", "bytes",
     "size of one window: its credits when empty", "none"},
    {&Capabilities::pio_mtu, "pio_mtu", "bytes", "longest message a window takes, header included", "no PIO"},
    {&Capabilities::eager_max, "eager_max", "bytes", "payload of one buffered send", "no buffered path"},
    {&Capabilities::key_bits, "key_bits", "bits", "consumer part of a key, changed with every registration",
     "none"},
    {&Capabilities::strided_depth, "strided_depth", "levels", "nesting of a strided region behind one key",
     "any"},
    {&Capabilities::max_sge, "max_sge", "entries", "one gather or scatter list", "none"},
    {&Capabilities::max_keys, "max_keys", "keys", "valid at one time", "none"},
};

constexpr std::uint64_t named_bits() noexcept {
  std::uint64_t all = 0;
  for (const CapabilityBit& entry : kBits) all |= entry.bit;
  return all;
}
// A bit or a number added to provider.h without a line above fails here.
static_assert(named_bits() == (STRIA_CAP_PLACES << 1) - 1, "a capability bit has no name");
static_assert(sizeof(Capabilities) ==
                  2 * sizeof(std::uint64_t) + sizeof(kLimits) / sizeof(kLimits[0]) * 4 + 4,
              "a limit has no name (the last 4 bytes are padding)");

}  // namespace

std::span<const CapabilityBit> capability_bits() noexcept {
  return kBits;
}
std::span<const CapabilityLimit> capability_limits() noexcept {
  return kLimits;
}

std::string to_text(const Capabilities& capabilities, int indent) {
  std::string out;
  for (const CapabilityBit& entry : kBits)
    out += fmt::format("{:{}}{:<18} {:<4} {}\n", "", indent, entry.name,
                       has(capabilities, entry.bit) ? "yes" : "-", entry.meaning);
  if (const std::uint64_t rest = capabilities.flags & ~named_bits(); rest != 0)
    out += fmt::format("{:{}}{}\n", "", indent, names_of(rest));
  for (const CapabilityLimit& entry : kLimits) {
    const std::uint32_t value = capabilities.*entry.member;
    const std::string shown = value == 0 ? entry.zero : fmt::format("{} {}", value, entry.unit);
    out += fmt::format("{:{}}{:<18} {:<16} {}\n", "", indent, entry.name, shown, entry.meaning);
  }
  return out;
}

std::string names_of(std::uint64_t flags) {
  std::string out;
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((flags & bit) == 0) continue;
    if (!out.empty()) out += ", ";
    std::string name = fmt::format("bit {}", i);
    for (const CapabilityBit& entry : kBits)
      if (entry.bit == bit) name = entry.name;
    out += name;
  }
  return out.empty() ? "none" : out;
}

}  // namespace stria::hw
