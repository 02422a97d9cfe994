#include "hw/machine/identity.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/processor.hpp"
#include "base/processor_identity.hpp"

namespace stria::hw {

Identity Identity::of_this_machine() {
  Identity found;
  utsname system{};
  if (::uname(&system) == 0) found.host = system.nodename, found.kernel = system.release;
  ProcessorIdentity processor_says = processor_identity();
  found.processor = std::move(processor_says.processor);
  found.hypervisor = std::move(processor_says.hypervisor);
  found.vectors = to_string(stria::processor().vectors);
  found.processors = ::sysconf(_SC_NPROCESSORS_CONF);
  return found;
}

std::uint64_t Identity::fingerprint() const noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    hash *= 0x100000001b3u;  // a zero byte: "ab" "c" is not "a" "bc"
  };
  for (const std::string* part : {&host, &processor, &hypervisor, &kernel, &vectors}) add(*part);
  for (long n = processors; n > 0; n /= 10)
    add(std::string_view("0123456789").substr(static_cast<std::size_t>(n % 10), 1));
  return hash;
}

std::string Identity::file_name() const {
  constexpr std::size_t kMost = 64;
  std::string name = host.substr(0, kMost);
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  std::ranges::replace_if(
      name, [&](char c) { return !is_plain(c); }, '_');
  return fmt::format("machine-{}-{:016x}", name.empty() ? "host" : name, fingerprint());
}

}  // namespace stria::hw
