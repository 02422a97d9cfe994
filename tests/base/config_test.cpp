// Configuration: what is accepted, what is refused with which words, and where a value came from. The
// variables are this test's own: base/ knows none of the other rooms'.
#include "base/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "tests/death_style.hpp"

namespace stria {
namespace {

using testing::HasSubstr;

constexpr Variable kFirst[] = {
    bytes_variable(Level::user, "STRIA_ANY_LIMIT", "256K", {}, "A size."),
    choice_variable(Level::user, "STRIA_ANY_WAY", "auto", "auto|off", "A choice."),
    text_variable(Level::user, "STRIA_ANY_PATH", "", "A text."),
};
constexpr Variable kSecond[] = {
    number_variable(Level::expert, "STRIA_MORE_QUEUE", "16", "packets", {1, 1 << 20}, "A number."),
    number_variable(Level::expert, "STRIA_MORE_CELLS", "128", "", {8, 1 << 16}, "Another."),
};
const VariableGroups kGroups = {kFirst, kSecond};

/// A variable of the environment for the length of a test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    had_ = std::getenv(name) != nullptr;
    ::setenv(name, value, 1);
  }
  ~Environment() {
    if (had_)
      ::setenv(name_, before_.c_str(), 1);
    else
      ::unsetenv(name_);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
};

TEST(ParseBytes, takes_whole_numbers_with_one_binary_suffix) {
  EXPECT_EQ(*parse_bytes("0"), 0);
  EXPECT_EQ(*parse_bytes("4096"), 4096);
  EXPECT_EQ(*parse_bytes("64K"), 65536);
  EXPECT_EQ(*parse_bytes("64k"), 65536);
  EXPECT_EQ(*parse_bytes("1M"), 1048576);
  EXPECT_EQ(*parse_bytes("2m"), 2097152);
  EXPECT_EQ(*parse_bytes("2g"), 2147483648);
  EXPECT_EQ(*parse_bytes("3G"), 3221225472);
  EXPECT_EQ(*parse_bytes("9223372036854775807"), INT64_MAX);
}

TEST(ParseBytes, refuses_everything_else_and_names_it) {
  for (const char* text : {"", " ", "K", "-1", "+1", "1.5M", "1 K", " 1", "1KB", "1KiB", "64T", "0x10", "1K ",
                           "one", "9223372036854775808", "99999999999999999999"}) {
    const auto parsed = parse_bytes(text);
    ASSERT_FALSE(parsed.has_value()) << "'" << text << "'";
    EXPECT_EQ(parsed.error().status, Status::invalid);
    EXPECT_THAT(parsed.error().context, HasSubstr(std::string("'") + text + "'"));
  }
}

TEST(ParseBytes, refuses_what_a_suffix_carries_beyond_63_bits) {
  EXPECT_EQ(*parse_bytes("8589934591G"), 8589934591ll << 30);
  EXPECT_FALSE(parse_bytes("8589934592G").has_value());
  EXPECT_FALSE(parse_bytes("9007199254740992K").has_value());
}

TEST(CheckVariables, takes_complete_descriptions_and_names_what_is_wrong_with_others) {
  EXPECT_TRUE(check_variables(kFirst, "STRIA_ANY_").has_value());
  EXPECT_TRUE(check_variables({}, "STRIA_ANY_").has_value());
  const auto refusal = [](void (*spoil)(Variable&)) {
    Variable variables[] = {kFirst[0], kFirst[1]};
    spoil(variables[1]);
    const auto checked = check_variables(variables, "STRIA_ANY_");
    return checked ? std::string("taken") : checked.error().context;
  };
  EXPECT_THAT(refusal([](Variable& v) { v.name = nullptr; }), HasSubstr("no name"));
  EXPECT_THAT(refusal([](Variable& v) { v.name = "STRIA_ANY_"; }), HasSubstr("begin with 'STRIA_ANY_'"));
  EXPECT_THAT(refusal([](Variable& v) { v.name = "STRIA_OTHER_WAY"; }), HasSubstr("begin with 'STRIA_ANY_'"));
  EXPECT_THAT(refusal([](Variable& v) { v.name = "STRIA_ANY_LIMIT"; }), HasSubstr("listed twice"));
  EXPECT_THAT(refusal([](Variable& v) { v.meaning = nullptr; }),
              HasSubstr("STRIA_ANY_WAY: its default_value"));
  EXPECT_THAT(refusal([](Variable& v) { v.kind = 4; }), HasSubstr("kind 4"));
  EXPECT_THAT(refusal([](Variable& v) { v.level = 2; }), HasSubstr("level 2"));
  EXPECT_THAT(refusal([](Variable& v) { v.default_value = "perhaps"; }),
              testing::AllOf(HasSubstr("default"), HasSubstr("'perhaps'"), HasSubstr("auto|off")));
}

TEST(Config, has_the_variables_of_all_groups_in_their_order_with_their_defaults) {
  const Config config(kGroups);
  ASSERT_EQ(config.size(), std::size(kFirst) + std::size(kSecond));
  for (std::size_t i = 0; i < config.size(); ++i) {
    const Variable& variable = i < 3 ? kFirst[i] : kSecond[i - 3];
    EXPECT_EQ(&config.variable(i), &variable);
    EXPECT_EQ(config.value(i).text, variable.default_value);
    EXPECT_EQ(config.value(i).origin, "default");
  }
  EXPECT_EQ(config.number("STRIA_ANY_LIMIT"), 256 << 10);
  EXPECT_EQ(config.find("STRIA_ANY"), nullptr);
}

TEST(Config, set_keeps_value_and_origin) {
  Config config(kGroups);
  ASSERT_TRUE(config.set("STRIA_ANY_LIMIT", "12K", "a test").has_value());
  EXPECT_EQ(config.number("STRIA_ANY_LIMIT"), 12288);
  EXPECT_EQ(config.text("STRIA_ANY_LIMIT"), "12K");
  EXPECT_EQ(config.value("STRIA_ANY_LIMIT").origin, "a test");
  EXPECT_TRUE(config.is_given("STRIA_ANY_LIMIT"));
  EXPECT_FALSE(config.is_given("STRIA_ANY_WAY"));
  ASSERT_TRUE(config.set("STRIA_ANY_WAY", "off", "a test").has_value());
  EXPECT_EQ(config.text("STRIA_ANY_WAY"), "off");
  ASSERT_TRUE(config.set("STRIA_ANY_PATH", "/any text: at all", "a test").has_value());
  EXPECT_EQ(config.text("STRIA_ANY_PATH"), "/any text: at all");
}

TEST(Config, a_refused_value_changes_nothing_and_says_what_is_allowed) {
  Config config(kGroups);
  const auto refusal = [&](const char* name, const char* value) {
    const auto done = config.set(name, value, "a test");
    EXPECT_FALSE(done.has_value()) << name << "=" << value;
    return done ? std::string() : done.error().context;
  };
  EXPECT_THAT(
      refusal("STRIA_ANY_LIMIT", "lots"),
      testing::AllOf(HasSubstr("STRIA_ANY_LIMIT"), HasSubstr("'lots'"), HasSubstr("default is 256K")));
  EXPECT_THAT(
      refusal("STRIA_MORE_QUEUE", "0"),
      testing::AllOf(HasSubstr("STRIA_MORE_QUEUE=0"), HasSubstr("[1, 1048576]"), HasSubstr("default is 16")));
  EXPECT_THAT(refusal("STRIA_MORE_QUEUE", "7K"), HasSubstr("not a whole number"));
  EXPECT_THAT(refusal("STRIA_ANY_WAY", "maybe"),
              testing::AllOf(HasSubstr("'maybe'"), HasSubstr("auto|off"), HasSubstr("default is auto")));
  EXPECT_THAT(refusal("STRIA_ANY_WAY", ""), HasSubstr("auto|off"));
  EXPECT_THAT(refusal("STRIA_ANY_WAY", "auto|off"), HasSubstr("auto|off"));
  EXPECT_THAT(refusal("STRIA_NO_SUCH", "1"), HasSubstr("'STRIA_NO_SUCH'"));
  EXPECT_THAT(refusal("", "1"), HasSubstr("no variable"));
  for (std::size_t i = 0; i < config.size(); ++i) EXPECT_EQ(config.value(i).origin, "default");
}

TEST(Config, the_environment_is_taken_and_named) {
  const Environment limit("STRIA_ANY_LIMIT", "1M");
  const auto config = Config::from_environment(kGroups);
  ASSERT_TRUE(config.has_value()) << config.error().context;
  EXPECT_EQ(config->number("STRIA_ANY_LIMIT"), 1 << 20);
  EXPECT_EQ(config->value("STRIA_ANY_LIMIT").origin, "environment");
  EXPECT_EQ(config->value("STRIA_MORE_QUEUE").origin, "default");
}

TEST(Config, a_malformed_environment_is_an_error_that_names_the_variable) {
  const Environment queue("STRIA_MORE_QUEUE", "soon");
  const auto config = Config::from_environment(kGroups);
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().status, Status::invalid);
  EXPECT_THAT(config.error().context, testing::AllOf(HasSubstr("STRIA_MORE_QUEUE"), HasSubstr("'soon'")));
  EXPECT_TRUE(Config::from_environment({kFirst}).has_value()) << "the variable is in no group";
}

