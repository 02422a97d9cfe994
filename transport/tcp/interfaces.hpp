// The addresses by which peers may reach this host, and the ports that a process may listen on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "transport/tcp/ip.hpp"

namespace stria::tcp {

/// An address of an interface that is up. `network.ip` is the address itself, `network.bits` the length of
/// its prefix.
struct OwnAddress {
  std::string interface;
  Network network;
};
/// The addresses of all interfaces that are up in this network namespace, also of the loopback interface.
/// IPv6 link-local addresses are left out. Error: io_error.
Result<std::vector<OwnAddress>> list_addresses();
/// The speed of an interface in Mb/s; 0: the system does not tell it. Reads a file of sysfs.
std::uint32_t interface_speed(const std::string& interface);

/// Which addresses of this host peers are told, by STRIA_TCP_INTERFACES.
class InterfaceChoice {
 public:
  /// Parses the text of the variable. Error: invalid, an entry is empty, or has a slash and is no network.
  static Result<InterfaceChoice> parse(std::string_view text);
  /// The addresses of `all` that peers are told. Error: unsupported, none is left; the text names the
  /// addresses there are.
  Result<std::vector<OwnAddress>> of(const std::vector<OwnAddress>& all) const;

 private:
  struct Entry {
    std::string name;  // of an interface; empty: the entry is `network`
    Network network;
    bool matches(const OwnAddress& address) const noexcept;
  };
  std::string text_;
  std::vector<Entry> wanted_;
  std::vector<Entry> unwanted_;
};

/// The ports of STRIA_TCP_PORTS, both ends included; 0 and 0: any port.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  /// Error: invalid, the text is no range of ports.
  static Result<PortRange> parse(std::string_view text);
};

}  // namespace stria::tcp
