// What a device takes from the machine where its variables leave the choice: as if on another machine, which
// the variables of base/processor.hpp say. A process takes one processor for its own, so each case has a
// process.
#include "transport/shm/settings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "hw/machine/text.hpp"
#include "tests/death_style.hpp"

namespace stria::shm::test {
namespace {

using Variables = std::map<std::string, std::string>;

/// Ends the process with 0 where `holds` says so of a device's settings.
[[noreturn]] void look(const Variables& machine, Variables device,
                       const std::function<bool(const Settings&)>& holds) {
  for (const auto& [name, value] : machine) ::setenv(name.c_str(), value.c_str(), 1);
  stria_device_params_t params{};
  params.config_self = &device;
  params.config = [](void* self, const char* name) -> const char* {
    const auto& given = *static_cast<Variables*>(self);
    const auto found = given.find(name);
    return found == given.end() ? "" : found->second.c_str();
  };
  const auto settings = read_settings(params);
  std::exit(settings.has_value() && holds(*settings) ? 0 : 1);
}

class SettingsDeathTest : public testing::Test {
 protected:
  SettingsDeathTest() { stria::test::die_in_new_processes(); }
};
const auto kHolds = testing::ExitedWithCode(0);
constexpr auto kShort = [](const Settings& settings) { return settings.short_laps; };
constexpr auto kWhole = [](const Settings& settings) { return !settings.short_laps; };

TEST_F(SettingsDeathTest, laps_are_short_where_two_windows_fill_the_first_level_cache) {
  EXPECT_EXIT(look({{"STRIA_FIRST_CACHE", "32K"}}, {}, kShort), kHolds, "");
  EXPECT_EXIT(look({{"STRIA_FIRST_CACHE", "48K"}}, {}, kWhole), kHolds, "");
  EXPECT_EXIT(look({{"STRIA_FIRST_CACHE", "32K"}}, {{"STRIA_SHM_WINDOW_BYTES", "8K"}}, kWhole), kHolds, "");
  EXPECT_EXIT(look({{"STRIA_FIRST_CACHE", "32K"}}, {{"STRIA_SHM_SHORT_LAPS", "off"}}, kWhole), kHolds, "");
  EXPECT_EXIT(look({{"STRIA_FIRST_CACHE", "48K"}}, {{"STRIA_SHM_SHORT_LAPS", "on"}}, kShort), kHolds, "");
}

/// Writes the profile of a machine where vectors take these times, in ns, for 4 and 16 KiB, and the string
/// instruction takes 100 and 400. Returns its path.
std::string machine_with(double vectors_4k, double vectors_16k) {
  hw::StoredProfile record{.fingerprint = 1, .tries = 1, .when = 1, .complete = true, .machine = {}};
  record.machine.near.vectors_4k_ns = vectors_4k, record.machine.near.strings_4k_ns = 100;
  record.machine.near.vectors_16k_ns = vectors_16k, record.machine.near.strings_16k_ns = 400;
  static int files = 0;
  const auto path = std::filesystem::temp_directory_path() /
                    ("stria-settings-test-" + std::to_string(::getpid()) + "-" + std::to_string(++files));
  std::ofstream(path) << hw::to_text(record);
  return path.string();
}

TEST_F(SettingsDeathTest, strings_are_for_longer_payloads_to_near_peers_where_vectors_are_clearly_faster) {
  const auto from = [](std::uint32_t near, std::uint32_t far) {
    return [=](const Settings& s) { return s.near_string_least == near && s.far_string_least == far; };
  };
  EXPECT_EXIT(look({{"STRIA_STRINGS", "on"}, {"STRIA_MACHINE", "defaults"}}, {},
                   from(kStringLeast, Settings::kNever)),
              kHolds, "");
  struct Case {
    double vectors_4k, vectors_16k;
    std::uint32_t near, far;
  };
  constexpr std::uint32_t kNever = Settings::kNever;
  for (const Case& c : {Case{95, 390, kStringLeast, kNever}, Case{70, 390, kLongStringLeast, kNever},
                        Case{70, 300, kNever, kNever}, Case{200, 800, kStringLeast, kStringLeast}}) {
    const std::string machine = machine_with(c.vectors_4k, c.vectors_16k);
    const auto expected = from(c.near, c.far);
    EXPECT_EXIT(look({{"STRIA_STRINGS", "on"}, {"STRIA_MACHINE", machine}}, {}, expected), kHolds, "");
    std::filesystem::remove(machine);
  }
  EXPECT_EXIT(look({{"STRIA_STRINGS", "off"}}, {}, from(Settings::kNever, Settings::kNever)), kHolds, "");
  EXPECT_EXIT(look({{"STRIA_STRINGS", "off"}}, {{"STRIA_SHM_STRINGS", "on"}}, from(0, 0)), kHolds, "");
}

}  // namespace
}  // namespace stria::shm::test
