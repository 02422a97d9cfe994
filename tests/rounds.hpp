// How much a random test does. STRIA_TEST_ROUNDS=n is a factor on its rounds, STRIA_TEST_SEED=n makes it
// start elsewhere. A sanitizer costs a factor of five to twenty, and finds what it finds by looking at each
// access, not by the number of cases: there the rounds are a fraction, so that the sanitizers' entries take
// minutes. So they are on a forced host (tests/host) and in a build whose tests are not optimised (Debian
// 13's), where the same cases run once more; and where an emulator runs the tests (ARM64's), which takes
// tenfold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STRIA_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STRIA_TEST_SANITIZED 1
#endif

namespace stria::test {

#ifdef STRIA_TEST_EMULATED
inline constexpr std::int64_t kBuildDivisor = 20;
#elif defined(STRIA_TEST_SANITIZED)
inline constexpr std::int64_t kBuildDivisor = 10;
#elif !defined(__OPTIMIZE__)
inline constexpr std::int64_t kBuildDivisor = 5;
#else
inline constexpr std::int64_t kBuildDivisor = 1;
#endif

inline std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoll(text, nullptr, 10) : otherwise;
}

/// The rounds to do of a test that does `usual` of them in an ordinary build; at least 1.
inline std::int64_t rounds(std::int64_t usual) {
  const std::int64_t divisor = kBuildDivisor * (std::getenv("STRIA_TEST_HOST") != nullptr ? 6 : 1);
  return std::max<std::int64_t>(usual * from_environment("STRIA_TEST_ROUNDS", 1) / divisor, 1);
}

}  // namespace stria::test
