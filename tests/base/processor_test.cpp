// What is taken from the machine can be said by variables, once in a process: so each of these tests has a
// process of its own.
#include "base/processor.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "base/config.hpp"
#include "base/variables.hpp"
#include "tests/death_style.hpp"

namespace stria {
namespace {

constexpr const char* kVariables[] = {"STRIA_VECTORS", "STRIA_PACING", "STRIA_FIRST_CACHE",
                                      "STRIA_LAST_CACHE", "STRIA_STRINGS"};

const VariableGroups kOwn = {kBaseVariables};

/// Ends the process with 0 where `holds` says so of what is known of the processor with these variables.
[[noreturn]] void look(const std::map<std::string, std::string>& environment,
                       const std::function<bool(const Processor&)>& holds) {
  for (const char* name : kVariables) ::unsetenv(name);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::exit(holds(processor()) && &processor() == &known_processor() ? 0 : 1);
}

class ProcessorDeathTest : public testing::Test {
 protected:
  ProcessorDeathTest() { test::die_in_new_processes(); }
};
const auto kHolds = testing::ExitedWithCode(0);

TEST_F(ProcessorDeathTest, is_what_the_variables_say) {
  EXPECT_EXIT(look({{"STRIA_VECTORS", "portable"},
                    {"STRIA_PACING", "many"},
                    {"STRIA_FIRST_CACHE", "48K"},
                    {"STRIA_LAST_CACHE", "96M"},
                    {"STRIA_STRINGS", "on"}},
                   [](const Processor& p) {
                     return p.vectors == Vectors::portable && p.pacing == Pacing::many && p.fast_strings &&
                            p.first_cache_bytes == 49152 && p.last_cache_bytes == 96 << 20;
                   }),
              kHolds, "^$");
  EXPECT_EXIT(look({{"STRIA_PACING", "off"}, {"STRIA_STRINGS", "off"}},
                   [](const Processor& p) { return p.pacing == Pacing::off && !p.fast_strings; }),
              kHolds, "^$");
}

TEST_F(ProcessorDeathTest, has_nothing_special_until_it_is_asked) {
  EXPECT_EXIT(
      {
        const Processor& early = known_processor();
        std::exit(
            early.vectors == Vectors::portable && early.pacing == Pacing::few && !early.fast_strings ? 0 : 1);
      },
      kHolds, "^$");
}

TEST_F(ProcessorDeathTest, learns_how_columns_are_paced_unless_it_was_told) {
  const auto learnt = [](const Processor& p) {
    learn_pacing(Pacing::many);
    return p.pacing == Pacing::many;
  };
  EXPECT_EXIT(look({}, learnt), kHolds, "^$");
  EXPECT_EXIT(look({{"STRIA_PACING", "few"}}, learnt), testing::ExitedWithCode(1), "^$");
}

TEST_F(ProcessorDeathTest, takes_what_was_set_before_it_is_asked_and_refuses_another_value_afterwards) {
  EXPECT_EXIT(look({{"STRIA_VECTORS", "auto"}, {"STRIA_FIRST_CACHE", "32K"}},
                   [](const Processor&) {
                     const auto late = set_config_override(kOwn, "STRIA_FIRST_CACHE", "48K", "a test");
                     if (!late) std::fputs(late.error().context.c_str(), stderr);
                     return !late &&
                            set_config_override(kOwn, "STRIA_FIRST_CACHE", "32K", "a test").has_value();
                   }),
              kHolds, "STRIA_FIRST_CACHE=48K: .*already, as 32K");
  EXPECT_EXIT(
      {
        if (!set_config_override(kOwn, "STRIA_VECTORS", "portable", "a test").has_value()) std::exit(2);
        look({{"STRIA_VECTORS", "auto"}}, [](const Processor& p) { return p.vectors == Vectors::portable; });
      },
      kHolds, "^$");
}

TEST_F(ProcessorDeathTest, is_the_machines_where_a_variable_is_malformed) {
  EXPECT_EXIT(look({{"STRIA_VECTORS", "sse9"}, {"STRIA_FIRST_CACHE", "much"}},
                   [](const Processor& p) {
                     const auto config = Config::from_environment(kOwn);
                     return p.first_cache_bytes >= 0 && !config.has_value();
                   }),
              kHolds, "^$");
}

TEST(Processor, has_no_wider_vectors_than_it_has) {
  using enum Vectors;
  for (const Vectors widest : {portable, avx2, avx512}) {
    EXPECT_EQ(choose_vectors("auto", widest), widest);
    for (const Vectors wish : {portable, avx2, avx512}) {
      testing::internal::CaptureStderr();
      EXPECT_EQ(choose_vectors(to_string(wish), widest), std::min(wish, widest));
      const std::string said = testing::internal::GetCapturedStderr();
      if (wish <= widest)
        EXPECT_EQ(said, "");
      else
        EXPECT_THAT(said, testing::AllOf(testing::HasSubstr(std::string("STRIA_VECTORS=") + to_string(wish)),
                                         testing::HasSubstr(std::string(to_string(widest)) + " is used")));
    }
  }
}

}  // namespace
}  // namespace stria
