#include "hw/machine/processors.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include "base/fd.hpp"
#include "base/format.hpp"

namespace stria::hw {
namespace {

constexpr unsigned kMost = 8192;  // the most that Linux is built for

/// The beginning of a file of the system; "" where there is none.
std::string system_file_text(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text;
  const ssize_t bytes = file ? ::read(file.get(), text.data(), text.size()) : -1;
  return bytes > 0 ? std::string(text.data(), static_cast<std::size_t>(bytes)) : std::string();
}

/// A set of processors in the kernel's form.
struct Mask {
  alignas(cpu_set_t) unsigned char bits[kMost / 8] = {};
  cpu_set_t* set() noexcept { return reinterpret_cast<cpu_set_t*>(bits); }
};

/// The processors that the calling thread is bound to.
std::vector<unsigned> current() {
  Mask mask;
  std::vector<unsigned> out;
  if (::sched_getaffinity(0, sizeof mask.bits, mask.set()) != 0) return out;
  for (unsigned processor = 0; processor < kMost; ++processor)
    if (CPU_ISSET_S(processor, sizeof mask.bits, mask.set())) out.push_back(processor);
  return out;
}

void bind_thread(const std::vector<unsigned>& processors) noexcept {
  Mask mask;
  for (const unsigned processor : processors)
    if (processor < kMost) CPU_SET_S(processor, sizeof mask.bits, mask.set());
  ::sched_setaffinity(0, sizeof mask.bits, mask.set());
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

ScopedBinding::ScopedBinding() : before_(current()) {
  const int here = ::sched_getcpu();
  own_ = here < 0 ? 0 : static_cast<unsigned>(here);
  permitted_ = before_;
  if (before_.size() < 2) {
    std::vector<unsigned> all(kMost);
    std::iota(all.begin(), all.end(), 0u);
    bind_thread(all);  // the kernel takes away what is not permitted
    permitted_ = current();
  }
  bind_thread({own_});
}

ScopedBinding::~ScopedBinding() {
  bind_thread(before_);
}

bool processors_are_busy() {
  // "0.20 0.18 0.12 1/80 11206": the fourth is of threads that run, or would if they could.
  const std::string load = system_file_text("/proc/loadavg");
  unsigned running = 0;
  const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  return std::sscanf(load.c_str(), "%*s %*s %*s %u/", &running) == 1 &&
         static_cast<long>(running) > processors + (processors + 3) / 4;
}

Neighbours neighbours_of(unsigned processor) {
  const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}", processor);
  return {parse_processors(system_file_text(folder + "/topology/thread_siblings_list")),
          parse_processors(system_file_text(folder + "/cache/index3/shared_cpu_list"))};
}

Partners choose_partners(unsigned own, const std::vector<unsigned>& permitted, const Neighbours& neighbours) {
  Partners out;
  std::vector<unsigned> others;  // of other cores, beginning behind `own`
  for (const unsigned processor : permitted)
    if (processor != own && !has(neighbours.core, processor)) others.push_back(processor);
  std::rotate(others.begin(), std::ranges::upper_bound(others, own), others.end());
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
