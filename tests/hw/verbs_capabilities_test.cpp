// The translation of what rdma-core says, with the attributes of three kinds of device as they were recorded.
#include "hw/verbs_capabilities.hpp"

#include <gtest/gtest.h>

namespace stria::hw {
namespace {

/// A ConnectX of the fifth generation.
VerbsAnswers mlx5_like() {
  VerbsAnswers out;
  ibv_device_attr& device = out.device.orig_attr;
  device.device_cap_flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
                            IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_XRC | IBV_DEVICE_RC_RNR_NAK_GEN;
  device.max_mw = 1 << 24;
  device.max_sge = 30;
  device.max_sge_rd = 30;
  device.max_qp_rd_atom = 16;
  device.max_qp_wr = 32768;
  device.max_srq_wr = 32767;
  device.max_cqe = 4194303;
  device.atomic_cap = IBV_ATOMIC_HCA;
  out.device.odp_caps.general_caps = IBV_ODP_SUPPORT;
  out.device.odp_caps.per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_WRITE;
  out.inline_bytes = 220;
  out.strided.entries = 64;
  out.strided.interleaved.entries = 64;
  out.strided.list.entries = 64;
  return out;
}

/// Software RoCE of Linux 6.1.
VerbsAnswers rxe() {
  VerbsAnswers out;
  ibv_device_attr& device = out.device.orig_attr;
  device.device_cap_flags =
      IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_AUTO_PATH_MIG |
      IBV_DEVICE_CHANGE_PHY_PORT | IBV_DEVICE_UD_AV_PORT_ENFORCE | IBV_DEVICE_PORT_ACTIVE_EVENT |
      IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
      IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  device.vendor_id = 0xffffff;
  device.max_mw = 4096;
  device.max_sge = 32;
  device.max_sge_rd = 32;
  device.max_qp_rd_atom = 128;
  device.max_qp_wr = 1 << 20;
  device.max_srq_wr = 1 << 20;
  device.max_cqe = 32767;
  device.atomic_cap = IBV_ATOMIC_HCA;
  out.inline_bytes = 512;
  return out;
}

/// Software iWARP of Linux 6.1: the extensions are the kernel's, programs have no windows.
VerbsAnswers siw() {
  VerbsAnswers out;
  ibv_device_attr& device = out.device.orig_attr;
  device.device_cap_flags = IBV_DEVICE_MEM_MGT_EXTENSIONS;
  device.max_mw = 0;
  device.max_sge = 6;
  device.max_sge_rd = 1;
  device.max_qp_rd_atom = 128;
  device.max_qp_wr = 32768;
  device.max_srq_wr = 1 << 20;
  device.max_cqe = 1 << 20;
  device.atomic_cap = IBV_ATOMIC_NONE;
  out.transport = IBV_TRANSPORT_IWARP;
  return out;
}

TEST(VerbsCapabilities, an_adapter_with_everything_states_everything) {
  const VerbsTraits traits = traits_of(mlx5_like());
  EXPECT_FALSE(traits.iwarp);
  EXPECT_TRUE(traits.has_windows());
  EXPECT_FALSE(traits.window_2a);
  EXPECT_EQ(traits.inline_bytes, 220u);
  EXPECT_FALSE(traits.repeats_binds);
  EXPECT_EQ(traits.max_reads, 16u);
  const std::uint64_t bits = capability_bits_of(traits);
  constexpr std::uint64_t kWanted =
      STRIA_CAP_PIO | STRIA_CAP_EAGER | STRIA_CAP_GET | STRIA_CAP_PUT | STRIA_CAP_FAST_REGISTER |
      STRIA_CAP_LOCAL_INVALIDATE | STRIA_CAP_INVALIDATE_FENCE | STRIA_CAP_SEND_INVALIDATE |
      STRIA_CAP_WINDOW_1 | STRIA_CAP_WINDOW_2B | STRIA_CAP_ZERO_BASED | STRIA_CAP_STRIDED |
      STRIA_CAP_COMPOSITE | STRIA_CAP_ATOMICS | STRIA_CAP_XRC | STRIA_CAP_ON_DEMAND_PAGING |
      STRIA_CAP_EVENT_FD | STRIA_CAP_OFFLOAD;
  EXPECT_EQ(names_of(bits), names_of(kWanted));
}

TEST(VerbsCapabilities, software_roce_has_windows_and_no_paging_xrc_or_strided_keys) {
  const VerbsTraits traits = traits_of(rxe());
  EXPECT_TRUE(traits.window_2b);
  EXPECT_TRUE(traits.local_invalidate);
  EXPECT_TRUE(traits.send_invalidate);
  const std::uint64_t bits = capability_bits_of(traits);
  EXPECT_EQ(bits & (STRIA_CAP_XRC | STRIA_CAP_ON_DEMAND_PAGING | STRIA_CAP_STRIDED | STRIA_CAP_COMPOSITE),
            0u);
  EXPECT_NE(bits & STRIA_CAP_FAST_REGISTER, 0u);
  EXPECT_EQ(traits.max_windows, 4096u);
  EXPECT_TRUE(traits.repeats_binds);
  EXPECT_FALSE(traits.zero_based) << "a read that is sent again is never answered";
}

TEST(VerbsCapabilities, iwarp_without_windows_follows_iwarp_rules_and_makes_no_key_in_the_data_path) {
  const VerbsTraits traits = traits_of(siw());
  EXPECT_TRUE(traits.iwarp);
  EXPECT_FALSE(traits.has_windows());
  EXPECT_FALSE(traits.local_invalidate) << "the work request is refused where there are no windows";
  EXPECT_EQ(traits.max_read_sge, 1u);
  const std::uint64_t bits = capability_bits_of(traits);
  EXPECT_EQ(bits & (STRIA_CAP_PIO | STRIA_CAP_FAST_REGISTER | STRIA_CAP_SEND_INVALIDATE | STRIA_CAP_ATOMICS |
                    STRIA_CAP_LOCAL_INVALIDATE),
            0u);
  EXPECT_NE(bits & STRIA_CAP_GET, 0u);
}

TEST(VerbsCapabilities, window_bits_without_a_single_window_are_not_believed) {
  VerbsAnswers answers = rxe();
  answers.device.orig_attr.max_mw = 0;
  const VerbsTraits traits = traits_of(answers);
  EXPECT_FALSE(traits.window_1 || traits.window_2a || traits.window_2b || traits.has_windows());
  EXPECT_FALSE(traits.local_invalidate);
}

TEST(VerbsCapabilities, a_read_fills_no_more_pieces_than_a_send_takes_and_one_where_iwarp_does_not_say) {
  VerbsAnswers answers = rxe();
  answers.device.orig_attr.max_sge_rd = 0;
  EXPECT_EQ(traits_of(answers).max_read_sge, 32u);
  answers.transport = IBV_TRANSPORT_IWARP;
  EXPECT_EQ(traits_of(answers).max_read_sge, 1u);
  answers.device.orig_attr.max_sge_rd = 99;
  EXPECT_EQ(traits_of(answers).max_read_sge, 32u);
}

TEST(VerbsCapabilities, limits_are_shown_for_people) {
  const std::string text = to_text(traits_of(siw()));
  EXPECT_NE(text.find("rules iWARP\n"), std::string::npos);
  EXPECT_NE(text.find("max_read_sge 1\n"), std::string::npos);
}

}  // namespace
}  // namespace stria::hw
