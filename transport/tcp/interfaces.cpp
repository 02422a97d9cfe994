#include "transport/tcp/interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "base/format.hpp"

namespace stria::tcp {
namespace {

unsigned bits_of(const sockaddr* mask, unsigned most) noexcept {
  const auto ip = Ip::of(mask);
  if (!ip) return most;
  unsigned bits = 0;
  for (const std::byte byte : ip->bytes())
    bits += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(byte)));
  return bits;
}

}  // namespace

Result<std::vector<OwnAddress>> list_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0)
    return Error{Status::io_error,
                 fmt::format("tcp: the network interfaces cannot be listed: {}", std::strerror(errno))};
  std::vector<OwnAddress> out;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const auto ip = (one->ifa_flags & IFF_UP) == 0 ? std::nullopt : Ip::of(one->ifa_addr);
    if (!ip) continue;
    const auto most = static_cast<unsigned>(8 * ip->bytes().size());
    out.push_back({one->ifa_name, {*ip, bits_of(one->ifa_netmask, most)}});
  }
  ::freeifaddrs(list);
  return out;
}

std::uint32_t interface_speed(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  std::int64_t speed = 0;  // below 0: the driver does not know it
  return file >> speed && speed > 0 ? static_cast<std::uint32_t>(std::min<std::int64_t>(speed, UINT32_MAX))
                                    : 0;
}

bool InterfaceChoice::Entry::matches(const OwnAddress& address) const noexcept {
  return name.empty() ? network.holds(address.network.ip) : name == address.interface;
}

Result<InterfaceChoice> InterfaceChoice::parse(std::string_view text) {
  InterfaceChoice out;
  out.text_ = text;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    std::string_view word = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const bool unwanted = word.starts_with('!');
    if (unwanted) word.remove_prefix(1);
    Entry entry;
    if (const auto network = Network::parse(word))
      entry.network = *network;
    else if (word.empty() || word.find('/') != std::string_view::npos)
      return Error{Status::invalid,
                   fmt::format("tcp: STRIA_TCP_INTERFACES={}: '{}' is neither the name of an "
                               "interface nor a network, such as 10.0.0.0/8",
                               text, word)};
    else
      entry.name = word;
    (unwanted ? out.unwanted_ : out.wanted_).push_back(std::move(entry));
  }
  return out;
}

Result<std::vector<OwnAddress>> InterfaceChoice::of(const std::vector<OwnAddress>& all) const {
  const auto any_of = [](const std::vector<Entry>& entries, const OwnAddress& address) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const Entry& entry) { return entry.matches(address); });
  };
  std::vector<OwnAddress> out, loopback;
  for (const OwnAddress& address : all) {
    if (any_of(unwanted_, address) || (!wanted_.empty() && !any_of(wanted_, address))) continue;
    (wanted_.empty() && address.network.ip.is_loopback() ? loopback : out).push_back(address);
  }
  if (out.empty()) out = std::move(loopback);
  if (!out.empty()) return out;
  std::string names;
  for (const OwnAddress& address : all)
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", address.interface, address.network.ip.text());
  return Error{
      Status::unsupported,
      fmt::format("tcp: STRIA_TCP_INTERFACES={} leaves no address by which peers could reach this host, "
                  "which has: {}",
                  text_, names.empty() ? "none" : names)};
}

Result<PortRange> PortRange::parse(std::string_view text) {
  PortRange out;
  if (text.empty()) return out;
  const auto number = [](std::string_view digits, std::uint16_t& value) {
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return problem == std::errc() && end == digits.data() + digits.size() && value != 0;
  };
  const std::size_t dash = text.find('-');
  const std::string_view last = dash == std::string_view::npos ? text : text.substr(dash + 1);
  if (!number(text.substr(0, dash), out.first) || !number(last, out.last) || out.last < out.first)
    return Error{Status::invalid,
                 fmt::format("tcp: STRIA_TCP_PORTS={}: not a range of ports, such as 40000-40100", text)};
  return out;
}

}  // namespace stria::tcp
