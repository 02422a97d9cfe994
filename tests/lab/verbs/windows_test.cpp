// What a rendezvous over verbs relies on: a region without remote rights, type 2 windows that grant them, and
// the ends of their keys. Skipped where the device has no such windows.
#include <gtest/gtest.h>

#include <memory>

#include "tests/lab/verbs/pair.hpp"

namespace stria::lab {
namespace {

constexpr std::size_t kBytes = 64 * 1024;
constexpr int kRegionOnly = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
constexpr std::byte kSource{0x5a};
constexpr std::byte kBlank{0x11};

/// `b` owns the source and its window, `a` reads: as the sender and the receiver of a rendezvous.
struct Ends {
  Pair pair;
  Region source{pair.domain(), kBytes, kRegionOnly, kSource};
  Region sink{pair.domain(), kBytes, IBV_ACCESS_LOCAL_WRITE, kBlank};
  Window window{pair.domain()};
};

struct Windows : testing::Test {
  void SetUp() override {
    if ((device().attributes.device_cap_flags &
         (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) == 0) {
      GTEST_SKIP() << "the device has no type 2 windows";
    }
    ends = std::make_unique<Ends>();
  }
  void bind(int access) {
    ASSERT_EQ(ends->window.bind(ends->pair.b(), ends->source, 0, kBytes, access), 0);
    ASSERT_EQ(ends->pair.b().sent().status, IBV_WC_SUCCESS);
  }
  Ended read_all(std::uint32_t key) {
    EXPECT_EQ(a().read(sink().piece(0, kBytes), source().address(), key), 0);
    return a().sent();
  }
  End& a() { return ends->pair.a(); }
  End& b() { return ends->pair.b(); }
  ibv_pd* domain() { return ends->pair.domain(); }
  Region& source() { return ends->source; }
  Region& sink() { return ends->sink; }
  Window& window() { return ends->window; }
  std::unique_ptr<Ends> ends;
};

TEST_F(Windows, a_read_through_one_gives_the_bytes_of_a_region_without_remote_rights) {
  bind(IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(read_all(window().key()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(sink().is_all(kSource));
}

TEST_F(Windows, the_key_of_a_region_without_remote_rights_gives_nothing) {
  EXPECT_EQ(read_all(source().mr()->rkey).status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(sink().is_all(kBlank));
}

TEST_F(Windows, send_with_invalidate_tells_the_key_and_ends_it) {
  bind(IBV_ACCESS_REMOTE_READ);
  Region note(domain(), 64, IBV_ACCESS_LOCAL_WRITE, kBlank);
  ASSERT_EQ(b().post_receive(note.piece(0, 64)), 0);
  ASSERT_EQ(read_all(window().key()).status, IBV_WC_SUCCESS);
  ASSERT_EQ(a().send_invalidating(sink().piece(0, 8), window().key()), 0);
  EXPECT_EQ(a().sent().status, IBV_WC_SUCCESS);
  const Ended told = b().received();
  EXPECT_EQ(told.status, IBV_WC_SUCCESS) << told.name();
  EXPECT_EQ(told.invalidated_rkey, window().key());
  EXPECT_EQ(told.bytes, 8u);
  EXPECT_EQ(read_all(window().key()).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Windows, send_with_invalidate_sets_its_flag_or_the_one_that_rxe_sets) {
  bind(IBV_ACCESS_REMOTE_READ);
  ASSERT_EQ(b().post_receive(sink().piece(0, 64)), 0);
  ASSERT_EQ(a().send_invalidating(source().piece(0, 8), window().key()), 0);
  const Ended told = b().received();
  constexpr unsigned kOfRxe = 4;  // Linux 6.1 hands the kernel's own bit to user space
  EXPECT_NE(told.flags & (IBV_WC_WITH_INV | kOfRxe), 0u) << told.flags;
  EXPECT_EQ(a().sent().status, IBV_WC_SUCCESS);
}

TEST_F(Windows, after_a_local_invalidate_the_stale_key_is_refused) {
  bind(IBV_ACCESS_REMOTE_READ);
  const std::uint32_t stale = window().key();
  ASSERT_EQ(b().invalidate(stale), 0);
  ASSERT_EQ(b().sent().status, IBV_WC_SUCCESS);
  bind(IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(stale >> 8, window().key() >> 8);
  EXPECT_NE(stale, window().key());
  EXPECT_EQ(read_all(window().key()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(sink().is_all(kSource));
  EXPECT_EQ(read_all(stale).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Windows, a_read_only_one_refuses_a_write) {
  bind(IBV_ACCESS_REMOTE_READ);
  ASSERT_EQ(a().write(sink().piece(0, 64), source().address(), window().key()), 0);
  EXPECT_EQ(a().sent().status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(source().is_all(kSource));
}

TEST_F(Windows, a_write_through_one_that_grants_it_arrives) {
  bind(IBV_ACCESS_REMOTE_WRITE);
  ASSERT_EQ(a().write(sink().piece(0, kBytes), source().address(), window().key()), 0);
  EXPECT_EQ(a().sent().status, IBV_WC_SUCCESS);
  EXPECT_TRUE(source().is_all(kBlank));
}

TEST_F(Windows, one_serves_the_queue_pair_it_was_bound_on_only) {
  bind(IBV_ACCESS_REMOTE_READ);
  Pair other;
  Region elsewhere(other.domain(), kBytes, IBV_ACCESS_LOCAL_WRITE, kBlank);
  ASSERT_EQ(other.domain(), domain()) << "the refusal would be the domain's";
  ASSERT_EQ(other.a().read(elsewhere.piece(0, kBytes), source().address(), window().key()), 0);
  EXPECT_EQ(other.a().sent().status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(elsewhere.is_all(kBlank));
  EXPECT_EQ(read_all(window().key()).status, IBV_WC_SUCCESS);
}

TEST_F(Windows, a_region_is_not_deregistered_under_one) {
  bind(IBV_ACCESS_REMOTE_READ);
  EXPECT_NE(source().deregister(), 0);
  ASSERT_EQ(b().invalidate(window().key()), 0);
  EXPECT_EQ(b().sent().status, IBV_WC_SUCCESS);
  EXPECT_EQ(source().deregister(), 0);
}

TEST_F(Windows, a_zero_based_one_is_read_from_zero) {
  ASSERT_EQ(window().bind(b(), source(), 4096, 8192, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED), 0);
  ASSERT_EQ(b().sent().status, IBV_WC_SUCCESS);
  source().data()[4096] = std::byte{0x77};
  ASSERT_EQ(a().read(sink().piece(0, 8192), 0, window().key()), 0);
  EXPECT_EQ(a().sent().status, IBV_WC_SUCCESS);
  EXPECT_EQ(sink().data()[0], std::byte{0x77});
  EXPECT_EQ(sink().data()[8191], kSource);
}

TEST_F(Windows, a_bind_and_the_message_that_tells_its_key_go_out_in_one_list) {
  Region note(domain(), 64, IBV_ACCESS_LOCAL_WRITE, kBlank);
  ASSERT_EQ(a().post_receive(note.piece(0, 64)), 0);
  ibv_send_wr bind = window().request(source(), 0, kBytes, IBV_ACCESS_REMOTE_READ);
  bind.send_flags = 0;  // one completion tells of both
  ibv_sge told = source().piece(0, 16);
  ibv_send_wr message{};
  message.opcode = IBV_WR_SEND;
  message.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  message.sg_list = &told;
  message.num_sge = 1;
  bind.next = &message;
  ASSERT_EQ(b().post(bind), 0);
  window().bound_by(bind);
  ASSERT_EQ(a().received().status, IBV_WC_SUCCESS);
  EXPECT_EQ(read_all(window().key()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(sink().is_all(kSource));
  EXPECT_EQ(b().sent().opcode, IBV_WC_SEND);
}

TEST_F(Windows, many_keys_of_one_window_come_and_go) {
  for (int round = 0; round < 300; ++round) {  // the 8 bits of the consumer key go round
    bind(IBV_ACCESS_REMOTE_READ);
    ASSERT_EQ(b().invalidate(window().key()), 0);
    ASSERT_EQ(b().sent().status, IBV_WC_SUCCESS);
  }
  bind(IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(read_all(window().key()).status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace stria::lab