TEST(Config, an_override_stands_above_the_environment_which_stands_above_the_default) {
  {
    const Environment cells("STRIA_MORE_CELLS", "32");
    const auto config = Config::from_environment(kGroups);
    ASSERT_TRUE(config.has_value());
    EXPECT_EQ(config->number("STRIA_MORE_CELLS"), 32);
    EXPECT_EQ(config->value("STRIA_MORE_CELLS").origin, "environment");
  }
  ASSERT_TRUE(set_config_override(kGroups, "STRIA_MORE_CELLS", "64", "a parameter").has_value());
  const Environment cells("STRIA_MORE_CELLS", "32");
  const auto config = Config::from_environment(kGroups);
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->number("STRIA_MORE_CELLS"), 64);
  EXPECT_EQ(config->value("STRIA_MORE_CELLS").origin, "a parameter");
  ASSERT_TRUE(set_config_override(kGroups, "STRIA_MORE_CELLS", "16", "a later one").has_value());
  const auto later = Config::from_environment(kGroups);
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(later->value("STRIA_MORE_CELLS").origin, "a later one");
  EXPECT_TRUE(Config::from_environment({kFirst}).has_value()) << "the variable is in no group";
}

TEST(Config, a_malformed_override_is_refused_at_once_and_forgotten) {
  EXPECT_FALSE(set_config_override(kGroups, "STRIA_MORE_QUEUE", "-3", "a parameter").has_value());
  EXPECT_FALSE(set_config_override(kGroups, "STRIA_TYPO", "3", "a parameter").has_value());
  EXPECT_FALSE(set_config_override({kFirst}, "STRIA_MORE_QUEUE", "3", "a parameter").has_value());
  const auto config = Config::from_environment(kGroups);
  ASSERT_TRUE(config.has_value()) << config.error().context;
  EXPECT_EQ(config->value("STRIA_MORE_QUEUE").origin, "default");
}

// In a process of its own: the warning comes once a process.
TEST(ConfigDeathTest, an_unknown_variable_is_reported_once_and_is_no_error) {
  test::die_in_new_processes();
  EXPECT_EXIT(
      {
        ::setenv("STRIA_ANY_LIMITT", "1", 1);
        ::setenv("STRIA_ANY_LIMIT", "1", 1);
        ::setenv("STRIA_MORE_QUEUE", "1", 1);
        ::setenv("STRIA_AWAY_QUEUE", "1", 1);
        ::setenv("STRIA_TEST_ANYTHING", "1", 1);
        ::setenv("STRIA_LAB_ANYTHING", "1", 1);
        // So are the variables by which a profile of tests/host runs this program.
        const auto away = [](std::string_view name) {
          for (const char* ours : {"STRIA_ANY_", "STRIA_MORE_", "STRIA_TEST_", "STRIA_LAB_"})
            if (name.starts_with(ours)) return false;
          return true;
        };
        report_unknown_variables(kGroups, away);
        report_unknown_variables(kGroups, away);
        std::exit(Config::from_environment(kGroups).has_value() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "^[^\n]*warning: STRIA_ANY_LIMITT [^\n]*\n$");
}

}  // namespace
}  // namespace stria
