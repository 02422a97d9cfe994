#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace stria {
namespace {

class Log : public testing::Test {
 protected:
  Log() : before_(log::level()) {}
  ~Log() override { log::set_level(before_); }

 private:
  log::Level before_;
};

TEST_F(Log, a_line_has_the_process_the_level_and_the_text) {
  log::set_level(log::Level::warn);
  testing::internal::CaptureStderr();
  log::warn("{} of {}", 3, "four");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            fmt::format("stria[{}] warning: 3 of four\n", ::getpid()));
}

TEST_F(Log, what_is_below_the_level_is_not_written) {
  log::set_level(log::Level::error);
  testing::internal::CaptureStderr();
  log::warn("a warning");
  log::info("a note");
  log::debug("a detail");
  log::error("an error");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::EndsWith(" error: an error\n"));
  log::set_level(log::Level::off);
  testing::internal::CaptureStderr();
  log::error("an error");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Log, braces_in_a_text_are_text) {
  log::set_level(log::Level::warn);
  testing::internal::CaptureStderr();
  log::write(log::Level::warn, "{} {0} }{");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::EndsWith(" warning: {} {0} }{\n"));
}

TEST_F(Log, what_is_repeated_gets_few_lines) {
  log::Repeated repeated;
  std::vector<std::uint64_t> lines;
  for (int i = 0; i < 1000; ++i)
    if (repeated.is_worth_a_line()) lines.push_back(repeated.count());
  EXPECT_THAT(lines, testing::ElementsAre(1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512));
  EXPECT_EQ(repeated.count(), 1000u);
}

}  // namespace
}  // namespace stria
