// One benchmark's output: a header that says what the figures depend on, then a row a line, as OSU prints
// them or as JSON. Rows are written and flushed at once, so that a reader sees progress.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "osu_bench/common/options.hpp"

namespace stria::bench {

struct Column {
  std::string key;      ///< JSON member
  std::string title;    ///< heading, unit included
  int digits = 2;       ///< decimals of a real number
  bool hidden = false;  ///< for JSON alone
};
using Value = std::variant<std::int64_t, double, std::string, bool>;

/// What the header says besides commit, compiler and processor: "MPI" -> "Open MPI 4.1.4", …
using Environment = std::vector<std::pair<std::string, std::string>>;

/// How far apart the processes were before and after a row, for those who compare rows.
inline std::vector<Column> with_distance(std::vector<Column> columns) {
  columns.push_back({"line_us", "", 3, true});
  columns.push_back({"line_after_us", "", 3, true});
  return columns;
}

class Report {
 public:
  /// A report that prints nothing when not `speaking` (all ranks but the first).
  Report(const Program& program, const Options& options, std::vector<Column> columns, bool speaking);

  void header(const Environment& environment) const;
  /// One value a column.
  void row(const std::vector<Value>& values) const;

 private:
  Program program_;
  std::vector<Column> columns_;
  bool json_;
  bool validate_;
  bool speaking_;
};

}  // namespace stria::bench
