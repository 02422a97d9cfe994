#include "base/processor_identity.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/fd.hpp"
#include "base/format.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stria {
namespace {

/// The first line of a file of the system, without what is not printable; "" where there is none.
std::string line_of(const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text;
  const ssize_t bytes = file ? ::read(file.get(), text.data(), text.size()) : -1;
  std::string line;
  for (ssize_t i = 0; i < bytes && text[static_cast<std::size_t>(i)] != '\n'; ++i)
    if (const char c = text[static_cast<std::size_t>(i)]; c >= ' ' && c <= '~') line += c;
  return line;
}

#if defined(__x86_64__)
using Registers = std::array<unsigned, 4>;  // eax, ebx, ecx, edx

Registers ask(unsigned leaf, unsigned part = 0) noexcept {
  Registers r{};
  __cpuid_count(leaf, part, r[0], r[1], r[2], r[3]);
  return r;
}

/// The bytes of registers that hold a text.
template <std::size_t N>
std::string text_of(const std::array<unsigned, N>& registers) {
  char text[N * sizeof(unsigned) + 1] = {};
  std::memcpy(text, registers.data(), N * sizeof(unsigned));
  std::string out;
  for (const char* c = text; *c != '\0'; ++c)
    if (*c >= ' ' && *c <= '~') out += *c;
  return out;
}

std::string processor_text() {
  const Registers first = ask(0), version = ask(1);
  std::string out = text_of(std::array{first[1], first[3], first[2]}) + fmt::format(" {:x}", version[0]);
  if (first[0] >= 7) {
    const Registers features = ask(7);
    out += fmt::format(" {:x} {:x} {:x}", features[1], features[2], features[3]);
  }
  constexpr unsigned kBrand = 0x80000002, kBrandLeaves = 3;
  if (ask(0x80000000)[0] < kBrand + kBrandLeaves - 1) return out;
  out += ' ';
  for (unsigned leaf = kBrand; leaf < kBrand + kBrandLeaves; ++leaf) out += text_of(ask(leaf));
  return out;
}

bool says_guest() noexcept {
  constexpr unsigned kGuest = 1u << 31;
  return (ask(1)[2] & kGuest) != 0;
}

std::string hypervisor_text() {
  constexpr unsigned kHypervisor = 0x40000000;
  if (!says_guest()) return {};
  const Registers name = ask(kHypervisor);
  return text_of(std::array{name[1], name[2], name[3]});
}
#else
std::string processor_text() {
  return line_of("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
}
bool says_guest() noexcept {
  return true;
}

std::string hypervisor_text() {
  return line_of("/sys/hypervisor/type");
}
#endif

}  // namespace

bool may_be_guest() noexcept {
  return says_guest();
}

ProcessorIdentity processor_identity() {
  ProcessorIdentity found{processor_text(), hypervisor_text()};
  // Of a guest, the product's name tells one kind of virtual machine from another.
  const std::string product = line_of("/sys/class/dmi/id/product_name");
  if (!found.hypervisor.empty() && !product.empty()) found.hypervisor += ", " + product;
  return found;
}

}  // namespace stria
