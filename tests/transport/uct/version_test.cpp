// Which UCX the provider runs with.
#include <gtest/gtest.h>

#include "transport/uct/version.hpp"

namespace stria::uct {
namespace {

TEST(UctVersion, only_the_major_and_minor_number_of_the_headers_are_taken) {
  EXPECT_TRUE(check_version("1.13.1", 1, 13).has_value());
  EXPECT_TRUE(check_version("1.13.0", 1, 13).has_value());
  for (const char* other : {"1.12.1", "1.14.0", "1.1.3", "1.130.0", "2.13.1", "0.13.1", "11.3.1"}) {
    const auto checked = check_version(other, 1, 13);
    ASSERT_FALSE(checked.has_value()) << other;
    EXPECT_EQ(checked.error().status, Status::unsupported);
    EXPECT_NE(checked.error().context.find("1.13"), std::string::npos) << checked.error().context;
    EXPECT_NE(checked.error().context.find(other), std::string::npos) << checked.error().context;
  }
}

TEST(UctVersion, a_version_that_cannot_be_read_is_refused) {
  for (const char* text : {"", "1", "1.", ".13", "version 1.13", "1-13"})
    EXPECT_FALSE(check_version(text, 1, 13).has_value()) << text;
}

TEST(UctVersion, libuct_and_libucp_are_of_one_folder) {
  EXPECT_TRUE(check_folders("/opt/ucx/lib", "/opt/ucx/lib"));
  for (const auto& [uct, ucp] : {std::pair{"/usr/lib", "/opt/ucx/lib"}, std::pair{"/usr/lib", ""}}) {
    const auto checked = check_folders(uct, ucp);
    ASSERT_FALSE(checked) << uct << ' ' << ucp;
    EXPECT_EQ(checked.error().status, Status::unsupported);
    for (const char* word : {uct, ucp, "LD_LIBRARY_PATH"})
      EXPECT_NE(checked.error().context.find(word), std::string::npos) << checked.error().context;
  }
  EXPECT_FALSE(check_folders("", "")) << "folders that are not known";
}

TEST(UctVersion, the_library_of_this_process_is_that_of_the_headers) {
  const auto checked = check_loaded_version();
  EXPECT_TRUE(checked.has_value()) << checked.error().context;
}

}  // namespace
}  // namespace stria::uct
