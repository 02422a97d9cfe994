#include "hw/verbs_capabilities.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace stria::hw {
namespace {

/// The flag by which kernels before 5.17 report the blocking of loopback; rdma-core has no name for it.
constexpr std::uint64_t kBlockLoopback = 1ull << 22;

/// The vendor id of rxe; no device of hardware has it.
constexpr std::uint32_t kVendorOfRxe = 0xffffff;

std::uint32_t positive(int value) noexcept {
  return value > 0 ? static_cast<std::uint32_t>(value) : 0u;
}

}  // namespace

VerbsTraits traits_of(const VerbsAnswers& answers) noexcept {
  const ibv_device_attr& device = answers.device.orig_attr;
  const std::uint64_t flags = device.device_cap_flags | answers.device.device_cap_flags_ex;
  const auto has = [flags](std::uint64_t bit) { return (flags & bit) != 0; };
  VerbsTraits out;
  out.iwarp = answers.transport == IBV_TRANSPORT_IWARP;
  out.max_windows = positive(device.max_mw);
  const bool windows = out.max_windows > 0;
  out.window_1 = windows && has(IBV_DEVICE_MEM_WINDOW);
  out.window_2a = windows && has(IBV_DEVICE_MEM_WINDOW_TYPE_2A);
  out.window_2b = windows && has(IBV_DEVICE_MEM_WINDOW_TYPE_2B);
  const bool extensions = has(IBV_DEVICE_MEM_MGT_EXTENSIONS);
  out.send_invalidate = extensions;
  // Programs can invalidate windows only: plain regions are deregistered, and devices without windows refuse
  // the work request although they have the extensions for the kernel.
  out.local_invalidate = extensions && (out.window_2a || out.window_2b);
  // rxe binds and reads zero-based windows, but answers no read that is sent again: one lost packet ends the
  // connection.
  out.zero_based = out.local_invalidate && device.vendor_id != kVendorOfRxe;
  out.atomics = device.atomic_cap != IBV_ATOMIC_NONE;
  out.xrc = has(IBV_DEVICE_XRC);
  out.loopback_blocking = has(kBlockLoopback);
  const auto& paging = answers.device.odp_caps;
  out.on_demand_paging = (paging.general_caps & IBV_ODP_SUPPORT) != 0 &&
                         (paging.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_READ) != 0;
  out.repeats_binds = device.vendor_id == kVendorOfRxe;
  out.inline_bytes = answers.inline_bytes;
  out.max_sge = std::max(1u, positive(device.max_sge));
  // Devices of InfiniBand leave max_sge_rd 0, and mean the limit of sends.
  out.max_read_sge = device.max_sge_rd > 0 ? std::min(out.max_sge, positive(device.max_sge_rd))
                                           : (out.iwarp ? 1u : out.max_sge);
  out.max_reads = std::max(1u, positive(device.max_qp_rd_atom));
  out.max_send_queue = positive(device.max_qp_wr);
  out.max_shared_receives = positive(device.max_srq_wr);
  out.max_completions = positive(device.max_cqe);
  out.strided = answers.strided;
  return out;
}

std::uint64_t capability_bits_of(const VerbsTraits& traits) noexcept {
  std::uint64_t bits =
      STRIA_CAP_EAGER | STRIA_CAP_GET | STRIA_CAP_PUT | STRIA_CAP_EVENT_FD | STRIA_CAP_OFFLOAD;
  const auto add = [&bits](bool has, std::uint64_t bit) { bits |= has ? bit : 0; };
  add(traits.inline_bytes > 0, STRIA_CAP_PIO);
  add(traits.window_1, STRIA_CAP_WINDOW_1);
  add(traits.window_2a, STRIA_CAP_WINDOW_2A);
  add(traits.window_2b, STRIA_CAP_WINDOW_2B);
  add(traits.has_windows(), STRIA_CAP_FAST_REGISTER);
  add(traits.zero_based, STRIA_CAP_ZERO_BASED);
  add(traits.local_invalidate, STRIA_CAP_LOCAL_INVALIDATE | STRIA_CAP_INVALIDATE_FENCE);
  add(traits.send_invalidate && traits.has_windows(), STRIA_CAP_SEND_INVALIDATE);
  add(traits.atomics, STRIA_CAP_ATOMICS);
  add(traits.masked_atomics, STRIA_CAP_MASKED_ATOMICS);
  add(traits.xrc, STRIA_CAP_XRC);
  add(traits.loopback_blocking, STRIA_CAP_LOOPBACK_BLOCKING);
  add(traits.on_demand_paging, STRIA_CAP_ON_DEMAND_PAGING);
  add(traits.strided.interleaved.entries > 0, STRIA_CAP_STRIDED);
  add(traits.strided.list.entries > 0, STRIA_CAP_COMPOSITE);
  return bits;
}

std::string to_text(const VerbsTraits& traits) {
  std::string out = fmt::format("rules {}\n", traits.iwarp ? "iWARP" : "InfiniBand");
  const auto line = [&out](const char* name, std::uint32_t value) {
    out += fmt::format("{} {}\n", name, value);
  };
  line("inline_bytes", traits.inline_bytes);
  line("max_sge", traits.max_sge);
  line("max_read_sge", traits.max_read_sge);
  line("max_reads", traits.max_reads);
  line("max_windows", traits.max_windows);
  line("max_window_bytes", static_cast<std::uint32_t>(traits.max_window_bytes));
  line("max_send_queue", traits.max_send_queue);
  line("max_shared_receives", traits.max_shared_receives);
  line("max_completions", traits.max_completions);
  line("strided_key_entries", traits.strided.entries);
  return out;
}

}  // namespace stria::hw
