// What the suite runs on: every provider of the build, the fake in several moods, and the loaded one that
// STRIA_TEST_PROVIDER names. The suite has a section of the core and one of each group: a section runs on the
// providers that declare its group. A device that lacks something of a declared group skips its tests aloud.
// With STRIA_TEST_FAR every second worker of a test is in another process, perhaps on another host
// (far_provider.hpp).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/contract/peer.hpp"
#include "transport/fake/control.hpp"

namespace stria::contract {

struct Subject {
  std::string label;
  std::function<const stria_provider_t&()> table;
  std::function<std::shared_ptr<void>()> enter;  ///< the world that the devices of one test live in
  const stria_provider_t* far = nullptr;         ///< drives the other half of the workers
  bool far_is_odd = false;                       ///< those with odd ids; else the even ones
};

/// The fake with these options.
Subject fake_subject(const char* label, const fake::FabricOptions& options);
std::vector<Subject> subjects();
/// Those whose provider declares a group.
std::vector<Subject> subjects_with(bool (*declares)(const stria_provider_t& table));
std::ostream& operator<<(std::ostream& out, const Subject& subject);

class Contract : public testing::TestWithParam<Subject> {
 protected:
  Contract() : world_(GetParam().enter()), table_(GetParam().table()) {}
  std::unique_ptr<Peer> open(std::uint64_t worker_id) {
    const Subject& subject = GetParam();
    const bool far = subject.far != nullptr && (worker_id % 2 == 1) == subject.far_is_odd;
    return std::make_unique<Peer>(far ? *subject.far : table_, worker_id);
  }
  std::string lacks(const char* what) const { return GetParam().label + " lacks " + what; }
  /// How many packets a test of many sends: each costs a far worker two ways there and back.
  std::uint16_t packets(unsigned usual) const {
    return static_cast<std::uint16_t>(GetParam().far != nullptr ? usual / 5 : usual);
  }
  /// The paths that `link` can send on.
  static std::vector<Path> paths(const Peer& peer, stria_link_t* link);
  static std::size_t limit(const Peer& peer, stria_link_t* link, Path path);
  const stria_provider_t& table() const { return table_; }

 private:
  std::shared_ptr<void> world_;
  const stria_provider_t& table_;
};

}  // namespace stria::contract

#define STRIA_CONTRACT_ON(Name, list)           \
  INSTANTIATE_TEST_SUITE_P(                     \
      Providers, Name, testing::ValuesIn(list), \
      [](const testing::TestParamInfo<::stria::contract::Subject>& param) { return param.param.label; })
/// The suite Name is of the core, and runs on every provider.
#define STRIA_CONTRACT_OF_CORE(Name) STRIA_CONTRACT_ON(Name, ::stria::contract::subjects())
/// The suite Name is of a group, a member of stria_provider_t. A build or a run may have no provider with it.
#define STRIA_CONTRACT_OF_GROUP(Name, group)                \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Name);      \
  STRIA_CONTRACT_ON(Name, ::stria::contract::subjects_with( \
                              [](const stria_provider_t& table) { return table.group != nullptr; }))
