// Messages, gathers, atomics and the end of a queue pair, on whatever device the guest has; what it lacks is
// skipped by what it says of itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "tests/lab/verbs/pair.hpp"

namespace stria::lab {
namespace {

constexpr std::byte kSource{0x5a};
constexpr std::byte kBlank{0x11};
constexpr int kAllRemote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

/// iWARP writes the answer of a read by the sink's own key.
int sink_access() {
  return device().iwarp ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_LOCAL_WRITE;
}

TEST(Messages, go_both_ways) {
  Pair pair;
  Region out(pair.domain(), 4096, 0, kSource);
  Region in(pair.domain(), 4096, IBV_ACCESS_LOCAL_WRITE, kBlank);
  ASSERT_EQ(pair.b().post_receive(in.piece(0, 4096)), 0);
  ASSERT_EQ(pair.a().send(out.piece(0, 4096)),
            0);  // the first from the side that asked for the connection: iWARP's rule
  EXPECT_EQ(pair.b().received().bytes, 4096u);
  EXPECT_EQ(pair.a().sent().status, IBV_WC_SUCCESS);
  EXPECT_TRUE(in.is_all(kSource));
  ASSERT_EQ(pair.a().post_receive(in.piece(0, 4096)), 0);
  ASSERT_EQ(pair.b().send(out.piece(0, 100)), 0);
  EXPECT_EQ(pair.a().received().bytes, 100u);
}

TEST(Messages, sent_inline_leave_their_memory_at_once) {
  Options options;
  options.inline_bytes = device().iwarp ? 64 : 256;  // the most that siw and rxe take, or near it
  Pair pair(options);
  Region in(pair.domain(), 256, IBV_ACCESS_LOCAL_WRITE, kBlank);
  ASSERT_EQ(pair.b().post_receive(in.piece(0, 256)), 0);
  std::vector<std::byte> out(options.inline_bytes, kSource);  // not registered
  ASSERT_EQ(
      pair.a().send({reinterpret_cast<std::uint64_t>(out.data()), options.inline_bytes, 0}, IBV_SEND_INLINE),
      0);
  std::fill(out.begin(), out.end(), kBlank);
  ASSERT_EQ(pair.b().received().bytes, options.inline_bytes);
  for (std::uint32_t i = 0; i < options.inline_bytes; ++i) ASSERT_EQ(in.data()[i], kSource) << i;
}

TEST(Messages, of_two_connections_come_by_one_shared_queue) {
  Options options;
  options.shared_receives = true;
  Pair pair(options);
  Region out(pair.domain(), 64, 0, kSource);
  Region in(pair.domain(), 128, IBV_ACCESS_LOCAL_WRITE, kBlank);
  ASSERT_EQ(pair.a().post_receive(in.piece(0, 64)), 0);
  ASSERT_EQ(pair.a().post_receive(in.piece(64, 64)), 0);
  ASSERT_EQ(pair.a().send(out.piece(0, 64)), 0);
  EXPECT_EQ(pair.b().received().status, IBV_WC_SUCCESS);
  ASSERT_EQ(pair.b().send(out.piece(0, 64)), 0);
  EXPECT_EQ(pair.a().received().status, IBV_WC_SUCCESS);
  EXPECT_TRUE(in.is_all(kSource));
}

TEST(Messages, into_too_small_a_buffer_end_both_sides) {
  Pair pair;
  Region out(pair.domain(), 64, 0, kSource);
  Region in(pair.domain(), 16, IBV_ACCESS_LOCAL_WRITE, kBlank);
  ASSERT_EQ(pair.b().post_receive(in.piece(0, 16)), 0);
  ASSERT_EQ(pair.a().send(out.piece(0, 64)), 0);
  EXPECT_NE(pair.b().received().status, IBV_WC_SUCCESS);
}

TEST(Gather, a_write_takes_as_many_pieces_as_the_queue_pair_was_made_for) {
  Pair pair;
  Region out(pair.domain(), 4096, 0, kSource);
  Region in(pair.domain(), 64, kAllRemote, kBlank);
  std::vector<ibv_sge> pieces;
  for (std::size_t i = 0; i < 4; ++i) pieces.push_back(out.piece(i * 1000, 16));
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.sg_list = pieces.data();
  request.num_sge = 4;
  request.wr.rdma = {in.address(), in.mr()->rkey};
  ASSERT_EQ(pair.a().post(request), 0);
  EXPECT_EQ(pair.a().sent().status, IBV_WC_SUCCESS);
  EXPECT_TRUE(in.is_all(kSource));
}

TEST(Gather, a_read_scatters_into_as_many_pieces_as_the_device_allows) {
  if (device().attributes.max_sge_rd < 3)
    GTEST_SKIP() << "a read takes " << device().attributes.max_sge_rd << " pieces here";
  Pair pair;
  Region out(pair.domain(), 48, kAllRemote, kSource);
  Region in(pair.domain(), 4096, IBV_ACCESS_LOCAL_WRITE, kBlank);
  std::vector<ibv_sge> pieces{in.piece(0, 16), in.piece(1000, 16), in.piece(2000, 16)};
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.sg_list = pieces.data();
  request.num_sge = 3;
  request.wr.rdma = {out.address(), out.mr()->rkey};
  ASSERT_EQ(pair.a().post(request), 0);
  EXPECT_EQ(pair.a().sent().status, IBV_WC_SUCCESS);
  EXPECT_EQ(in.data()[2015], kSource);
  EXPECT_EQ(in.data()[2016], kBlank);
}

TEST(Reads, and_writes_reach_a_region_with_remote_rights) {
  Pair pair;
  Region theirs(pair.domain(), 65536, kAllRemote, kSource);
  Region ours(pair.domain(), 65536, sink_access(), kBlank);
  ASSERT_EQ(pair.a().read(ours.piece(0, 65536), theirs.address(), theirs.mr()->rkey), 0);
  EXPECT_EQ(pair.a().sent().status, IBV_WC_SUCCESS);
  EXPECT_TRUE(ours.is_all(kSource));
}

TEST(Reads, are_whole_when_their_completion_comes_and_that_comes_in_order) {
  constexpr std::size_t kBytes = 1 << 20;
  Pair pair;
  Region theirs(pair.domain(), kBytes, kAllRemote, kSource);
  Region ours(pair.domain(), kBytes, sink_access(), kBlank);
  Region note(pair.domain(), 64, IBV_ACCESS_LOCAL_WRITE, kBlank);
  for (int round = 0; round < 5; ++round) {
    std::fill(ours.data(), ours.data() + kBytes, kBlank);
    ASSERT_EQ(pair.b().post_receive(note.piece(0, 64)), 0);
    ASSERT_EQ(pair.a().read(ours.piece(0, kBytes), theirs.address(), theirs.mr()->rkey), 0);
    // Without the fence siw completes the message first, and the bytes of the read are not there yet.
    ASSERT_EQ(pair.a().send(note.piece(0, 8), device().iwarp ? IBV_SEND_FENCE : 0), 0);
    const Ended first = pair.a().sent();
    ASSERT_EQ(first.status, IBV_WC_SUCCESS) << first.name();
    EXPECT_EQ(first.opcode, IBV_WC_RDMA_READ);
    EXPECT_TRUE(ours.is_all(kSource));
    EXPECT_EQ(pair.a().sent().opcode, IBV_WC_SEND);
    EXPECT_EQ(pair.b().received().status, IBV_WC_SUCCESS);
  }
}

TEST(Reads, beyond_the_region_end_in_an_error_and_so_does_all_that_follows) {
  Pair pair;
  Region theirs(pair.domain(), 4096, kAllRemote, kSource);
  Region ours(pair.domain(), 8192, sink_access(), kBlank);
  ASSERT_EQ(pair.a().read(ours.piece(0, 8192), theirs.address(), theirs.mr()->rkey), 0);
  const Ended first = pair.a().sent();
  EXPECT_EQ(first.status, device().iwarp ? IBV_WC_WR_FLUSH_ERR : IBV_WC_REM_ACCESS_ERR) << first.name();
  // siw takes a work request on a dead queue pair and forgets it: its owner must not wait for that one.
  if (device().iwarp) return;
  ASSERT_EQ(pair.a().send(ours.piece(0, 8)), 0);
  const Ended second = pair.a().sent();
  EXPECT_EQ(second.status, IBV_WC_WR_FLUSH_ERR) << second.name();
}

TEST(Atomics, add_and_swap) {
  if (device().attributes.atomic_cap == IBV_ATOMIC_NONE) GTEST_SKIP() << "the device has no atomics";
  Pair pair;
  Region word(pair.domain(), 8, kAllRemote | IBV_ACCESS_REMOTE_ATOMIC, std::byte{0});
  Region before(pair.domain(), 8, IBV_ACCESS_LOCAL_WRITE, kBlank);
  auto& value = *reinterpret_cast<std::uint64_t*>(word.data());
  auto& old = *reinterpret_cast<std::uint64_t*>(before.data());
  ibv_sge where = before.piece(0, 8);
  ibv_send_wr request{};
  request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  request.send_flags = IBV_SEND_SIGNALED;
  request.sg_list = &where;
  request.num_sge = 1;
  request.wr.atomic = {word.address(), 5, 0, word.mr()->rkey};
  ASSERT_EQ(pair.a().post(request), 0);
  EXPECT_EQ(pair.a().sent().status, IBV_WC_SUCCESS);
  EXPECT_EQ(value, 5u);
  EXPECT_EQ(old, 0u);
  request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  request.wr.atomic = {word.address(), 5, 9, word.mr()->rkey};
  ASSERT_EQ(pair.a().post(request), 0);
  EXPECT_EQ(pair.a().sent().status, IBV_WC_SUCCESS);
  EXPECT_EQ(value, 9u);
  EXPECT_EQ(old, 5u);
}

TEST(QueuePair, that_is_put_in_error_completes_all_that_is_pending) {
  Pair pair;
  Region in(pair.domain(), 64, IBV_ACCESS_LOCAL_WRITE, kBlank);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(pair.b().post_receive(in.piece(i * 16, 16)), 0);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(pair.b().qp(), &error, IBV_QP_STATE), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pair.b().received().status, IBV_WC_WR_FLUSH_ERR);
}

/// What iWARP by siw refuses: code has to follow capabilities.
TEST(Iwarp, has_no_windows_and_refuses_what_needs_them) {
  if (!device().iwarp) GTEST_SKIP() << "not an iWARP device";
  Pair pair;
  EXPECT_EQ(ibv_alloc_mw(pair.domain(), IBV_MW_TYPE_2), nullptr);
  EXPECT_EQ(device().attributes.max_mw, 0);
  Region region(pair.domain(), 64, kAllRemote, kSource);
  EXPECT_NE(pair.a().invalidate(region.mr()->rkey), 0);
}

TEST(Iwarp, sends_with_invalidate_and_ends_by_a_flush_not_an_access_error) {
  if (!device().iwarp) GTEST_SKIP() << "not an iWARP device";
  Pair pair;
  Region theirs(pair.domain(), 4096, kAllRemote, kSource);
  Region ours(pair.domain(), 4096, sink_access(), kBlank);
  ASSERT_EQ(pair.b().post_receive(theirs.piece(0, 64)), 0);
  ASSERT_EQ(pair.a().read(ours.piece(0, 4096), theirs.address(), theirs.mr()->rkey), 0);
  ASSERT_EQ(pair.a().sent().status, IBV_WC_SUCCESS);
  ASSERT_EQ(pair.a().send_invalidating(ours.piece(0, 8), theirs.mr()->rkey), 0);
  EXPECT_EQ(pair.a().sent().status, IBV_WC_SUCCESS);
  const Ended told = pair.b().received();
  EXPECT_EQ(told.status, IBV_WC_SUCCESS) << told.name();
  EXPECT_EQ(told.invalidated_rkey, 0u) << "siw's library has learnt to tell which key died";
  ASSERT_EQ(pair.a().read(ours.piece(0, 4096), theirs.address(), theirs.mr()->rkey), 0);
  const Ended late = pair.a().sent();
  EXPECT_EQ(late.status, IBV_WC_WR_FLUSH_ERR) << late.name();
}

}  // namespace
}  // namespace stria::lab
