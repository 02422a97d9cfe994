// A message from one core's memory to another's by way of memory that both see, as bare as it gets: one core
// copies it in, the other copies it out while it comes, and answers in the same way. No header, no matching,
// no credit: each side knows what comes next, and where. That is what messages of some KiB cost where nobody
// can read the sender's memory for less than a system call.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "osu_bench/common/buffer.hpp"
#include "osu_bench/floor/cores.hpp"

namespace stria::bench {

/// What one side writes and the other reads. Messages go round through 2 MiB, so that the reader's cache has
/// lost a line when it is written again: through one place over and over they take longer.
class Through {
 public:
  static constexpr std::size_t kAll = 2U << 20U, kApart = 32768, kWords = 64, kStep = 4096;

  Through() : memory_(kAll) { std::memset(memory_.data(), 1, kAll); }

  void send(const std::byte* from, std::size_t bytes, std::uint64_t number) {
    std::byte* to = place(bytes, number);
    auto& there = there_[number % kWords].bytes;
    for (std::size_t at = 0; at < bytes;) {
      const std::size_t part = std::min(kStep, bytes - at);
      std::memcpy(to + at, from + at, part);
      at += part;
      there.store(word(number, at), std::memory_order_release);
    }
  }
  /// False: `stop` was set.
  bool receive(std::byte* to, std::size_t bytes, std::uint64_t number, const std::atomic<bool>& stop) {
    const std::byte* from = place(bytes, number);
    const auto& there = there_[number % kWords].bytes;
    for (std::size_t at = 0; at < bytes;) {
      const std::uint64_t now = there.load(std::memory_order_acquire);
      if (now <= word(number, at)) {
        if (stop.load(std::memory_order_relaxed)) return false;
        pause_briefly();
        continue;
      }
      const auto all = static_cast<std::size_t>(now - word(number, 0));
      std::memcpy(to + at, from + at, all - at);
      at = all;
    }
    return true;
  }

 private:
  struct alignas(2 * kLine) There {
    std::atomic<std::uint64_t> bytes{0};
  };
  static std::uint64_t word(std::uint64_t number, std::size_t bytes) { return number * kAll + bytes; }
  /// 32 KiB behind the message before, and behind that one's place when all such begins were taken.
  std::byte* place(std::size_t bytes, std::uint64_t number) {
    const std::size_t apart = std::max(kApart, bytes), begins = kAll / apart;
    const std::size_t rows = std::max<std::size_t>(1, apart / std::max(bytes, kStep));
    return memory_.data() + number % begins * apart + number / begins % rows * std::max(bytes, kStep);
  }

  Buffer memory_;
  std::array<There, kWords> there_{};
};

/// One way, ns; each sample is the mean of some round trips. bytes: 1 to Through::kAll. Before and after that
/// some trips bring other bytes each time and are answered with the same; throws where these do not come
/// back.
inline Summary through_ping_pong(int here, int there, std::size_t bytes, double budget_ns) {
  constexpr int kTrips = 20, kChecks = 70;  // more than there are places
  Through ping, pong;
  std::atomic<bool> stop{false}, echo{true};
  std::thread other([&] {
    bind_to(there);
    Buffer in(bytes), out(bytes);
    for (std::uint64_t next = 1; ping.receive(in.data(), bytes, next, stop); ++next) {
      if (echo.load(std::memory_order_relaxed)) std::memcpy(out.data(), in.data(), bytes);
      pong.send(out.data(), bytes, next);
    }
  });
  bind_to(here);
  Buffer in(bytes), out(bytes);
  std::uint64_t next = 0;
  int wrong = 0;
  const auto trip = [&] {
    ping.send(out.data(), bytes, ++next);
    pong.receive(in.data(), bytes, next, stop);
  };
  const auto check = [&] {
    for (int i = 0; i < kChecks; ++i) {
      std::memset(out.data(), static_cast<int>(next % 251), bytes);
      trip();
      wrong += std::memcmp(in.data(), out.data(), bytes) != 0 ? 1 : 0;
    }
  };
  check();
  echo.store(false, std::memory_order_relaxed);
  std::vector<double> samples;
  const double end = now_ns() + budget_ns;
  while (samples.size() < 20 || now_ns() < end) {
    const double from = now_ns();
    for (int i = 0; i < kTrips; ++i) trip();
    samples.push_back((now_ns() - from) / (2 * kTrips));
  }
  echo.store(true, std::memory_order_relaxed);
  check();
  stop.store(true, std::memory_order_relaxed);
  other.join();
  if (wrong > 0)
    throw std::runtime_error(
        fmt::format("{} bytes through shared memory: {} of {} trips were wrong", bytes, wrong, 2 * kChecks));
  return summarise(std::move(samples));
}

}  // namespace stria::bench
