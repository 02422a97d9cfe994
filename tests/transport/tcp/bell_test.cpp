// A bell rings once for what has come, from whichever thread, and for what was there before it was armed.
#include "transport/tcp/bell.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "base/fd.hpp"

namespace stria::tcp {
namespace {

struct TcpBell : testing::Test {
  void SetUp() override {
    auto made = Bell::open(descriptor.get());
    if (!made && made.error().status == Status::unsupported) GTEST_SKIP() << made.error().context;
    ASSERT_TRUE(made) << made.error().context;
    bell = *std::move(made);
  }
  void come() const { EXPECT_EQ(::eventfd_write(descriptor.get(), 1), 0); }
  void take() const {
    eventfd_t taken = 0;
    EXPECT_EQ(::eventfd_read(descriptor.get(), &taken), 0);
  }
  UniqueFd descriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::unique_ptr<Bell> bell;
};

TEST_F(TcpBell, is_silent_only_while_it_is_armed_and_nothing_has_come) {
  EXPECT_FALSE(bell->is_silent());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(bell->arm());
    EXPECT_TRUE(bell->is_silent());
    std::thread([this] { come(); }).join();
    EXPECT_FALSE(bell->is_silent());
    bell->answer();
    take();
  }
}

TEST_F(TcpBell, rings_at_once_for_what_was_there_before) {
  come();
  ASSERT_TRUE(bell->arm());
  EXPECT_FALSE(bell->is_silent());
  bell->answer();
  ASSERT_TRUE(bell->arm());
  EXPECT_FALSE(bell->is_silent()) << "nobody has taken it";
  bell->answer();
  take();
  ASSERT_TRUE(bell->arm());
  EXPECT_TRUE(bell->is_silent());
}

TEST_F(TcpBell, is_armed_by_the_thread_that_opened_it_alone_and_heard_by_all) {
  std::thread([this] { EXPECT_FALSE(bell->arm()); }).join();
  ASSERT_TRUE(bell->arm());
  come();
  std::thread([this] {
    EXPECT_FALSE(bell->is_silent());
    bell->answer();
    EXPECT_FALSE(bell->is_silent()) << "another thread has taken the ringing away";
  }).join();
  bell->answer();
  take();
  ASSERT_TRUE(bell->arm());
  EXPECT_TRUE(bell->is_silent());
}

}  // namespace
}  // namespace stria::tcp
