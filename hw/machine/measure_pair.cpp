// What two cores cost each other: a word that goes there and back, lines that one wrote and the other reads,
// each way to store to lines that the other core has, and copies of what the other core wrote.
//
// Places in the arena: memory that both cores use, the measuring thread's own, and the partner's own.
#include <algorithm>
#include <cstring>

#include "datatype/kernels/nontemporal.hpp"
#include "datatype/pack.hpp"
#include "hw/line_time.hpp"
#include "hw/machine/measure.hpp"
#include "hw/pio.hpp"
#include "hw/string_copy.hpp"

namespace stria::hw {
namespace {

using datatype::Address;
constexpr std::size_t kPart = Arena::kBytes / 4;
constexpr std::size_t kShared = 0, kOwn = kPart, kTheirs = 2 * kPart;
constexpr std::size_t kLine = kCacheLine;

enum Way : std::size_t { vectors, strings, nontemporal, kWays };

void copy(Way way, std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (way == strings) return string_copy(to, from, bytes);
  if (way == vectors) return datatype::copy_bytes(to, from, bytes);
  datatype::kernel::nontemporal_run(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from),
                                    static_cast<std::int64_t>(bytes));
  datatype::kernel::nontemporal_fence();
}

/// Loads a word of each line.
std::uint64_t read_lines(const std::byte* at, std::size_t bytes) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t line = 0; line < bytes; line += kLine) sum += load_word_unordered(at + line);
  wait_for_loads(sum);
  return sum;
}

/// Waits until all earlier stores are done, so that a time that is read next includes them.
void wait_until_stored() noexcept {
  full_fence();
  wait_for_stores();
}

double time_round_trip(const Arena& arena, Partner& partner) noexcept {
  constexpr std::uint64_t kTrips = 20;
  std::byte *const there = arena.at(kShared), *const back = arena.at(kShared + 4 * kLine);
  store_word(there, 0);
  store_word(back, 0);
  const auto answer = [there, back] {
    for (std::uint64_t trip = 1; trip <= kTrips; ++trip) {
      spin_until([&] { return load_word(there) == trip; });
      publish_word(back, trip);
    }
  };
  partner.start(answer);
  Clock::time_point begin;
  for (std::uint64_t trip = 1; trip <= kTrips; ++trip) {
    if (trip == 2) begin = Clock::now();  // the first one waits until the partner begins
    publish_word(there, trip);
    spin_until([&] { return load_word(back) == trip; });
  }
  const double ns = ns_since(begin);
  partner.wait();
  return ns / (kTrips - 1);
}

double time_line(const Arena& arena, Partner& partner) noexcept {
  constexpr std::size_t kBytes = 4096, kFirst = 1024, kLines = 16;
  std::byte* const page = arena.at(kShared);
  partner.run([page] { std::memset(page, 1, kBytes); });
  constexpr double kLeastNs = 0.1;  // where the clock is coarse the lines may take no time; 0 is not measured
  return std::max(time_lines(page + kFirst, kLines), kLeastNs);
}

double time_store(Way way, std::size_t bytes, const Arena& arena, Partner& partner) noexcept {
  std::byte* const shared = arena.at(kShared);
  partner.run([shared, bytes] { read_lines(shared, bytes); });
  wait_until_stored();
  const Clock::time_point begin = Clock::now();
  copy(way, shared, arena.at(kOwn), bytes);
  wait_until_stored();
  return ns_since(begin);
}

double time_take(Way way, const Arena& arena, Partner& partner) noexcept {
  constexpr std::size_t kBytes = 65536;
  std::byte* const shared = arena.at(kShared);
  std::byte* const theirs = arena.at(kTheirs);
  partner.run([=] { copy(vectors, shared, theirs, kBytes); });
  const Clock::time_point begin = Clock::now();
  copy(way, arena.at(kOwn), shared, kBytes);
  return ns_since(begin);
}

/// Times how the partner stores cell after cell, by the string instruction, while this thread copies each
/// out. Returns us for a KiB.
double time_cells(const Arena& arena, Partner& partner) noexcept {
  constexpr std::size_t kCell = 32768, kCells = 8;
  static std::atomic<std::uint32_t> written;
  written.store(0, std::memory_order_relaxed);
  std::byte *const shared = arena.at(kShared), *const theirs = arena.at(kTheirs);
  const auto write = [=] {
    for (std::uint32_t cell = 0; cell < kCells; ++cell) {
      copy(strings, shared + cell * kCell, theirs + cell * kCell, kCell);
      written.store(cell + 1, std::memory_order_release);  // pairs with the loop below
    }
  };
  partner.start(write);
  const Clock::time_point begin = Clock::now();
  for (std::uint32_t cell = 0; cell < kCells; ++cell) {
    spin_until([&] { return written.load(std::memory_order_acquire) > cell; });
    copy(vectors, arena.at(kOwn + cell * kCell), shared + cell * kCell, kCell);
  }
  const double ns = ns_since(begin);
  partner.wait();
  return ns / 1000 / (kCells * kCell / 1024.0);
}

/// Times copies through the kernel of what the partner wrote. Returns us for a KiB, without the start of a
/// call.
double time_attach_rate(const Arena& arena, Partner& partner) noexcept {
  constexpr std::size_t kPage = 4096, kBytes = 65536;
  std::byte *const shared = arena.small_at(0), *const own = arena.small_at(kBytes);
  static_assert(2 * kBytes <= Arena::kSmallBytes);
  partner.run([shared] { std::memset(shared, 1, kBytes); });
  const double one_page = time_attach(own, shared, kPage);
  const double rest = time_attach(own + kPage, shared + kPage, kBytes - kPage);
  if (one_page == 0 || rest == 0) return 0;
  // Where the first call was interrupted, the difference says nothing: it is one low time among the others.
  return std::max(rest - one_page, 1.0) / 1000 / ((kBytes - 2 * kPage) / 1024.0);
}

}  // namespace

void measure_pair(const Arena& arena, Partner& partner, const Deadline& deadline, Machine& found) noexcept {
  const auto fill = [&](double& figure, auto time) {
    if (figure == 0) figure = medians<1>(deadline, [&](std::size_t) { return time(arena, partner); })[0];
  };
  double line_ns = 0;
  fill(line_ns, time_line);
  if (line_ns == 0) return;
  CorePair& pair = line_ns > kFarLineNs ? found.far : found.near;
  if (pair.line_ns == 0) pair.line_ns = line_ns;
  // First what decides most, as the time may be over before all is measured.
  fill(pair.cells_us_per_kib, time_cells);
  fill(pair.attach_us_per_kib, time_attach_rate);
  const auto stores = [&](std::size_t bytes, double& by_vectors, double& by_strings, double& by_nontemporal) {
    if (by_vectors > 0) return;
    const auto ns = medians<kWays>(
        deadline, [&](std::size_t way) { return time_store(static_cast<Way>(way), bytes, arena, partner); });
    by_vectors = ns[vectors], by_strings = ns[strings], by_nontemporal = ns[nontemporal];
  };
  stores(4096, pair.vectors_4k_ns, pair.strings_4k_ns, pair.nontemporal_4k_ns);
  if (pair.take_vectors_ns == 0) {
    const auto take = medians<2>(
        deadline, [&](std::size_t way) { return time_take(static_cast<Way>(way), arena, partner); });
    pair.take_vectors_ns = take[vectors], pair.take_strings_ns = take[strings];
  }
  stores(16384, pair.vectors_16k_ns, pair.strings_16k_ns, pair.nontemporal_16k_ns);
  fill(pair.round_trip_ns, time_round_trip);
}

}  // namespace stria::hw
