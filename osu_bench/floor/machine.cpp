// What the machine itself allows: a cache line passed to and fro between two cores, memory copied by one
// core, halved between two and passed on by way of shared memory, and a matrix column copied to a column.
// Nothing that moves messages can beat these, so every comparison shows them beside its figures.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "osu_bench/common/buffer.hpp"
#include "osu_bench/common/options.hpp"
#include "osu_bench/common/report.hpp"
#include "osu_bench/floor/cores.hpp"
#include "osu_bench/floor/through.hpp"

namespace {
using namespace stria::bench;

/// One way, ns, of a line that two cores pass to and fro; each sample is the mean of a hundred round trips.
Summary line_ping_pong(int here, int there, double budget_ns) {
  constexpr std::uint64_t kTrips = 100;
  struct Lines : LinePair {
    alignas(kLine) std::atomic<bool> stop{false};
  };
  Lines lines;
  std::thread other([&] {
    bind_to(there);
    for (std::uint64_t next = 1;; ++next) {
      while (lines.ping.load(std::memory_order_acquire) != next) {
        if (lines.stop.load(std::memory_order_relaxed)) return;
        pause_briefly();
      }
      lines.pong.store(next, std::memory_order_release);
    }
  });
  bind_to(here);
  std::uint64_t trip = 0;
  std::vector<double> samples;
  repeat(budget_ns, 20, [&] { samples.push_back(begin_line_trips(lines, trip, kTrips)); });
  lines.stop.store(true, std::memory_order_relaxed);
  other.join();
  return summarise(std::move(samples));
}

/// ns to copy `bytes`, by one core, or by two that take a half each (with the hand-over in it).
Summary copy(const std::vector<int>& on, std::size_t bytes, double budget_ns) {
  Buffer from(bytes);
  Buffer to(bytes);
  std::memset(from.data(), 1, bytes);
  std::memset(to.data(), 2, bytes);
  bind_to(on[0]);
  if (on.size() == 1) {
    return repeat(budget_ns, 5, [&] {
      std::memcpy(to.data(), from.data(), bytes);
      asm volatile("" ::: "memory");
    });
  }
  alignas(kLine) std::atomic<std::uint64_t> begun{0};
  alignas(kLine) std::atomic<std::uint64_t> done{0};
  alignas(kLine) std::atomic<bool> stop{false};
  const std::size_t half = bytes / 2;
  std::thread other([&] {
    bind_to(on[1]);
    for (std::uint64_t next = 1;; ++next) {
      while (begun.load(std::memory_order_acquire) != next) {
        if (stop.load(std::memory_order_relaxed)) return;
        pause_briefly();
      }
      std::memcpy(to.data() + half, from.data() + half, bytes - half);
      done.store(next, std::memory_order_release);
    }
  });
  std::uint64_t turn = 0;
  const Summary ns = repeat(budget_ns, 5, [&] {
    begun.store(++turn, std::memory_order_release);
    std::memcpy(to.data(), from.data(), half);
    while (done.load(std::memory_order_acquire) != turn) pause_briefly();
  });
  stop.store(true, std::memory_order_relaxed);
  other.join();
  return ns;
}

/// ns to copy a column of an n x n matrix of doubles into a column of another.
Summary column(int on, std::size_t n, double budget_ns) {
  bind_to(on);
  Buffer from(n * n * sizeof(double));
  Buffer to(n * n * sizeof(double));
  const auto* source = reinterpret_cast<const double*>(from.data());
  auto* target = reinterpret_cast<double*>(to.data());
  for (std::size_t i = 0; i < n; ++i) from.data()[i * n * sizeof(double)] = std::byte{1};
  return repeat(budget_ns, 5, [&] {
    for (std::size_t i = 0; i < n; ++i) target[i * n] = source[i * n];
    asm volatile("" ::: "memory");
  });
}

}  // namespace

int main(int argc, char** argv) {
  Program program{.name = "osu_floor", .title = "Floor of the machine (no messages)"};
  program.messages = false;
  program.max_size = 16U << 20U;
  const Parsed parsed = parse(argc, argv, program, true);
  if (!parsed.options) return parsed.exit_code;
  const Options& options = *parsed.options;
  const Report report(program, options,
                      {{"what", "What"},
                       {"size", "Size"},
                       {"latency_us", "Time (us)", 3},
                       {"min_us", "Min (us)", 3},
                       {"median_us", "Median (us)", 3},
                       {"p99_us", "P99 (us)", 3},
                       {"gb_s", "GB/s"}},
                      true);
  const std::vector<int> on = cores();
  report.header({{"cores", fmt::format("{} of {} used", std::min<std::size_t>(2, on.size()), on.size())}});
  const double budget_ns = std::min(options.row_ms, 50.0) * 1e6;
  const auto row = [&](const char* what, std::size_t size, const Summary& ns, std::size_t moved) {
    report.row({std::string(what), static_cast<std::int64_t>(size), ns.average / 1e3, ns.min / 1e3,
                ns.median / 1e3, ns.p99 / 1e3, ns.median > 0 ? static_cast<double>(moved) / ns.median : 0.0});
  };
  if (on.size() > 1) row("line", kLine, line_ping_pong(on[0], on[1], budget_ns), kLine);
  for (const std::size_t bytes : options.sizes) {
    if (bytes < kLine) continue;
    row("copy", bytes, copy({on[0]}, bytes, budget_ns), bytes);
    if (on.size() < 2) continue;
    row("copy-by-2", bytes, copy({on[0], on[1]}, bytes, budget_ns), bytes);
    if (bytes > Through::kAll) continue;
    try {
      row("through", bytes, through_ping_pong(on[0], on[1], bytes, budget_ns), bytes);
    } catch (const std::runtime_error& wrong) {
      fmt::print(stderr, "osu_floor: {}\n", wrong.what());
      return 1;
    }
  }
  for (std::size_t n = 64; n <= 8192; n *= 2)
    row("column", n, column(on[0], n, budget_ns), n * sizeof(double));
  return 0;
}
