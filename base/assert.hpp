// Broken invariants end the process with a message: STRIA_CHECK always, STRIA_ASSERT in debug builds.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace stria {

[[noreturn, gnu::cold, gnu::noinline]] inline void invariant_broken(const char* file, int line,
                                                                    const char* expression,
                                                                    const char* what) noexcept {
  std::fprintf(stderr, "stria: %s:%d: invariant broken: %s (%s)\n", file, line, what, expression);
  std::abort();
}

}  // namespace stria

#define STRIA_CHECK(condition, what)                 \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::stria::invariant_broken(__FILE__, __LINE__, #condition, what))
// The static analyser reads them in every build, to know what cannot be.
#if defined(NDEBUG) && !defined(__clang_analyzer__)
#define STRIA_ASSERT(condition, what) static_cast<void>(sizeof(!(condition)))
#else
#define STRIA_ASSERT(condition, what) STRIA_CHECK(condition, what)
#endif
