// What the command line of a benchmark says, with OSU's letters where OSU has them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "osu_bench/common/cases.hpp"

namespace stria::bench {

struct Options {
  std::vector<std::size_t> sizes;  ///< message sizes in bytes, ascending
  long iterations = 0;             ///< 0: OSU's counts, cut to the time of `row_ms`
  long warmup = -1;                ///< -1: OSU's counts
  int window = 64;                 ///< messages in flight (bandwidth)
  double row_ms = 250;             ///< wall-clock budget of one row when `iterations` is 0
  bool validate = true;            ///< exchange and check a payload outside the timed part
  bool alloc_mem = false;          ///< messages out of memory of MPI_Alloc_mem (native: stria_mem_alloc)
  bool rewrite = false;            ///< each message is written before it is sent, and read where it came
  bool json = false;               ///< one JSON line a row
  int processes = 2;               ///< native programs: how many to fork
  std::vector<std::string> ways;   ///< which rows of a case; empty = the program's usual ones
  Selection shapes;                ///< which cases
  std::vector<long> depths;        ///< matching benchmark: lengths of the queue
};

/// What differs between the programs' command lines.
struct Program {
  std::string name;        ///< osu_latency
  std::string title;       ///< MPI Latency Test
  bool window = false;     ///< has -w
  bool datatype = false;   ///< has --cases, --ways, --parameters, --seed instead of sizes
  bool match = false;      ///< has --cases, --ways, --depths instead of sizes
  bool processes = false;  ///< has -n
  bool messages = true;    ///< has --alloc-mem
  bool rewrites = false;   ///< has --rewrite
  std::size_t min_size = 1;
  std::size_t max_size = 4U << 20U;
  std::vector<std::size_t> usual_sizes = {};  ///< instead of powers of two from min_size to max_size
  std::vector<std::string> cases = {};        ///< what --cases takes, beside sizes
  std::vector<std::string> ways = {};         ///< what --ways takes
  std::vector<std::string> usual_ways = {};   ///< without --ways
};

/// The options, or the code to exit with. Only a `speaking` process prints (help, errors).
struct Parsed {
  std::optional<Options> options;
  int exit_code = 0;
};
Parsed parse(int argc, char** argv, const Program& program, bool speaking);

/// "MIN:MAX" or "MAX" as powers of two from MIN (0 gives 0, 1, 2, …), MAX included. Throws
/// std::invalid_argument.
std::vector<std::size_t> size_range(const std::string& text, std::size_t default_min);

}  // namespace stria::bench
