// A program that has fmt and spdlog of its own, of whatever version: stria calls none of it. Here they are
// made of functions that end the process, under the names that the shared libraries of both have.
#define SPDLOG_COMPILED_LIB
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "stria/stria.h"

// The build exports all symbols of this program (CMakeLists.txt), so that they come before those of every
// library.
FMT_BEGIN_NAMESPACE
std::string vformat(string_view, format_args) {
  std::fputs("the program's fmt::vformat was called\n", stderr);
  std::abort();
}
FMT_END_NAMESPACE

namespace spdlog {
void logger::log_it_(const details::log_msg&, bool, bool) {
  std::fputs("the program's spdlog::logger was called\n", stderr);
  std::abort();
}
}  // namespace spdlog

namespace {

TEST(OtherFmt, is_not_called_when_the_library_refuses_an_argument) {
  EXPECT_EQ(stria_config_set("STRIA_EAGER_LIMIT", "much", "test"), STRIA_ERR_INVALID);
  EXPECT_THAT(stria_last_error(), testing::HasSubstr("'much' is not a size"));
}

TEST(OtherFmt, is_not_called_when_the_library_writes_to_its_log) {
  ::setenv("STRIA_NO_SUCH_VARIABLE", "1", 1);
  testing::internal::CaptureStderr();
  stria_context_t* context = nullptr;
  ASSERT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
  stria_context_close(context);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("warning: STRIA_NO_SUCH_VARIABLE is set"));
}

}  // namespace
