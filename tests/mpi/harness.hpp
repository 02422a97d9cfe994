// What every MPI test program shares: options, a seeded generator, byte patterns that serve as oracle,
// guarded buffers, checks that say where and with which seed they failed, and a watchdog that names the step
// a hung rank is in. Only mpi.h is used, so the same programs judge any transport.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace mpitest {

/// Mixes 64 bits; a bijection, so distinct inputs give distinct words.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

class Rng {
 public:
  explicit Rng(std::uint64_t seed) noexcept : state_(mix(seed)) {}
  std::uint64_t next() noexcept { return mix(state_ += 0x9E3779B97F4A7C15ULL); }
  std::uint64_t below(std::uint64_t n) noexcept { return n < 2 ? 0 : next() % n; }
  std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool chance(unsigned percent) noexcept { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

/// The caller's place; clang 14 has no std::source_location, both compilers have these builtins.
struct Where {
  const char* file;
  unsigned line;
  static constexpr Where current(const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// `--name=value` arguments; the environment's STRIA_TEST_SEED stands for --seed.
class Options {
 public:
  Options(int argc, char** argv);
  [[nodiscard]] std::string get(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise) const;
  [[nodiscard]] std::vector<std::uint64_t> numbers(std::string_view name,
                                                   std::vector<std::uint64_t> otherwise) const;

 private:
  std::vector<std::string> arguments_;
};

/// MPI from start to end, and the verdict. One a program; the functions below refer to it.
class Session {
 public:
  /// Starts MPI with `threads` (a lesser level than asked is a failure) and prints the seed on rank 0.
  Session(int& argc, char**& argv, const char* name, int threads = MPI_THREAD_SINGLE);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Ends MPI, prints the verdict, and returns the program's exit code.
  int finish();

  Options options;
  std::uint64_t seed = 0;
  int rank = 0;
  int size = 1;
};

/// Counts a check; a failed one prints rank, step, place, seed and `what`. Any thread.
bool expect(bool ok, const std::string& what = {}, Where where = Where::current());
/// As expect(), for two values that should be equal; prints both.
template <class A, class B>
bool expect_equal(const A& got, const B& wanted, const std::string& what = {},
                  Where where = Where::current()) {
  if (got == wanted) return expect(true, {}, where);
  return expect(false, text(what, ": got ", got, ", wanted ", wanted), where);
}
/// Failed checks so far in this process.
std::uint64_t failures();

/// Names what this rank does now; printed with failures and by the watchdog.
void step(const std::string& what);

/// Byte i of the pattern `key` is byte i%8 of mix(mix(key) + i/8).
void fill(void* memory, std::size_t bytes, std::uint64_t key);
/// The first byte that differs from the pattern, or `bytes`. `first` is the pattern's index of memory[0].
std::size_t first_wrong(const void* memory, std::size_t bytes, std::uint64_t key, std::uint64_t first = 0);
bool expect_pattern(const void* memory, std::size_t bytes, std::uint64_t key, const std::string& what,
                    Where where = Where::current());

/// Memory between two guards, all of it one known byte at first, so that a byte written astray is seen.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  [[nodiscard]] std::byte* data() noexcept { return memory_.data() + kGuard; }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.size() - 2 * kGuard; }
  void reset();
  /// Nothing but [0, used) was written.
  [[nodiscard]] bool untouched_beyond(std::size_t used) const;
  /// A received message: the pattern in front, nothing behind.
  bool expect_message(std::size_t bytes, std::uint64_t key, const std::string& what,
                      Where where = Where::current());

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr std::byte kUntouched{0xA5};
  std::vector<std::byte> memory_;
};

/// Sizes in bytes around the places where transports change protocol.
std::vector<std::uint64_t> threshold_sizes();

/// A field of /proc/self/status such as VmHWM, in bytes; 0 when absent.
std::uint64_t own_memory(std::string_view field);

double now_seconds();

/// The exit code by which ctest knows a skipped test.
inline constexpr int kSkipped = 77;

}  // namespace mpitest
