// Configuration: what is accepted, what is refused with which words, and where a value came from.
#include "base/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

namespace stria {
namespace {

using testing::HasSubstr;

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

TEST(Config, every_variable_has_a_unique_name_a_meaning_and_its_default) {
  const Config config;
  std::set<std::string> names;
  ASSERT_EQ(config_table().size(), kVarCount);
  for (std::size_t i = 0; i < kVarCount; ++i) {
    const VarSpec& spec = config_table()[i];
    EXPECT_EQ(std::string(spec.name).rfind("STRIA_", 0), 0u) << spec.name;
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name << " twice";
    EXPECT_NE(std::string(spec.meaning), "") << spec.name;
    EXPECT_EQ(config.value(i).text, spec.default_value) << spec.name;
    EXPECT_EQ(config.value(i).origin, "default") << spec.name;
  }
}

TEST(Config, the_names_of_the_enumeration_are_those_of_the_table) {
  const auto name = [](Var var) { return std::string(config_table()[static_cast<std::size_t>(var)].name); };
  EXPECT_EQ(name(Var::log), "STRIA_LOG");
  EXPECT_EQ(name(Var::providers), "STRIA_PROVIDERS");
  EXPECT_EQ(name(Var::provider_path), "STRIA_PROVIDER_PATH");
  EXPECT_EQ(name(Var::eager_limit), "STRIA_EAGER_LIMIT");
  EXPECT_EQ(name(Var::rndv_scheme), "STRIA_RNDV_SCHEME");
  EXPECT_EQ(name(Var::unexpected_budget), "STRIA_UNEXPECTED_BUDGET");
  EXPECT_EQ(name(Var::liveness_ms), "STRIA_LIVENESS_MS");
  EXPECT_EQ(name(Var::shm_windows), "STRIA_SHM_WINDOWS");
  EXPECT_EQ(name(Var::shm_keys), "STRIA_SHM_KEYS");
  EXPECT_EQ(name(Var::fake_seed), "STRIA_FAKE_SEED");
  EXPECT_EQ(name(Var::fake_queue), "STRIA_FAKE_QUEUE");
}

TEST(Config, set_keeps_value_and_origin) {
  Config config;
  ASSERT_TRUE(config.set("STRIA_EAGER_LIMIT", "12K", "a test").has_value());
  EXPECT_EQ(config.number(Var::eager_limit), 12288);
  EXPECT_EQ(config.text(Var::eager_limit), "12K");
  EXPECT_EQ(config.value(Var::eager_limit).origin, "a test");
  ASSERT_TRUE(config.set("STRIA_SHM_CMA", "off", "a test").has_value());
  EXPECT_EQ(config.text(Var::shm_cma), "off");
  ASSERT_TRUE(config.set("STRIA_PROVIDER_PATH", "/any text: at all", "a test").has_value());
  EXPECT_EQ(config.text(Var::provider_path), "/any text: at all");
}

TEST(Config, a_refused_value_changes_nothing_and_says_what_is_allowed) {
  Config config;
  const auto refusal = [&](const char* name, const char* value) {
    const auto done = config.set(name, value, "a test");
    EXPECT_FALSE(done.has_value()) << name << "=" << value;
    return done ? std::string() : done.error().context;
  };
  EXPECT_THAT(refusal("STRIA_EAGER_LIMIT", "lots"),
              testing::AllOf(HasSubstr("STRIA_EAGER_LIMIT"), HasSubstr("'lots'")));
  EXPECT_THAT(refusal("STRIA_FAKE_QUEUE", "0"),
              testing::AllOf(HasSubstr("STRIA_FAKE_QUEUE=0"), HasSubstr("[1, ")));
  EXPECT_THAT(refusal("STRIA_FAKE_QUEUE", "7K"), HasSubstr("not a whole number"));
  EXPECT_THAT(refusal("STRIA_SHM_CMA", "maybe"), testing::AllOf(HasSubstr("'maybe'"), HasSubstr("auto|off")));
  EXPECT_THAT(refusal("STRIA_SHM_CMA", ""), HasSubstr("auto|off"));
  EXPECT_THAT(refusal("STRIA_SHM_CMA", "auto|off"), HasSubstr("auto|off"));
  EXPECT_THAT(refusal("STRIA_RNDV_SCHEME", "put"),
              testing::AllOf(HasSubstr("'put'"), HasSubstr("auto|get|both|pipeline")));
  EXPECT_THAT(refusal("STRIA_NO_SUCH", "1"), HasSubstr("'STRIA_NO_SUCH'"));
  EXPECT_THAT(refusal("", "1"), HasSubstr("no variable"));
  for (std::size_t i = 0; i < kVarCount; ++i) EXPECT_EQ(config.value(i).origin, "default");
}

TEST(Config, the_environment_is_taken_and_named) {
  const Environment limit("STRIA_EAGER_LIMIT", "1M");
  const auto config = Config::from_environment();
  ASSERT_TRUE(config.has_value()) << config.error().context;
  EXPECT_EQ(config->number(Var::eager_limit), 1 << 20);
  EXPECT_EQ(config->value(Var::eager_limit).origin, "environment");
  EXPECT_EQ(config->value(Var::fake_seed).origin, "default");
}

TEST(Config, a_malformed_environment_is_an_error_that_names_the_variable) {
  const Environment limit("STRIA_FAKE_DELAY", "soon");
  const auto config = Config::from_environment();
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().status, Status::invalid);
  EXPECT_THAT(config.error().context, testing::AllOf(HasSubstr("STRIA_FAKE_DELAY"), HasSubstr("'soon'")));
}

TEST(Config, an_override_stands_above_the_environment_which_stands_above_the_default) {
  {
    const Environment cells("STRIA_SHM_CELLS", "32");
    const auto config = Config::from_environment();
    ASSERT_TRUE(config.has_value());
    EXPECT_EQ(config->number(Var::shm_cells), 32);
    EXPECT_EQ(config->value(Var::shm_cells).origin, "environment");
  }
  ASSERT_TRUE(set_config_override("STRIA_SHM_CELLS", "64", "a parameter").has_value());
  const Environment cells("STRIA_SHM_CELLS", "32");
  const auto config = Config::from_environment();
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->number(Var::shm_cells), 64);
  EXPECT_EQ(config->value(Var::shm_cells).origin, "a parameter");
  ASSERT_TRUE(set_config_override("STRIA_SHM_CELLS", "16", "a later one").has_value());
  const auto later = Config::from_environment();
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(later->value(Var::shm_cells).origin, "a later one");
}

TEST(Config, a_malformed_override_is_refused_at_once_and_forgotten) {
  EXPECT_FALSE(set_config_override("STRIA_SHM_WINDOWS", "-3", "a parameter").has_value());
  EXPECT_FALSE(set_config_override("STRIA_TYPO", "3", "a parameter").has_value());
  const auto config = Config::from_environment();
  ASSERT_TRUE(config.has_value()) << config.error().context;
  EXPECT_EQ(config->value(Var::shm_windows).origin, "default");
}

// In a process of its own: the warning comes once a process.
TEST(ConfigDeathTest, an_unknown_variable_is_reported_once_and_is_no_error) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("STRIA_EAGER_LIMITT", "1", 1);
        ::setenv("STRIA_TEST_ANYTHING", "1", 1);
        ::setenv("STRIA_LAB_ANYTHING", "1", 1);
        const bool first = Config::from_environment().has_value();
        const bool second = Config::from_environment().has_value();
        std::exit(first && second ? 0 : 1);
      },
      testing::ExitedWithCode(0), "^[^\n]*warning: STRIA_EAGER_LIMITT [^\n]*\n$");
}

}  // namespace
}  // namespace stria
