// The checks' bookkeeping, the byte patterns and the watchdog behind harness.hpp.
#include "tests/mpi/harness.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace mpitest {
namespace {

struct State {
  const char* name = "mpitest";
  int rank = 0;
  std::uint64_t seed = 0;
  std::atomic<std::uint64_t> checks{0};
  std::atomic<std::uint64_t> failed{0};
  std::mutex print;
  char step[256] = "start";
};

State& state() {
  static State instance;
  return instance;
}

constexpr std::uint64_t kPrintedFailures = 5;  // one broken path fails thousands of checks
constexpr std::uint64_t kDefaultSeed = 20231;

// Runs in a signal handler: only write() and memory that never moves.
void on_alarm(int) {
  State& s = state();
  char line[512];
  const int length =
      std::snprintf(line, sizeof line, "%s: rank %d has no end in sight, seed %llu, in step: %s\n", s.name,
                    s.rank, static_cast<unsigned long long>(s.seed), s.step);
  if (length > 0 && write(STDERR_FILENO, line, std::min(sizeof line, static_cast<std::size_t>(length))) < 0)
    _exit(3);
}

void start_watchdog() {
  const char* seconds = std::getenv("STRIA_TEST_WATCHDOG");
  if (seconds == nullptr || std::atoi(seconds) <= 0) return;
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  alarm(static_cast<unsigned>(std::atoi(seconds)));
}

}  // namespace

Options::Options(int argc, char** argv) : arguments_(argv + std::min(argc, 1), argv + argc) {
  if (const char* seed = std::getenv("STRIA_TEST_SEED")) arguments_.push_back(text("--seed=", seed));
}

std::string Options::get(std::string_view name, std::string_view otherwise) const {
  const std::string prefix = text("--", name, "=");
  for (const std::string& argument : arguments_) {
    if (argument.starts_with(prefix)) return argument.substr(prefix.size());
  }
  return std::string(otherwise);
}

std::uint64_t Options::number(std::string_view name, std::uint64_t otherwise) const {
  const std::string value = get(name, "");
  return value.empty() ? otherwise : std::stoull(value, nullptr, 0);
}

std::vector<std::uint64_t> Options::numbers(std::string_view name,
                                            std::vector<std::uint64_t> otherwise) const {
  std::istringstream list(get(name, ""));
  std::vector<std::uint64_t> values;
  for (std::string word; std::getline(list, word, ',');) values.push_back(std::stoull(word, nullptr, 0));
  return values.empty() ? std::move(otherwise) : values;
}

Session::Session(int& argc, char**& argv, const char* name, int threads) : options(argc, argv) {
  state().name = name;
  start_watchdog();
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, threads, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  state().rank = rank;
  seed = options.number("seed", kDefaultSeed);
  state().seed = seed;
  expect(provided >= threads, text("thread level ", provided, " provided, ", threads, " asked"));
  if (rank == 0) {
    std::printf("%s: seed %llu, %d ranks\n", name, static_cast<unsigned long long>(seed), size);
    std::fflush(stdout);
  }
}

int Session::finish() {
  step("MPI_Finalize");
  MPI_Finalize();
  State& s = state();
  const std::uint64_t failed = s.failed.load();
  if (rank == 0 || failed > 0) {
    std::printf("%s: rank %d: %llu checks, %llu failed, seed %llu\n", s.name, rank,
                static_cast<unsigned long long>(s.checks.load()), static_cast<unsigned long long>(failed),
                static_cast<unsigned long long>(seed));
    std::fflush(stdout);
  }
  return failed == 0 ? 0 : 1;
}

bool expect(bool ok, const std::string& what, Where where) {
  State& s = state();
  s.checks.fetch_add(1, std::memory_order_relaxed);
  if (ok) return true;
  const std::uint64_t before = s.failed.fetch_add(1);
  if (before >= kPrintedFailures) return false;
  const std::scoped_lock lock(s.print);
  const char* file = std::strrchr(where.file, '/');
  std::fprintf(stderr, "%s: rank %d: FAILED at %s:%u, seed %llu, step [%s]: %s\n", s.name, s.rank,
               file != nullptr ? file + 1 : where.file, where.line, static_cast<unsigned long long>(s.seed),
               s.step, what.c_str());
  return false;
}

