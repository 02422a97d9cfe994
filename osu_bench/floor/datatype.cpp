// What plain loops take for the cases of osu_datatype: gathering and scattering by one core, both at the same
// time by two (two_cores.hpp), and a memcpy of as many bytes. The rows have osu_datatype's columns.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "osu_bench/common/options.hpp"
#include "osu_bench/common/report.hpp"
#include "osu_bench/common/shape.hpp"
#include "osu_bench/floor/two_cores.hpp"

namespace {
using namespace stria::bench;

class Floor {
 public:
  Floor(const Case& shape, const Options& options, const Report& report, const std::vector<int>& on)
      : shape_(shape),
        options_(options),
        report_(report),
        on_(on),
        bytes_(static_cast<std::size_t>(shape.sent.size())),
        sent_(shape.sent),
        received_(shape.received) {}

  /// Whether every payload was right.
  bool run(const std::string& way) {
    if (way == "two-core") return on_.size() < 2 || two_cores();
    Buffer packed(bytes_);
    Buffer memory(static_cast<std::size_t>(std::max(shape_.sent.end(), shape_.received.end())));
    bind_to(on_[0]);
    if (way == "copy") {
      fill_pattern(packed.data(), bytes_, 1);
      return alone(
          way, [&] { std::memcpy(memory.data(), packed.data(), bytes_); },
          [&] { return has_pattern(memory.data(), bytes_, 1); });
    }
    if (way == "gather") {
      const auto parts = sent_.fragments({shape_.sent.size()});
      fill_shape(shape_.sent, memory.data(), 1);
      return alone(
          way, [&] { sent_.gather(parts[0], memory.data(), packed.data()); },
          [&] { return has_pattern(packed.data(), bytes_, 1); });
    }
    const auto parts = received_.fragments({shape_.received.size()});
    fill_pattern(packed.data(), bytes_, 1);
    return alone(
        way, [&] { received_.scatter(parts[0], packed.data(), memory.data()); },
        [&] { return shape_is_right(shape_.received, memory.data(), 1); });
  }

 private:
  double budget_ns() const { return options_.row_ms * 1e6; }

  template <class Step, class Right>
  bool alone(const std::string& way, Step step, Right is_right) {
    const Summary ns = repeat(budget_ns(), 3, [&] {
      step();
      asm volatile("" ::: "memory");
    });
    const bool right = !options_.validate || is_right();
    row(way, ns, 1, right, {});
    return right;
  }

  /// The best of three lengths of fragments.
  bool two_cores() {
    Buffer out[2], in[2];
    Sides sides{};
    for (std::size_t i = 0; i < 2; ++i) {
      out[i] = Buffer(static_cast<std::size_t>(shape_.sent.end()));
      in[i] = Buffer(static_cast<std::size_t>(shape_.received.end()));
      fill_shape(shape_.sent, out[i].data(), i + 1);
      sides.out[i] = out[i].data();
      sides.in[i] = in[i].data();
    }
    std::optional<Summary> best;
    Distances distances;
    bool right = true;
    for (const std::int64_t fragment :
         {std::int64_t{32} << 10, std::int64_t{8} << 10, std::int64_t{2} << 10}) {
      if (best && fragment >= shape_.sent.size()) continue;  // one fragment again
      TwoCores pair(sent_, received_, sides, fragment, {on_[0], on_[1]});
      const double before = pair.line_ns();
      const Summary ns = repeat(budget_ns() / 3, 3, [&] { pair.exchange(); });
      const double after = pair.line_ns();
      if (!best || ns.median < best->median) {
        best = ns;
        distances = {before / 1e3, after / 1e3};
      }
      if (!options_.validate) continue;
      for (std::byte* memory : sides.in) clear_shape(shape_.received, memory);
      pair.exchange();
      right = right && shape_is_right(shape_.received, sides.in[0], 2) &&
              shape_is_right(shape_.received, sides.in[1], 1);
    }
    row("two-core", *best, 2, right, distances);
    return right;
  }

  void row(const std::string& way, const Summary& ns, int parts, bool right, Distances distances) const {
    const double us = 1e3 * parts;
    report_.row({shape_.name, std::int64_t{shape_.parameter}, way, shape_.sent.size(), ns.average / us,
                 ns.min / us, ns.median / us, ns.p99 / us, static_cast<std::int64_t>(ns.samples), right,
                 distances.before, distances.after});
  }

  const Case& shape_;
  const Options& options_;
  const Report& report_;
  const std::vector<int>& on_;
  std::size_t bytes_;
  Loops sent_;
  Loops received_;
};

}  // namespace

int main(int argc, char** argv) {
  Program program{.name = "osu_datatype_floor", .title = "Plain loops for derived datatypes (no messages)"};
  program.messages = false;
  program.datatype = true;
  program.ways = program.usual_ways = {"two-core", "gather", "scatter", "copy"};
  const Parsed parsed = parse(argc, argv, program, true);
  if (!parsed.options) return parsed.exit_code;
  const Options& options = *parsed.options;
  const Report report(program, options, datatype_columns(), true);
  const std::vector<int> on = cores();
  report.header(
      {{"cores", std::to_string(on.size() < 2 ? 1 : 2) + " of " + std::to_string(on.size()) + " used"},
       {"seed", std::to_string(options.shapes.seed)}});
  bool right = true;
  for (const Case& shape : datatype_cases(options.shapes)) {
    Floor floor(shape, options, report, on);
    for (const std::string& way : options.ways) right = floor.run(way) && right;
  }
  return right ? 0 : 1;
}
