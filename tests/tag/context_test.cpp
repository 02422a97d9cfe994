// What a context takes from its configuration when it opens.
#include <utility>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "stria/stria.h"

namespace stria::test {
namespace {

TEST(Context, takes_the_level_of_the_log_from_its_configuration) {
  for (const auto& [text, level] :
       {std::pair{"info", log::Level::info}, std::pair{"error", log::Level::error},
        std::pair{"warn", log::Level::warn}}) {
    ASSERT_EQ(stria_config_set("STRIA_LOG", text, "test"), STRIA_OK);
    stria_context_t* context = nullptr;
    ASSERT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
    EXPECT_EQ(log::level(), level) << text;
    stria_context_close(context);
  }
}

}  // namespace
}  // namespace stria::test
