// Registers regions while many others are registered, for `count`, which has callgrind count what counted()
// executes. Prints a line for each call of it: regions that there were before, regions registered. Nothing
// here depends on time or on addresses.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "stria/stria.h"

/// callgrind collects inside of this function alone.
extern "C" [[gnu::noinline]] void stria_counted(void (*work)(void*), void* argument) {
  work(argument);
  asm volatile("" ::: "memory");
}

namespace {

constexpr unsigned kEach = 64;  ///< a part of them allocates, whatever there was before

void expect(bool right) {
  if (right) return;
  std::fprintf(stderr, "%s\n", stria_last_error());
  std::exit(1);
}

struct Regions {
  stria_worker_t* worker;
  std::uint64_t word = 0;
  std::vector<stria_region_t*> all = {};

  void add(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      expect(stria_region_register(worker, &word, nullptr, sizeof word, STRIA_ACCESS_REMOTE_READ,
                                   &all.emplace_back()) == STRIA_OK);
  }
};

}  // namespace

int main() {
  expect(stria_config_set("STRIA_PROVIDERS", "fake", "test") == STRIA_OK);
  stria_context_t* context = nullptr;
  stria_worker_t* worker = nullptr;
  expect(stria_context_open(nullptr, &context) == STRIA_OK);
  expect(stria_worker_open(context, nullptr, &worker) == STRIA_OK);
  Regions regions{worker};
  regions.all.reserve(20000);
  for (const unsigned before : {1000u, 4000u, 16000u}) {
    regions.add(before - static_cast<unsigned>(regions.all.size()));
    std::printf("%u %u\n", before, kEach);
    stria_counted([](void* of) { static_cast<Regions*>(of)->add(kEach); }, &regions);
  }
  for (stria_region_t* region : regions.all) expect(stria_region_deregister(region) == STRIA_OK);
  expect(stria_worker_close(worker) == STRIA_OK);
  expect(stria_context_close(context) == STRIA_OK);
}