std::uint64_t failures() {
  return state().failed.load();
}

void step(const std::string& what) {
  State& s = state();
  const std::size_t length = std::min(what.size(), sizeof s.step - 1);
  std::memcpy(s.step, what.data(), length);
  s.step[length] = '\0';
}

void fill(void* memory, std::size_t bytes, std::uint64_t key) {
  auto* out = static_cast<unsigned char*>(memory);
  const std::uint64_t start = mix(key);
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = mix(start + i / 8);
    std::memcpy(out + i, &word, std::min<std::size_t>(8, bytes - i));
  }
}

std::size_t first_wrong(const void* memory, std::size_t bytes, std::uint64_t key, std::uint64_t first) {
  const auto* in = static_cast<const unsigned char*>(memory);
  const std::uint64_t start = mix(key);
  const auto byte_at = [start](std::uint64_t i) {
    return static_cast<unsigned char>(mix(start + i / 8) >> (8 * (i % 8)));
  };
  std::size_t i = 0;
  for (; i < bytes && (first + i) % 8 != 0; ++i) {
    if (in[i] != byte_at(first + i)) return i;
  }
  for (; i + 8 <= bytes; i += 8) {
    const std::uint64_t wanted = mix(start + (first + i) / 8);
    std::uint64_t got = 0;
    std::memcpy(&got, in + i, 8);
    if (got != wanted) break;
  }
  for (; i < bytes; ++i) {
    if (in[i] != byte_at(first + i)) return i;
  }
  return bytes;
}

bool expect_pattern(const void* memory, std::size_t bytes, std::uint64_t key, const std::string& what,
                    Where where) {
  const std::size_t wrong = first_wrong(memory, bytes, key);
  if (wrong == bytes) return expect(true, {}, where);
  return expect(false, text(what, ": byte ", wrong, " of ", bytes, " is wrong"), where);
}

Buffer::Buffer(std::size_t bytes) : memory_(bytes + 2 * kGuard, kUntouched) {}

void Buffer::reset() {
  std::fill(memory_.begin(), memory_.end(), kUntouched);
}

bool Buffer::untouched_beyond(std::size_t used) const {
  const auto clean = [](std::byte b) { return b == kUntouched; };
  const auto body = memory_.begin() + static_cast<std::ptrdiff_t>(kGuard + used);
  return std::all_of(memory_.begin(), memory_.begin() + kGuard, clean) &&
         std::all_of(body, memory_.end(), clean);
}

bool Buffer::expect_message(std::size_t bytes, std::uint64_t key, const std::string& what, Where where) {
  const bool right = expect_pattern(data(), bytes, key, what, where);
  return expect(untouched_beyond(bytes), text(what, ": bytes outside of the message were written"), where) &&
         right;
}

std::vector<std::uint64_t> threshold_sizes() {
  return {
      0,      1,       8,       31,      32,   33,  // what an inbox slot holds
      40,     41,      64,      127,     128,  129,  255,
      256,    257,                                          // strided messages gathered on the stack
      511,    512,     513,     1024,    2023, 2024, 2025,  // a PIO window's message
      2048,   3064,    3072,    3080,                       // 384 doubles: more blocks are announced
      4095,   4096,    4097,    8191,    8192, 8193, 16384,
      32767,  32768,   32769,   // a cell; more that is strided is announced
      65535,  65536,   65537,   // credit of the first message
      131071, 131072,  131073,  // packed, or on a far link: eager or announced
      262143, 262144,  262145,  // a long cell: eager or announced
      524288, 1048575, 1048576, 1048577,
  };
}

std::uint64_t own_memory(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(field) || line.size() <= field.size() || line[field.size()] != ':') continue;
    return std::stoull(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}

double now_seconds() {
  return MPI_Wtime();
}

}  // namespace mpitest
