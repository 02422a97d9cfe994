// Whether a forced profile (run_profile) is in force: what the environment says is what the library goes by,
// and what the profile takes from the process is gone. STRIA_TEST_HOST names the profile.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "base/config.hpp"
#include "base/processor.hpp"
#include "base/variables.hpp"
#include "datatype/kernels/kernels.hpp"
#include "transport/device_config.hpp"
#include "transport/shm/settings.hpp"
#include "transport/shm/variables.hpp"

namespace stria {
namespace {

std::string profile() {
  const char* name = std::getenv("STRIA_TEST_HOST");
  return name == nullptr ? "" : name;
}

bool is_set(const char* name) {
  return std::getenv(name) != nullptr;
}

Config config() {
  const VariableGroups variables = {kBaseVariables, shm::kVariables};
  auto read = Config::from_environment(variables);
  EXPECT_TRUE(read.has_value()) << read.error().context;
  return read ? *read : Config(variables);
}

shm::Settings settings() {
  Config given = config();
  stria_device_params_t params{};
  params.config_self = &given;
  params.config = transport::config_text;
  auto read = shm::read_settings(params);
  EXPECT_TRUE(read.has_value());
  return read ? *read : shm::Settings();
}

TEST(Host, is_a_profile_that_this_check_knows) {
  const std::set<std::string> known = {"near", "far", "one_processor", "no_cma"};
  EXPECT_EQ(known.count(profile()), 1u) << "STRIA_TEST_HOST=" << profile();
}

// Each profile that forces choices of the library forces all of them, by variables.
TEST(Host, forces_every_choice_that_has_a_variable) {
  if (profile() != "near" && profile() != "far") return;
  for (const char* name : {"STRIA_VECTORS", "STRIA_PACING", "STRIA_STRINGS", "STRIA_FIRST_CACHE",
                           "STRIA_LAST_CACHE", "STRIA_RNDV_FLOWS", "STRIA_RNDV_SHARE", "STRIA_SHM_SHORT_LAPS",
                           "STRIA_SHM_DISTANCE", "STRIA_SHM_STRINGS", "STRIA_SHM_HUGE_PAGES"})
    EXPECT_TRUE(is_set(name)) << name;
}

TEST(Host, has_the_processor_that_the_variables_say) {
  const Config given = config();
  const Processor& found = processor();
  if (const std::string& vectors = given.text("STRIA_VECTORS"); vectors != "auto") {
    EXPECT_EQ(found.vectors, choose_vectors(vectors, found.vectors)) << "no more than " << vectors;
    EXPECT_LE(datatype::runnable_kernels().size(), vectors == "portable" ? 1u : vectors == "avx2" ? 2u : 3u);
  }
  EXPECT_STREQ(datatype::kernels().name, to_string(found.vectors));
  if (is_set("STRIA_PACING")) {
    EXPECT_EQ(to_string(found.pacing), given.text("STRIA_PACING"));
  }
  if (is_set("STRIA_STRINGS")) {
    EXPECT_EQ(found.fast_strings, given.text("STRIA_STRINGS") == "on");
  }
  if (is_set("STRIA_FIRST_CACHE")) {
    EXPECT_EQ(found.first_cache_bytes, given.number("STRIA_FIRST_CACHE"));
  }
  if (is_set("STRIA_LAST_CACHE")) {
    EXPECT_EQ(found.last_cache_bytes, given.number("STRIA_LAST_CACHE"));
  }
}

TEST(Host, has_shm_devices_that_do_what_the_variables_say) {
  const Config given = config();
  const shm::Settings found = settings();
  if (is_set("STRIA_SHM_SHORT_LAPS")) {
    EXPECT_EQ(found.short_laps, given.text("STRIA_SHM_SHORT_LAPS") == "on");
  }
  if (is_set("STRIA_SHM_DISTANCE")) {
    EXPECT_EQ(found.distance,
              given.text("STRIA_SHM_DISTANCE") == "near" ? shm::DistanceMode::near : shm::DistanceMode::far);
  }
  if (is_set("STRIA_SHM_STRINGS")) {
    EXPECT_EQ(found.near_string_least, given.text("STRIA_SHM_STRINGS") == "on" ? 0 : shm::Settings::kNever);
  }
  if (is_set("STRIA_SHM_HUGE_PAGES")) {
    EXPECT_EQ(found.huge_pages,
              given.text("STRIA_SHM_HUGE_PAGES") == "off" ? shm::HugePages::off : shm::HugePages::start);
  }
}

TEST(Host, has_one_processor_where_the_profile_says_so) {
  if (profile() != "one_processor") return;
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_EQ(CPU_COUNT(&allowed), 1);
}

TEST(Host, has_an_ordinary_user_without_capabilities_where_the_profile_says_so) {
  if (profile() != "one_processor") return;
  EXPECT_NE(::getuid(), 0u);
  EXPECT_NE(::geteuid(), 0u);
  std::ifstream status("/proc/self/status");
  std::string effective;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("CapEff:")) effective = line.substr(7);
  EXPECT_EQ(effective.find_first_not_of("\t 0"), std::string::npos) << "capabilities: " << effective;
}

TEST(Host, refuses_cross_memory_attach_where_the_profile_says_so) {
  char from = 'a', to = 'b';
  const iovec local{&to, 1}, remote{&from, 1};
  const ssize_t read = ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0);
  if (profile() == "no_cma") {
    EXPECT_EQ(read, -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::process_vm_writev(::getpid(), &local, 1, &remote, 1, 0), -1);
  }
}

}  // namespace
}  // namespace stria
