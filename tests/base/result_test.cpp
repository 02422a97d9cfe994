// Status and Result, and their agreement with the public header.
#include "base/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "stria/stria.h"
#include "tests/death_style.hpp"

namespace stria {
namespace {

static_assert(static_cast<int>(Status::ok) == STRIA_OK);
static_assert(static_cast<int>(Status::in_progress) == STRIA_IN_PROGRESS);
static_assert(static_cast<int>(Status::no_resource) == STRIA_ERR_NO_RESOURCE);
static_assert(static_cast<int>(Status::truncated) == STRIA_ERR_TRUNCATED);
static_assert(static_cast<int>(Status::cancelled) == STRIA_ERR_CANCELLED);
static_assert(static_cast<int>(Status::invalid) == STRIA_ERR_INVALID);
static_assert(static_cast<int>(Status::unsupported) == STRIA_ERR_UNSUPPORTED);
static_assert(static_cast<int>(Status::unreachable) == STRIA_ERR_UNREACHABLE);
static_assert(static_cast<int>(Status::access_error) == STRIA_ERR_ACCESS);
static_assert(static_cast<int>(Status::peer_failed) == STRIA_ERR_PEER_FAILED);
static_assert(static_cast<int>(Status::io_error) == STRIA_ERR_IO);

TEST(Status, every_value_has_a_text_of_its_own) {
  std::set<std::string_view> texts;
  for (int value = -9; value <= 1; ++value) {
    const std::string_view text = to_string(static_cast<Status>(value));
    EXPECT_FALSE(text.empty());
    EXPECT_NE(text, "unknown status") << value;
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
  EXPECT_EQ(to_string(static_cast<Status>(42)), "unknown status");
}

Result<std::unique_ptr<int>> half(int value) {
  if (value % 2 != 0) return Error{Status::invalid, std::to_string(value) + " is odd"};
  return std::make_unique<int>(value / 2);
}

TEST(Result, holds_a_value_that_can_be_moved_out) {
  auto result = half(8);
  ASSERT_TRUE(result.has_value());
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(**result, 4);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 4);
}

TEST(Result, holds_an_error_with_its_context) {
  const auto result = half(7);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().status, Status::invalid);
  EXPECT_EQ(result.error().context, "7 is odd");
}

TEST(Result, of_an_error_type_keeps_value_and_error_apart) {
  const Result<std::string> value(std::string("text"));
  const Result<std::string> error(Error{Status::io_error, "text"});
  EXPECT_TRUE(value.has_value());
  EXPECT_FALSE(error.has_value());
}

TEST(Result, of_nothing_is_fine_unless_it_has_an_error) {
  const Result<void> fine;
  const Result<void> failed(Error{Status::io_error, "no"});
  EXPECT_TRUE(fine.has_value());
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().context, "no");
}

TEST(ResultDeathTest, asking_for_what_is_not_there_ends_the_process) {
  test::die_in_new_processes();
  EXPECT_DEATH(static_cast<void>(*half(7)), "holds an error");
  EXPECT_DEATH(static_cast<void>(half(8).error()), "holds a value");
}

}  // namespace
}  // namespace stria
