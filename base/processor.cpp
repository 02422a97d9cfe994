#include "base/processor.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/config.hpp"
#include "base/log.hpp"
#include "base/variables.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stria {
namespace {

/// The most that this processor and the operating system can do.
Vectors widest_vectors() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi");
  return avx2 && avx512 ? Vectors::avx512 : avx2 ? Vectors::avx2 : Vectors::portable;
#else
  return Vectors::portable;
#endif
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // sanitizers do not see what the string instruction reads and writes
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

/// Whether the processor says that its string instruction is fast at any length (FSRM: Zen 3, Ice Lake and
/// later ones).
bool has_fast_strings() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kFsrm = 1u << 4;
  return !kSanitized && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kFsrm) != 0;
#else
  return false;
#endif
}

/// The value that was given; the default where it is malformed: opening a context says so.
VarValue given(std::string_view name) {
  const Variable& variable = *std::ranges::find(kBaseVariables, name, &Variable::name);
  auto value = read_once(variable);
  return value ? *std::move(value) : Config({Variables(&variable, 1)}).value(name);
}

bool choose(std::string_view name, const char* yes, bool by_itself) {
  const std::string wish = given(name).text;
  return wish == "auto" ? by_itself : wish == yes;
}

/// The default for auto, which learn_pacing() replaces.
Pacing pacing_of(std::string_view wish) noexcept {
  for (const Pacing pacing : {Pacing::off, Pacing::many})
    if (wish == to_string(pacing)) return pacing;
  return Pacing::few;
}

std::int64_t cache_bytes(std::string_view name, [[maybe_unused]] int level) {
  if (const std::int64_t bytes = given(name).number; bytes > 0) return bytes;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  return std::max(sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL3_CACHE_SIZE), 0L);
#else
  return 0;
#endif
}

Processor ask() {
  Processor found;
  found.vectors = choose_vectors(given("STRIA_VECTORS").text, widest_vectors());
  found.pacing = pacing_of(given("STRIA_PACING").text);
  found.fast_strings = choose("STRIA_STRINGS", "on", has_fast_strings());
  found.first_cache_bytes = cache_bytes("STRIA_FIRST_CACHE", 1);
  found.last_cache_bytes = cache_bytes("STRIA_LAST_CACHE", 3);
  return found;
}

}  // namespace

Vectors choose_vectors(std::string_view wish, Vectors widest) noexcept {
  for (const Vectors vectors : {Vectors::portable, Vectors::avx2, Vectors::avx512}) {
    if (wish != to_string(vectors)) continue;
    if (vectors > widest)
      log::warn("STRIA_VECTORS={}: this processor does not have these instructions; {} is used instead", wish,
                to_string(widest));
    return std::min(vectors, widest);
  }
  return widest;  // auto
}

constinit Processor detail::known_processor;

const Processor& processor() noexcept {
  try {
    [[maybe_unused]] static const bool asked = (detail::known_processor = ask(), true);
  } catch (...) {  // out of memory: the next call asks again
  }
  return detail::known_processor;
}

void learn_pacing(Pacing measured) noexcept {
  processor();
  try {
    // Written only where it changes: other threads may be copying.
    if (given("STRIA_PACING").text == "auto" && detail::known_processor.pacing != measured)
      detail::known_processor.pacing = measured;
  } catch (...) {  // out of memory: the default stays
  }
}

const char* to_string(Vectors vectors) noexcept {
  switch (vectors) {
    case Vectors::avx512:
      return "avx512";
    case Vectors::avx2:
      return "avx2";
    case Vectors::portable:
      break;
  }
  return "portable";
}

}  // namespace stria
