#include "osu_bench/common/machine.hpp"

#include <sched.h>

#include <fstream>

#include "stria_bench_commit.hpp"

#ifndef STRIA_BENCH_BUILD_TYPE
#define STRIA_BENCH_BUILD_TYPE "unknown build type"
#endif

namespace stria::bench {

std::string commit() {
  return STRIA_BENCH_COMMIT;
}

std::string compiler() {
#if defined(__clang__)
  const std::string name = "Clang " __clang_version__;
#else
  const std::string name = "GCC " __VERSION__;
#endif
  return name + ", " STRIA_BENCH_BUILD_TYPE;
}

std::string cpu() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) {
      const auto colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  return "unknown";
}

std::string pinning() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return "unknown";
  std::string list;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    if (!list.empty()) list += ",";
    list += std::to_string(first);
    if (last > first) list += "-" + std::to_string(last);
    first = last;
  }
  return (CPU_COUNT(&set) == 1 ? "cpu " : "cpus ") + list;
}

}  // namespace stria::bench
