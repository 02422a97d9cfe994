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
  EXPECT_EQ(*found, &fake::fake_provider());
}

TEST(Loader, loads_a_provider_from_a_folder_and_only_once) {
  const auto found = find_provider("none", "/nonexistent::" PROVIDERS, {});
  ASSERT_TRUE(found.has_value()) << found.error().context;
  EXPECT_STREQ((*found)->name, "none");
  EXPECT_EQ(*find_provider("none", kFolder, {}), *found);
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

TEST(Loader, refuses_a_library_without_the_symbol) {
  EXPECT_THAT(error_of("symbol").context,
              testing::AllOf(HasSubstr(file("symbol")), HasSubstr("stria_provider_v1")));
}

TEST(Loader, says_which_version_it_wants_and_which_it_found) {
  const std::string wanted = "version 6 wanted, 47 found";
  EXPECT_THAT(error_of("version").context, testing::AllOf(HasSubstr(file("version")), HasSubstr(wanted)));
  EXPECT_THAT(error_of("ops_version").context,
              HasSubstr("version 6 of the operations table wanted, 13 found"));
}

TEST(Loader, refuses_tables_that_are_too_small) {
  EXPECT_THAT(error_of("size").context,
              HasSubstr(std::to_string(sizeof(stria_provider_t)) + " bytes wanted, " +
                        std::to_string(sizeof(stria_provider_t) - 8) + " found"));
  EXPECT_THAT(error_of("ops_size").context,
              HasSubstr(std::to_string(sizeof(stria_hot_ops_t) - 8) + " found"));
}

TEST(Loader, refuses_tables_with_empty_entries) {
  EXPECT_THAT(error_of("entry").context, HasSubstr("empty entries"));
  EXPECT_THAT(error_of("ops_entry").context, HasSubstr("empty entries"));
}

TEST(Loader, refuses_a_provider_of_another_name) {
  EXPECT_THAT(error_of("name").context, HasSubstr("'name' wanted, 'somebody_else' found"));
}

}  // namespace
}  // namespace stria::transport
