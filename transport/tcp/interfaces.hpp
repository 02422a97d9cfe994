// The addresses by which peers may reach this host, and the ports that a process may listen on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "transport/tcp/ip.hpp"

namespace stria::tcp {

/// An address of an interface that is up; `network.ip` is the address itself.
struct OwnAddress {
  std::string interface;
  Network network;
};
/// All of this network namespace, those of the loopback interface too.
Result<std::vector<OwnAddress>> list_addresses();
/// In Mb/s, as the system tells it; 0: it does not. Reads a file of sysfs.
std::uint32_t interface_speed(const std::string& interface);

/// Which of them peers are told: STRIA_TCP_INTERFACES.
class InterfaceChoice {
 public:
  /// Error: an entry is empty, or it is a network that makes no sense.
  static Result<InterfaceChoice> parse(std::string_view text);
  /// Error: none is left, which names the interfaces that there are.
  Result<std::vector<OwnAddress>> of(const std::vector<OwnAddress>& all) const;

 private:
  struct Entry {
    std::string name;  // of an interface; empty: `network` is meant
    Network network;
    bool matches(const OwnAddress& address) const noexcept;
  };
  std::string text_;
  std::vector<Entry> wanted_;
  std::vector<Entry> unwanted_;
};

/// STRIA_TCP_PORTS. Both ends are included; 0 and 0: any port.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  static Result<PortRange> parse(std::string_view text);
};

}  // namespace stria::tcp
