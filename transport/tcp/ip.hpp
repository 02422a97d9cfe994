// Addresses of the Internet Protocol, version 4 or 6, and networks of them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stria::tcp {

class Ip {
 public:
  Ip() = default;
  /// The address in a socket address. None: it is null or of another family, or an IPv6 link-local address,
  /// which names no host without an interface. An IPv4 address in IPv6 form, as IPv6 sockets give it, becomes
  /// IPv4.
  static std::optional<Ip> of(const sockaddr* address) noexcept;
  /// None: `text` is no address.
  static std::optional<Ip> parse(std::string_view text);
  /// An address from 4 or 16 bytes in network byte order. None: `bytes` has another length.
  static std::optional<Ip> of(std::span<const std::byte> bytes) noexcept;

  bool is_v6() const noexcept { return v6_; }
  bool is_loopback() const noexcept;
  std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), v6_ ? 16u : 4u}; }
  std::string text() const;
  bool operator==(const Ip&) const = default;

 private:
  bool v6_ = false;
  std::array<std::byte, 16> bytes_{};
};

/// An address and a port in the form of system calls. `port` is in host byte order.
class SocketAddress {
 public:
  SocketAddress(const Ip& ip, std::uint16_t port) noexcept;
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t bytes() const noexcept { return bytes_; }

 private:
  sockaddr_storage storage_{};
  socklen_t bytes_ = 0;
};

/// All addresses whose first `bits` bits are those of `ip`.
struct Network {
  Ip ip;
  unsigned bits = 0;
  bool holds(const Ip& other) const noexcept;
  /// Parses a network such as "10.0.0.0/8"; an address alone is a network of itself. None: `text` is neither.
  static std::optional<Network> parse(std::string_view text);
};

}  // namespace stria::tcp
