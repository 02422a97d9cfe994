#include "hw/machine/processors.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/fd.hpp"
#include "base/format.hpp"

namespace stria::hw {
namespace {

constexpr unsigned kMost = 8192;  // the most that Linux is built for

std::vector<unsigned> list_in(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text;
  const ssize_t bytes = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (bytes <= 0) return {};
  return parse_processors(std::string(text.data(), static_cast<std::size_t>(bytes)));
}

bool has(const std::vector<unsigned>& list, unsigned processor) noexcept {
  return std::ranges::find(list, processor) != list.end();
}

}  // namespace

std::vector<unsigned> parse_processors(const std::string& text) {
  std::vector<unsigned> out;
  const char* at = text.c_str();
  const auto number = [&](unsigned& value) {
    if (*at < '0' || *at > '9') return false;
    for (value = 0; *at >= '0' && *at <= '9'; ++at)
      if (value < kMost) value = value * 10 + static_cast<unsigned>(*at - '0');
    return value < kMost;
  };
  for (;; ++at) {
    unsigned first = 0, last = 0;
    if (!number(first)) return {};
    last = first;
    if (*at == '-' && (++at, !number(last))) return {};
    for (; first <= last; ++first) out.push_back(first);
    if (*at != ',') break;
  }
  return *at == '\0' || *at == '\n' ? out : std::vector<unsigned>{};
}

std::vector<unsigned> permitted_processors() {
  alignas(cpu_set_t) unsigned char bits[kMost / 8];
  auto* const set = reinterpret_cast<cpu_set_t*>(bits);
  std::memset(bits, 0xff, sizeof bits);
  ::sched_setaffinity(0, sizeof bits, set);  // the kernel takes away what is not permitted
  std::memset(bits, 0, sizeof bits);
  std::vector<unsigned> out;
  if (::sched_getaffinity(0, sizeof bits, set) != 0) return out;
  for (unsigned processor = 0; processor < kMost; ++processor)
    if (CPU_ISSET_S(processor, sizeof bits, set)) out.push_back(processor);
  return out;
}

Neighbours neighbours_of(unsigned processor) {
  const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}", processor);
  return {list_in(folder + "/topology/thread_siblings_list"),
          list_in(folder + "/cache/index3/shared_cpu_list")};
}

Partners choose_partners(unsigned own, const std::vector<unsigned>& permitted, const Neighbours& neighbours) {
  Partners out;
  std::vector<unsigned> others;  // of other cores, beginning behind `own`
  for (const unsigned processor : permitted)
    if (processor != own && !has(neighbours.core, processor)) others.push_back(processor);
  std::ranges::rotate(others, std::ranges::upper_bound(others, own));
  const auto first_that = [&](bool shares) -> std::optional<unsigned> {
    const auto found = std::ranges::find_if(
        others, [&](unsigned processor) { return has(neighbours.cache, processor) == shares; });
    return found == others.end() ? std::nullopt : std::optional(*found);
  };
  if (!neighbours.cache.empty()) return {first_that(true), first_that(false)};
  if (others.empty()) return out;
  out.near = others.front();
  if (others.size() > 1) out.far = others[others.size() / 2];
  return out;
}

}  // namespace stria::hw
