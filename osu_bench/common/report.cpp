#include "osu_bench/common/report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "osu_bench/common/machine.hpp"

namespace stria::bench {
namespace {

constexpr int kFirstWidth = 12;  // OSU: sizes to the left, figures to the right
constexpr int kWidth = 18;

std::string text_of(const Value& value, int digits) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:.{}f}", *real, digits);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return std::get<bool>(value) ? "Pass" : "FAIL";
}

void print_line(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

Report::Report(const Program& program, const Options& options, std::vector<Column> columns, bool speaking)
    : program_(program),
      columns_(std::move(columns)),
      json_(options.json),
      validate_(options.validate),
      speaking_(speaking) {}

void Report::header(const Environment& environment) const {
  if (!speaking_) return;
  Environment all = {{"commit", commit()}, {"compiler", compiler()}, {"cpu", cpu()}};
  all.insert(all.end(), environment.begin(), environment.end());
  if (json_) {
    nlohmann::ordered_json line = {
        {"record", "header"}, {"benchmark", program_.name}, {"title", program_.title}};
    for (const auto& [key, value] : all) line[key] = value;
    print_line(line.dump());
    return;
  }
  print_line("# stria osu_bench " + program_.title);
  for (const auto& [key, value] : all) print_line(fmt::format("# {}: {}", key, value));
  std::string titles;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].hidden) continue;
    titles += i == 0 ? fmt::format("{:<{}}", "# " + columns_[i].title, kFirstWidth)
                     : fmt::format("{:>{}}", columns_[i].title, kWidth);
  }
  print_line(titles);
}

void Report::row(const std::vector<Value>& values) const {
  if (!speaking_) return;
  if (json_) {
    nlohmann::ordered_json line = {{"record", "row"}, {"benchmark", program_.name}};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].key == "valid" && !validate_) continue;
      std::visit([&](const auto& value) { line[columns_[i].key] = value; }, values[i]);
    }
    print_line(line.dump());
    return;
  }
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].hidden) continue;
    const bool skipped = columns_[i].key == "valid" && !validate_;
    const std::string text = skipped ? "-" : text_of(values[i], columns_[i].digits);
    line += i == 0 ? fmt::format("{:<{}}", text, kFirstWidth) : fmt::format("{:>{}}", text, kWidth);
  }
  print_line(line);
}

}  // namespace stria::bench
