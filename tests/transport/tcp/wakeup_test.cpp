// A wakeup is notified once of what has come, from whichever thread, and for what was there before it was
// armed.
#include "transport/tcp/wakeup.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "base/fd.hpp"

namespace stria::tcp {
namespace {

struct TcpWakeup : testing::Test {
  void SetUp() override {
    auto made = Wakeup::open(descriptor.get());
    if (!made && made.error().status == Status::unsupported) GTEST_SKIP() << made.error().context;
    ASSERT_TRUE(made) << made.error().context;
    wakeup = *std::move(made);
  }
  void come() const { EXPECT_EQ(::eventfd_write(descriptor.get(), 1), 0); }
  void take() const {
    eventfd_t taken = 0;
    EXPECT_EQ(::eventfd_read(descriptor.get(), &taken), 0);
  }
  UniqueFd descriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::unique_ptr<Wakeup> wakeup;
};

TEST_F(TcpWakeup, is_quiet_only_while_it_is_armed_and_nothing_has_come) {
  EXPECT_FALSE(wakeup->is_quiet());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(wakeup->arm());
    EXPECT_TRUE(wakeup->is_quiet());
    std::thread([this] { come(); }).join();
    EXPECT_FALSE(wakeup->is_quiet());
    wakeup->clear();
    take();
  }
}

TEST_F(TcpWakeup, is_notified_at_once_for_what_was_there_before) {
  come();
  ASSERT_TRUE(wakeup->arm());
  EXPECT_FALSE(wakeup->is_quiet());
  wakeup->clear();
  ASSERT_TRUE(wakeup->arm());
  EXPECT_FALSE(wakeup->is_quiet()) << "nobody has taken it";
  wakeup->clear();
  take();
  ASSERT_TRUE(wakeup->arm());
  EXPECT_TRUE(wakeup->is_quiet());
}

TEST_F(TcpWakeup, is_armed_by_the_thread_that_opened_it_alone_and_heard_by_all) {
  std::thread([this] { EXPECT_FALSE(wakeup->arm()); }).join();
  ASSERT_TRUE(wakeup->arm());
  come();
  std::thread([this] {
    EXPECT_FALSE(wakeup->is_quiet());
    wakeup->clear();
    EXPECT_FALSE(wakeup->is_quiet()) << "another thread has cleared it";
  }).join();
  wakeup->clear();
  take();
  ASSERT_TRUE(wakeup->arm());
  EXPECT_TRUE(wakeup->is_quiet());
}

}  // namespace
}  // namespace stria::tcp
