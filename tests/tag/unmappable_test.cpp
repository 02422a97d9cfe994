// Memory of stria_mem_alloc() that a peer cannot map, because it has no descriptor left: messages out of and
// into it arrive whole, and it is mapped once there are descriptors.
#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include "tests/tag/two_processes.hpp"

namespace stria::test {
namespace {

/// This process opens no more files in the object's life.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &old_);
    const rlimit none{3, old_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &old_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit old_{};
};

/// Scheme; the process that has no descriptor left to map the other's memory with; cross-memory attach.
class Unmappable : public testing::TestWithParam<std::tuple<const char*, bool, const char*>> {};

TEST_P(Unmappable, memory_of_stria_mem_alloc_arrives_whole_and_is_mapped_once_there_are_descriptors) {
  const auto [scheme, first_is_short, cma] = GetParam();
  in_two_processes({{"STRIA_RNDV_SCHEME", scheme},
                    {"STRIA_EAGER_LIMIT", "16K"},
                    {"STRIA_SHM_CMA", cma},
                    {"STRIA_SHM_DISTANCE", "near"},
                    {"STRIA_RNDV_SHARE", "on"}},
                   [first_is_short = first_is_short](const Member& member) -> Missing {
                     void* made = nullptr;
                     EXPECT_EQ(stria_mem_alloc(member.context, kRoom, &made), STRIA_OK) << stria_last_error();
                     auto* const memory = static_cast<std::byte*>(made);
                     std::optional<NoDescriptors> none;
                     const auto mapped = [&] {
                       const stria_counters_t all = member.counters();
                       return all.received_mapped + all.received_mapped_both;
                     };
                     member.agree(true);  // so that they are connected
                     if (member.is_first == first_is_short) none.emplace();
                     for (std::uint64_t i = 0; i < 20; ++i) member.exchange(memory, kLongest, i % 2 != 0, i);
                     none.reset();
                     // With the next look after the peers the refusal is forgotten.
                     const std::uint64_t before = mapped();
                     const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
                     for (std::uint64_t i = 0;; ++i) {
                       member.exchange(memory, 100000, false, i);
                       const bool goes_on = mapped() < before + 3 && std::chrono::steady_clock::now() < end;
                       if (!member.agree(member.is_first || goes_on)) break;
                     }
                     EXPECT_TRUE(member.is_first || mapped() >= before + 3);
                     EXPECT_EQ(stria_mem_free(member.context, made), STRIA_OK);
                     return {};
                   });
}

INSTANTIATE_TEST_SUITE_P(Ways, Unmappable,
                         testing::Combine(testing::Values("auto", "get", "both"), testing::Bool(),
                                          testing::Values("auto", "off")),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)) +
                                  (std::get<1>(one.param) ? "_first" : "_second") + "_is_short_cma_" +
                                  std::get<2>(one.param);
                         });

}  // namespace
}  // namespace stria::test
