// Command lines by CLI11; sizes take the suffixes K, M and G (powers of 1024).
#include "osu_bench/common/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "osu_bench/common/match_cases.hpp"

namespace stria::bench {
namespace {

std::size_t size_of(const std::string& text) {
  std::size_t used = 0;
  unsigned long long value = 0;
  try {
    if (text.empty() || text[0] == '-') throw std::invalid_argument(text);
    value = std::stoull(text, &used);
  } catch (const std::exception&) {
    throw std::invalid_argument("\"" + text + "\" is not a size in bytes");
  }
  const std::string suffix = text.substr(used);
  unsigned shift = 0;
  if (suffix == "K" || suffix == "k") shift = 10;
  if (suffix == "M" || suffix == "m") shift = 20;
  if (suffix == "G" || suffix == "g") shift = 30;
  if (shift == 0 && !suffix.empty()) throw std::invalid_argument("\"" + text + "\" has an unknown unit");
  if (value > (~0ULL >> 8U >> shift)) throw std::invalid_argument("\"" + text + "\" is too large");
  return static_cast<std::size_t>(value << shift);
}

CLI::Validator size_check() {
  return CLI::Validator(
      [](std::string& text) {
        try {
          text = std::to_string(size_of(text));
        } catch (const std::invalid_argument& error) {
          return std::string(error.what());
        }
        return std::string();
      },
      "BYTES");
}

}  // namespace

std::vector<std::size_t> size_range(const std::string& text, std::size_t default_min) {
  const auto colon = text.find(':');
  const std::size_t low = colon == std::string::npos ? default_min : size_of(text.substr(0, colon));
  const std::size_t high = size_of(colon == std::string::npos ? text : text.substr(colon + 1));
  if (low > high) throw std::invalid_argument("\"" + text + "\": the smallest size is above the largest");
  std::vector<std::size_t> sizes;
  for (std::size_t size = low; size < high; size = size == 0 ? 1 : size * 2) sizes.push_back(size);
  sizes.push_back(high);
  return sizes;
}

namespace {

/// What every program takes of the timed loop and of its messages.
void add_loop(CLI::App& app, const Program& program, Options& options) {
  app.add_option("-i,--iterations", options.iterations,
                 "iterations of the timed loop (default: OSU's, within --row-ms)")
      ->check(CLI::PositiveNumber);
  app.add_option("-x,--warmup", options.warmup, "iterations before it")->check(CLI::NonNegativeNumber);
  app.add_option("--row-ms", options.row_ms, "time for one row when -i is not given, ms")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_flag("--validate,!--no-validate", options.validate,
               "check a payload outside the timed part (default)");
  if (program.messages) {
    app.add_flag("--alloc-mem", options.alloc_mem,
                 "messages out of memory of MPI_Alloc_mem (native programs: stria_mem_alloc)");
  }
  if (program.rewrites) {
    app.add_flag("--rewrite", options.rewrite,
                 "each message is written before it is sent, and read where it came, in the timed part");
  }
  app.add_flag("--json", options.json, "print one JSON object a line");
}

/// The rows of the datatype benchmark.
void add_shapes(CLI::App& app, Options& options) {
  app.add_option("--cases", options.shapes.cases, "only these cases, as column or column:512")
      ->delimiter(',');
  app.add_option("--parameters", options.shapes.parameters, "only these parameters")->delimiter(',');
  app.add_option("--largest", options.shapes.largest, "only cases of at most so many bytes")
      ->transform(size_check());
  app.add_option("--seed", options.shapes.seed, "of irregular lengths, gaps and lists")
      ->capture_default_str()
      ->check(CLI::Range(1, 2147483646));
}

/// The rows of the matching benchmark.
void add_match_cases(CLI::App& app, Options& options) {
  std::vector<std::string> names;
  for (const MatchCase& one : kMatchCases) names.emplace_back(one.name);
  app.add_option("--cases", options.shapes.cases, fmt::format("of {}", fmt::join(names, ", ")))
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  app.add_option("--depths", options.depths,
                 fmt::format("receives or messages that lie before the window (default {})",
                             fmt::join(kUsualDepths, ",")))
      ->delimiter(',')
      ->check(CLI::Range(0L, kMostDepth));
}

/// The rows of the other benchmarks. `range`: what -m says, until settle() has read it.
void add_sizes(CLI::App& app, const Program& program, Options& options, std::string& range) {
  if (!program.usual_sizes.empty()) range.clear();
  auto* sizes = app.add_option("--sizes", options.sizes, "exactly these sizes, bytes")
                    ->delimiter(',')
                    ->transform(size_check());
  app.add_option("-m,--message-size", range,
                 program.usual_sizes.empty() ? "[MIN:]MAX, powers of two, bytes"
                                             : fmt::format("[MIN:]MAX, powers of two, bytes (default {})",
                                                           fmt::join(program.usual_sizes, ", ")))
      ->capture_default_str()
      ->excludes(sizes);
  if (!program.cases.empty()) {
    app.add_option("--cases", options.shapes.cases, fmt::format("of {}", fmt::join(program.cases, ", ")))
        ->delimiter(',')
        ->check(CLI::IsMember(program.cases));
  }
}

/// The ways of a row, and how many messages and processes there are.
void add_ways_and_counts(CLI::App& app, const Program& program, Options& options) {
  if (!program.ways.empty()) {
    app.add_option("--ways", options.ways, fmt::format("of {}", fmt::join(program.ways, ", ")))
        ->delimiter(',')
        ->check(CLI::IsMember(program.ways));
  }
  if (program.window) {
    app.add_option("-w,-W,--window-size", options.window, "messages in flight")
        ->capture_default_str()
        ->check(CLI::Range(1, 65536));
  }
  if (program.processes) {
    app.add_option("-n,--processes", options.processes, "processes to start, an even number")
        ->capture_default_str()
        ->check(CLI::Range(2, 64));
  }
}

/// Fills in what the command line leaves open, and checks what no option can check by itself. Throws
/// CLI::ValidationError.
void settle(const Program& program, Options& options, const std::string& range) {
  if (options.processes % 2 != 0) throw CLI::ValidationError("--processes", "the number must be even");
  if (options.ways.empty()) options.ways = program.usual_ways;
  if (options.depths.empty()) options.depths = kUsualDepths;
  try {
    if (program.datatype) check_cases(options.shapes);
  } catch (const std::invalid_argument& error) {
    throw CLI::ValidationError("--cases", error.what());
  }
  if (program.datatype || program.match || !options.sizes.empty()) return;
  try {
    options.sizes = range.empty() ? program.usual_sizes : size_range(range, program.min_size);
  } catch (const std::invalid_argument& error) {
    throw CLI::ValidationError("--message-size", error.what());
  }
}

}  // namespace

Parsed parse(int argc, char** argv, const Program& program, bool speaking) {
  Options options;
  std::string range = std::to_string(program.min_size) + ":" + std::to_string(program.max_size);
  CLI::App app{"stria osu_bench: " + program.title, program.name};
  add_loop(app, program, options);
  if (program.datatype)
    add_shapes(app, options);
  else if (program.match)
    add_match_cases(app, options);
  else
    add_sizes(app, program, options, range);
  add_ways_and_counts(app, program, options);
  try {
    app.parse(argc, argv);
    settle(program, options, range);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    if (speaking) {
      std::fputs(out.str().c_str(), stdout);
      std::fputs(err.str().c_str(), stderr);
    }
    return {std::nullopt, code};
  }
  return {options, 0};
}

}  // namespace stria::bench
