#include "transport/capabilities.hpp"

#include "transport/group_rows.hpp"

namespace stria::transport {
namespace {

/// The bits that follow from the core.
constexpr std::uint64_t kCoreBits = STRIA_CAP_EAGER | STRIA_CAP_EVENT_FD;

/// All bits that can follow from a table. A device that states one of them as a fact changes nothing by that.
std::uint64_t all_table_bits() noexcept {
  std::uint64_t bits = kCoreBits;
  for (const GroupRow& row : group_rows()) bits |= row.capabilities;
  return bits;
}

}  // namespace

std::uint64_t table_bits(const stria_provider_t& table) noexcept {
  std::uint64_t bits = kCoreBits;
  for (const GroupRow& row : group_rows())
    if (group_of(table, row) != nullptr) bits |= row.capabilities;
  return bits;
}

Capabilities capabilities_of(const stria_provider_t& table, stria_device_t* device) noexcept {
  Capabilities out{};
  table.capabilities(device, &out);
  std::uint64_t bits = table_bits(table) & ~out.lacks;
  if (out.pio_max == 0) bits &= ~STRIA_CAP_PIO;
  if (table.event_fd(device) < 0) bits &= ~STRIA_CAP_EVENT_FD;
  out.flags = (out.flags & ~all_table_bits()) | bits;
  out.lacks = 0;
  if ((bits & STRIA_CAP_PIO) == 0) out.pio_max = out.pio_windows = out.pio_window_bytes = out.pio_mtu = 0;
  if ((bits & STRIA_CAP_FAST_REGISTER) == 0) out.max_keys = 0;
  return out;
}

}  // namespace stria::transport
