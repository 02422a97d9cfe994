// Both ways in which a memory watch is told: by the kernel, or by hooks, for which a test itself says what it
// takes away.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "transport/memory_hooks.hpp"
#include "transport/services.hpp"
#include "transport/verbs/memory_watch.hpp"

namespace stria::verbs::test {

class Told : public ::testing::TestWithParam<MemoryWatch::Source> {
 protected:
  Told() {
    if (GetParam() != MemoryWatch::Source::hooks) return;
    const stria_memory_hooks_t hooks{sizeof hooks, [] { return STRIA_OK; }, [] {}};
    EXPECT_TRUE(transport::set_memory_hooks(&hooks));
  }
  ~Told() override {
    if (GetParam() != MemoryWatch::Source::hooks) return;
    EXPECT_TRUE(transport::set_memory_hooks(nullptr));
  }
  static std::shared_ptr<MemoryWatch> get_watch() {
    return MemoryWatch::get(GetParam(), transport::services());
  }
  /// What a hook does before the call that takes memory away.
  static void tell(const void* memory, std::size_t bytes) {
    if (GetParam() == MemoryWatch::Source::hooks) transport::memory_released(memory, bytes);
  }
};

inline std::string name_of(const ::testing::TestParamInfo<MemoryWatch::Source>& source) {
  return source.param == MemoryWatch::Source::hooks ? "by_hooks" : "by_the_kernel";
}
inline const auto kSources = ::testing::Values(MemoryWatch::Source::kernel, MemoryWatch::Source::hooks);

}  // namespace stria::verbs::test
