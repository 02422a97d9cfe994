// What a device opens, and what it says of what it cannot open.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/config.hpp"
#include "base/log.hpp"
#include "tests/contract/peer.hpp"
#include "transport/device_config.hpp"
#include "transport/services.hpp"
#include "transport/uct/uct.hpp"

namespace stria::uct {
namespace {

using contract::Peer;

/// The environment has these two while it lives.
class Chosen {
 public:
  Chosen(const char* transport, const char* device) {
    ::setenv("STRIA_UCT_TRANSPORT", transport, 1);
    ::setenv("STRIA_UCT_DEVICE", device, 1);
  }
  ~Chosen() {
    ::unsetenv("STRIA_UCT_TRANSPORT");
    ::unsetenv("STRIA_UCT_DEVICE");
  }
  Chosen(const Chosen&) = delete;
  Chosen& operator=(const Chosen&) = delete;
};

std::string path(const char* transport, const char* device, std::uint32_t index = 0) {
  const Chosen chosen(transport, device);
  Peer peer(uct_provider(), 1, "a secret of sixteen", index);
  return peer.limits(peer.connect(peer)).path;
}

/// Why it does not open.
std::string refusal(const char* wanted, const char* device, std::uint32_t index = 0,
                    stria_status_t status = STRIA_ERR_UNSUPPORTED) {
  const Chosen chosen(wanted, device);
  auto config = Config::from_environment({{uct_provider().variables, uct_provider().variable_count}});
  const stria_sink_t sink{};
  stria_device_params_t params{};
  params.size = sizeof params;
  params.worker_id = 1;
  params.sink = &sink;
  params.services = &transport::services();
  params.config_self = &*config;
  params.config = transport::config_text;
  params.config_number = transport::config_number;
  params.device = index;
  stria_device_t* opened = nullptr;
  char why[512] = "";
  EXPECT_EQ(uct_provider().open(&params, &opened, why, sizeof why), status);
  EXPECT_EQ(opened, nullptr);
  return why;
}

TEST(UctOpening, a_named_transport_and_device_are_used) {
  EXPECT_EQ(path("tcp", "lo"), "uct tcp/lo");
  EXPECT_EQ(path("posix", ""), "uct posix/memory");
}

TEST(UctOpening, nothing_that_another_provider_serves_is_used_unless_it_is_named) {
  for (const char* device : {"lo", "memory"}) {  // tcp and posix have these, and no other network does
    const std::string why = refusal("", device);
    for (const char* word : {"STRIA_UCT_TRANSPORT is empty", device, "tcp by tcp", "posix", "by shm",
                             "name it, as in STRIA_UCT_TRANSPORT=tcp"})
      EXPECT_NE(why.find(word), std::string::npos) << why << "\nlacks " << word;
  }
}

TEST(UctOpening, a_line_says_what_is_used_and_why) {
  testing::internal::CaptureStderr();
  const log::Level before = log::level();
  log::set_level(log::Level::info);
  EXPECT_EQ(path("tcp", "lo"), "uct tcp/lo");
  log::set_level(before);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("uct: tcp/lo (named by STRIA_UCT_TRANSPORT)"), std::string::npos) << said;
}

TEST(UctOpening, each_entry_of_a_list_is_a_device_by_its_index) {
  EXPECT_EQ(path("posix,tcp/lo", "", 0), "uct posix/memory");
  EXPECT_EQ(path("posix,tcp/lo", "", 1), "uct tcp/lo");
  EXPECT_EQ(path("posix/memory,tcp", "lo", 1), "uct tcp/lo");
  EXPECT_EQ(path("tcp/no_such_device,tcp/lo", "", 1), "uct tcp/lo") << "whatever becomes of the others";
}

/// The signals that the thread with this folder of /proc blocks, a bit for each.
std::uint64_t blocked_by(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  for (std::string word; status >> word;)
    if (word == "SigBlk:" && status >> word) return std::stoull(word, nullptr, 16);
  return ~std::uint64_t{0};  // the thread has ended
}

// A signal that the application blocks and waits for would go to such a thread, and end the process.
TEST(UctOpening, the_thread_of_ucx_blocks_all_signals) {
  const Chosen chosen("tcp", "");
  const Peer peer(uct_provider(), 1);
  int others = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(::gettid())) continue;
    ++others;
    const std::uint64_t blocked = blocked_by(thread);
    for (const int signal : {SIGINT, SIGUSR1, SIGALRM, SIGCHLD, SIGTERM})
      EXPECT_NE(blocked >> (signal - 1) & 1, 0u) << thread.path() << ", signal " << signal;
  }
  EXPECT_GT(others, 0) << "UCX's tcp has no thread any more";
}

TEST(UctOpening, a_wrong_list_is_refused_as_a_whole) {
  for (const std::uint32_t index : {0u, 1u}) {
    const std::string why = refusal("tcp/lo,tcp/", "", index, STRIA_ERR_INVALID);
    EXPECT_NE(why.find("entry 2 of STRIA_UCT_TRANSPORT=tcp/lo,tcp/"), std::string::npos) << why;
  }
}

// What an entry that names no device takes is known when it is opened.
TEST(UctOpening, a_device_is_not_opened_for_two_entries) {
  const std::string taken = path("tcp", "").substr(std::string_view("uct ").size());
  const std::string list = "tcp," + taken;
  const std::string why = refusal(list.c_str(), "", 0, STRIA_ERR_INVALID);
  EXPECT_NE(why.find("entry 1"), std::string::npos) << why;
  EXPECT_NE(why.find(taken), std::string::npos) << why;
  EXPECT_EQ(path(list.c_str(), "", 1), "uct " + taken) << "the one that is named is used";
}

TEST(UctOpening, what_is_not_there_is_refused_with_what_is) {
  for (const auto& [wanted, device] : {std::pair{"carrier_pigeon", ""}, std::pair{"tcp", "no_such_device"}}) {
    const std::string why = refusal(wanted, device);
    EXPECT_NE(why.find(wanted), std::string::npos) << why;
    EXPECT_NE(why.find(device), std::string::npos) << why;
    EXPECT_NE(why.find("STRIA_UCT_TRANSPORT"), std::string::npos) << why;
    EXPECT_NE(why.find("tcp/lo"), std::string::npos) << "names what there is: " << why;
  }
}

TEST(UctOpening, a_transport_without_active_messages_is_refused) {
  const std::string why = refusal("cma", "");
  if (why.find("has no transport cma") != std::string::npos)
    GTEST_SKIP() << "UCX has no transport without active messages here: cross-memory attach is refused";
  EXPECT_NE(why.find("active messages"), std::string::npos) << why;
}

TEST(UctOpening, a_device_states_no_more_than_its_transport_has) {
  {
    const Chosen chosen("tcp", "lo");
    EXPECT_TRUE(Peer(uct_provider(), 1).has(STRIA_CAP_PIO | STRIA_CAP_EVENT_FD | STRIA_CAP_ZCOPY));
  }
  const Chosen chosen("posix", "");
  Peer peer(uct_provider(), 1);
  EXPECT_TRUE(peer.has(STRIA_CAP_PIO | STRIA_CAP_EAGER | STRIA_CAP_EVENT_FD));
  EXPECT_FALSE(peer.has(STRIA_CAP_ZCOPY));
  EXPECT_FALSE(peer.has(STRIA_CAP_GET));
}

}  // namespace
}  // namespace stria::uct
