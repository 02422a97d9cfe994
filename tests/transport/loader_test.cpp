// The loader: built-in tables first, then files in order, and an error that says what is wrong with which
// file.
#include "transport/loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "transport/fake/fake.hpp"

namespace stria::transport {
namespace {

using testing::HasSubstr;
constexpr const char* kFolder = PROVIDERS;

Error error_of(std::string_view name, std::string_view path = kFolder) {
  auto found = find_provider(name, path, {});
  EXPECT_FALSE(found.has_value()) << name << " was taken";
  return found ? Error{Status::ok, ""} : found.error();
}
std::string file(const char* name) {
  return std::string(PROVIDERS "/libstria_provider_") + name + ".so";
}

TEST(Loader, finds_a_built_in_provider_before_any_file) {
  const stria_provider_t* builtins[] = {&fake::fake_provider()};
  const auto found = find_provider("fake", kFolder, builtins);
  ASSERT_TRUE(found.has_value()) << found.error().context;
  EXPECT_EQ((*found)->table, &fake::fake_provider());
  EXPECT_EQ((*found)->ops.eager_send, fake::fake_provider().eager_send);
}

TEST(Loader, loads_a_provider_from_a_folder_and_only_once) {
  const auto found = find_provider("none", "/nonexistent::" PROVIDERS, {});
  ASSERT_TRUE(found.has_value()) << found.error().context;
  EXPECT_STREQ((*found)->table->name, "none");
  EXPECT_EQ((*find_provider("none", kFolder, {}))->table, (*found)->table);
}

TEST(Loader, names_what_is_built_in_and_the_folders_it_searched) {
  const stria_provider_t* builtins[] = {&fake::fake_provider()};
  const auto found = find_provider("absent", "/first:/second", builtins);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().status, Status::unreachable);
  EXPECT_THAT(found.error().context, HasSubstr("absent"));
  EXPECT_THAT(found.error().context, HasSubstr("/first:/second"));
  EXPECT_THAT(found.error().context, HasSubstr("fake"));
}

TEST(Loader, takes_no_path_for_a_name) {
  for (const char* name : {"", "../evil", "a/b", "a.b", "a b", "\xff"})
    EXPECT_EQ(error_of(name).status, Status::invalid);
  EXPECT_EQ(error_of(std::string(65, 'a')).status, Status::invalid);
}

TEST(Loader, refuses_a_file_that_is_no_library) {
  const Error error = error_of("text");
  EXPECT_EQ(error.status, Status::invalid);
  EXPECT_THAT(error.context, HasSubstr(file("text")));
}

TEST(Loader, refuses_a_library_without_the_symbol_and_says_that_its_version_may_be_the_reason) {
  EXPECT_THAT(
      error_of("symbol").context,
      testing::AllOf(HasSubstr(file("symbol")), HasSubstr("stria_provider_v7"), HasSubstr("version")));
}

TEST(Loader, says_which_version_it_has_and_which_it_found) {
  EXPECT_THAT(error_of("version").context,
              testing::AllOf(HasSubstr(file("version")),
                             HasSubstr("version 48 of the provider contract, this library has version 7")));
}

TEST(Loader, refuses_a_table_that_is_too_small) {
  EXPECT_THAT(error_of("size").context,
              HasSubstr(std::to_string(sizeof(stria_provider_t)) + " bytes wanted, " +
                        std::to_string(sizeof(stria_provider_t) - 8) + " found"));
}

TEST(Loader, names_the_function_that_a_core_lacks) {
  EXPECT_THAT(error_of("core").context,
              testing::AllOf(HasSubstr(file("core")), HasSubstr("provider 'core': the core lacks check")));
}

TEST(Loader, names_the_group_and_the_function_that_it_lacks) {
  EXPECT_THAT(error_of("group_function").context,
              HasSubstr("provider 'group_function': group keys lacks invalidate"));
}

TEST(Loader, refuses_a_group_bulk_without_its_zero_copy_send) {
  EXPECT_THAT(error_of("bulk").context, HasSubstr("provider 'bulk': group bulk lacks zcopy_send"));
}

TEST(Loader, names_the_group_that_is_too_small) {
  EXPECT_THAT(
      error_of("group_size").context,
      HasSubstr("provider 'group_size': group keys has " + std::to_string(sizeof(stria_group_keys_t) - 8) +
                " bytes, " + std::to_string(sizeof(stria_group_keys_t)) + " are wanted"));
}

TEST(Loader, names_the_group_without_which_another_makes_no_sense) {
  EXPECT_THAT(error_of("group_needs").context,
              HasSubstr("provider 'group_needs': group put needs group keys"));
}

TEST(Loader, refuses_variables_that_cannot_be_used) {
  EXPECT_THAT(error_of("variable").context,
              testing::AllOf(HasSubstr(file("variable")), HasSubstr("STRIA_VARIABLE_SIZE"),
                             HasSubstr("default"), HasSubstr("'4T'")));
  EXPECT_THAT(error_of("no_variables").context, HasSubstr("3 variables are announced"));
}

TEST(Loader, refuses_a_provider_of_another_name) {
  EXPECT_THAT(error_of("name").context, HasSubstr("'name' wanted, 'somebody_else' found"));
}

}  // namespace
}  // namespace stria::transport
