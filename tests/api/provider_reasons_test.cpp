// Why a worker does not open, where a provider finds nothing to open: the reason names the provider once,
// which the layers above do for it. No adapter is needed for it, and none is used where there is one.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "stria/stria.h"
#include "tests/tag/variable.hpp"

namespace stria::test {
namespace {

struct Case {
  const char* name;
  const char* provider;
  std::vector<std::array<const char*, 2>> variables;
  bool descriptors;  ///< false: the process has none left
};

class ProviderReasons : public testing::TestWithParam<Case> {};

std::size_t times(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST_P(ProviderReasons, name_the_provider_once) {
  const Variable path("STRIA_PROVIDER_PATH", STRIA_TEST_PROVIDER_PATH);
  const Variable providers("STRIA_PROVIDERS", GetParam().provider);
  std::vector<std::unique_ptr<Variable>> variables;
  for (const auto& [name, value] : GetParam().variables)
    variables.push_back(std::make_unique<Variable>(name, value));
  stria_context_t* context = nullptr;
  ASSERT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{0, usual.rlim_max};
  if (!GetParam().descriptors) ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  stria_worker_t* worker = nullptr;
  EXPECT_EQ(stria_worker_open(context, nullptr, &worker), STRIA_ERR_IO);
  const std::string text = stria_last_error();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(times(text, std::string(GetParam().provider) + ": "), 1u) << text;
  EXPECT_EQ(stria_context_close(context), STRIA_OK);
}

INSTANTIATE_TEST_SUITE_P(
    , ProviderReasons,
    testing::Values(Case{"shm_without_descriptors", "shm", {}, false}
#ifdef STRIA_TEST_TCP
                    ,
                    Case{"tcp_without_descriptors", "tcp", {}, false},
                    Case{"tcp_without_its_interface", "tcp", {{"STRIA_TCP_INTERFACES", "nosuch0"}}, true}
#endif
#ifdef STRIA_TEST_UCT
                    ,
                    Case{"uct_without_its_transport", "uct", {{"STRIA_UCT_TRANSPORT", "nosuch"}}, true}
#endif
#ifdef STRIA_TEST_VERBS
                    ,
                    Case{"verbs_without_descriptors", "verbs", {}, false},
                    Case{"verbs_without_its_device", "verbs", {{"STRIA_VERBS_DEVICE", "nosuch0"}}, true}
#endif
                    ),
    [](const auto& about) { return std::string(about.param.name); });

}  // namespace
}  // namespace stria::test
