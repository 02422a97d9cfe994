// One-way latency of the provider between two processes bound to two cores, beside the floor: two cores that
// hand one cache line back and forth. Prints median and fastest of several repetitions in nanoseconds. Not a
// test.
//   shm_pingpong_bench [core A] [core B]
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/cache_line.hpp"
#include "base/instructions.hpp"
#include "transport/hot_ops.hpp"
#include "transport/shm/shm.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Shared {
  alignas(64) std::atomic<unsigned> ready;
  alignas(64) std::atomic<unsigned> address_bytes[2];
  alignas(64) char address[2][256];
  alignas(64) std::atomic<std::uint64_t> ping;
  alignas(64) std::atomic<std::uint64_t> pong;
};

void bind_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) std::perror("sched_setaffinity");
}

void meet(Shared& shared, unsigned& round) {
  ++round;
  shared.ready.fetch_add(1);
  while (shared.ready.load() < 2 * round) stria::cpu_relax();
}

void print(const char* what, std::vector<double> ns) {
  std::sort(ns.begin(), ns.end());
  std::printf("%-28s median %8.0f ns   fastest %8.0f ns\n", what, ns[ns.size() / 2], ns.front());
}

constexpr int kRepetitions = 9;

void floor_of(Shared& shared, int me, unsigned& round) {
  constexpr std::uint64_t kRounds = 20000;
  std::vector<double> times;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    shared.ping = 0, shared.pong = 0;
    meet(shared, round);
    const auto start = Clock::now();
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
      if (me == 0) shared.ping.store(i, std::memory_order_release);
      auto& mine = me == 0 ? shared.pong : shared.ping;
      while (mine.load(std::memory_order_acquire) < i) continue;
      if (me == 1) shared.pong.store(i, std::memory_order_release);
    }
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / (2.0 * kRounds));
    meet(shared, round);
  }
  if (me == 0) print("one line, raw", times);
}

struct Device {
  explicit Device(std::uint64_t id) {
    sink = {this,
            [](void* self, void*, const stria_packet_t*) {
              ++static_cast<Device*>(self)->arrived;
              return 1u;
            },
            [](void* self, std::uint64_t, stria_link_t*) { return self; },
            [](void*, void*, stria_status_t) { std::abort(); },
            [](void*, void*) {},
            [](void*, void*, const stria_header_t*, std::uint32_t, stria_payload_t*) { return 0; }};
    stria_device_params_t params{};
    params.size = sizeof params;
    params.worker_id = id;
    params.sink = &sink;
    char error[256] = {};
    if (table.open(&params, &device, error, sizeof error) != STRIA_OK)
      std::fprintf(stderr, "%s\n", error), std::exit(1);
  }
  const stria_provider_t& table = stria::shm::shm_provider();
  const stria::transport::HotOps ops = stria::transport::flatten(table);
  stria_sink_t sink{};
  stria_device_t* device = nullptr;
  stria_link_t* link = nullptr;
  std::uint64_t arrived = 0;
};

bool send(Device& device, const stria_header_t& header, std::byte* data, std::uint32_t bytes, bool pio) {
  if (pio) return device.ops.pio_send(device.link, &header, data, bytes) == STRIA_OK;
  const stria_payload_t payload{nullptr, data, bytes, 0, bytes};
  return device.ops.eager_send(device.link, &header, &payload) == STRIA_OK;
}

void latency(Shared& shared, int me, unsigned& round, Device& device, std::uint32_t bytes) {
  const std::uint64_t rounds = bytes > 4096 ? 4000 : 20000;
  stria_link_limits_t limits{};
  device.table.link_limits(device.link, &limits);
  const bool pio = bytes <= limits.pio_max;
  std::vector<std::byte> data(bytes);
  std::vector<double> times;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    device.arrived = 0;
    meet(shared, round);
    const auto start = Clock::now();
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      const stria_header_t header{1, 0, static_cast<std::uint16_t>(i), 0, i};
      if (me == 0)
        while (!send(device, header, data.data(), bytes, pio)) device.ops.progress(device.device, 16);
      while (device.arrived < i) device.ops.progress(device.device, 16);
      if (me == 1)
        while (!send(device, header, data.data(), bytes, pio)) device.ops.progress(device.device, 16);
    }
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
                    (2.0 * static_cast<double>(rounds)));
    meet(shared, round);
  }
  char what[64];
  std::snprintf(what, sizeof what, "%u B, %s", bytes, pio ? "pio" : "cell");
  if (me == 0) print(what, times);
}

void rate(Shared& shared, int me, unsigned& round, Device& device, std::uint32_t bytes) {
  constexpr std::uint64_t kMessages = 400000;
  std::vector<std::byte> data(bytes);
  std::vector<double> times;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    device.arrived = 0;
    meet(shared, round);
    const auto start = Clock::now();
    for (std::uint64_t i = 1; me == 0 && i <= kMessages; ++i) {
      const stria_header_t header{1, 0, static_cast<std::uint16_t>(i), 0, i};
      while (!send(device, header, data.data(), bytes, true)) stria::cpu_relax();
    }
    while (me == 1 && device.arrived < kMessages) device.ops.progress(device.device, 64);
    meet(shared, round);
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kMessages);
  }
  char what[64];
  std::snprintf(what, sizeof what, "%u B, a message in a stream", bytes);
  if (me == 0) print(what, times);
}

}  // namespace

int main(int argc, char** argv) {
  auto* shared = static_cast<Shared*>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return 1;
  const pid_t child = ::fork();
  const int me = child == 0 ? 1 : 0;
  bind_to(argc > 2 ? std::atoi(argv[1 + me]) : me);
  unsigned round = 0;
  floor_of(*shared, me, round);
  Device device(static_cast<std::uint64_t>(me) + 1);
  shared->address_bytes[me] = device.table.address(device.device, shared->address[me], 256);
  meet(*shared, round);
  char error[256] = {};
  if (device.table.connect(device.device, shared->address[1 - me], shared->address_bytes[1 - me], &device, 1,
                           &device.link, error, sizeof error) != STRIA_OK) {
    std::fprintf(stderr, "%s\n", error);
    return 1;
  }
  meet(*shared, round);
  while (device.ops.progress(device.device, 16) == 0) continue;
  for (const std::uint32_t bytes : {8u, 64u, 1024u, 4096u, 16384u})
    latency(*shared, me, round, device, bytes);
  for (const std::uint32_t bytes : {8u, 256u}) rate(*shared, me, round, device, bytes);
  device.table.close(device.device, 1000);
  if (me == 0) ::waitpid(child, nullptr, 0);
  return 0;
}
