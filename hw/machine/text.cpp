#include "hw/machine/text.hpp"

#include <algorithm>
#include <charconv>

#include "base/format.hpp"
#include "hw/machine/figures.hpp"

namespace stria::hw {
namespace {

constexpr std::string_view kFirstLine = "stria machine profile 3";
constexpr double kMostNs = 1e9;

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// The whole text is a number.
template <class Number, class... Base>
bool read_number(std::string_view text, Number& out, Base... base) noexcept {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out, base...);
  return read.ec == std::errc() && read.ptr == end;
}

/// Takes the next line off the text, without its end.
std::string_view take_line(std::string_view& text) noexcept {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

bool read_figure(std::string_view name, std::string_view value, Machine& machine) {
  bool done = false;
  for_each_figure(machine, [&](const std::string& known, const FigureText&, double& figure) {
    done |= name == known && figure == 0 && read_number(value, figure) && figure > 0 && figure < kMostNs;
  });
  return done;
}

bool read_line(std::string_view line, StoredProfile& record) {
  const auto blank = line.find(' ');
  if (blank == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, blank), value = line.substr(blank + 1);
  if (name == "fingerprint") return read_number(value, record.fingerprint, 16);
  if (name == "tries") return read_number(value, record.tries);
  if (name == "when") return read_number(value, record.when);
  if (name == "complete") {
    record.complete = value == "1";
    return record.complete || value == "0";
  }
  return read_figure(name, value, record.machine);
}

}  // namespace

std::string to_text(const StoredProfile& record) {
  std::string text = fmt::format("{}\nfingerprint {:016x}\ntries {}\nwhen {}\ncomplete {}\n", kFirstLine,
                                 record.fingerprint, record.tries, record.when, record.complete ? 1 : 0);
  for_each_figure(record.machine, [&](const std::string& name, const FigureText&, double value) {
    if (value > 0 && value < kMostNs) text += fmt::format("{} {:.4g}\n", name, value);
  });
  return text + fmt::format("end {:016x}\n", hash_of(text));
}

std::optional<StoredProfile> parse_profile(std::string_view text) {
  if (text.size() > kLongestText || !text.ends_with('\n')) return std::nullopt;
  const auto end = text.rfind("end ");
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(end + 4), lines = text.substr(0, end);
  std::uint64_t hash = 0;
  if (!read_number(take_line(rest), hash, 16) || !rest.empty() || hash != hash_of(lines)) return std::nullopt;
  if (take_line(lines) != kFirstLine) return std::nullopt;
  StoredProfile record;
  while (!lines.empty())
    if (!read_line(take_line(lines), record)) return std::nullopt;
  return record;
}

}  // namespace stria::hw
