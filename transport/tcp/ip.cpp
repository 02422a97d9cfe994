#include "transport/tcp/ip.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace stria::tcp {

std::optional<Ip> Ip::of(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != 4 && bytes.size() != 16) return std::nullopt;
  Ip out;
  out.v6_ = bytes.size() == 16;
  std::copy(bytes.begin(), bytes.end(), out.bytes_.begin());
  return out;
}

std::optional<Ip> Ip::of(const sockaddr* address) noexcept {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return of(std::as_bytes(std::span(&v4.sin_addr, 1)));
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) return std::nullopt;
  const auto bytes = std::as_bytes(std::span(&v6.sin6_addr, 1));
  return of(IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) ? bytes.last(4) : bytes);
}

std::optional<Ip> Ip::parse(std::string_view text) {
  const std::string copy(text);
  std::array<std::byte, 16> bytes{};
  if (::inet_pton(AF_INET, copy.c_str(), bytes.data()) == 1) return of(std::span(bytes).first(4));
  if (::inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) return of(std::span<const std::byte>(bytes));
  return std::nullopt;
}

bool Ip::is_loopback() const noexcept {
  if (!v6_) return bytes_[0] == std::byte{127};
  in6_addr address{};
  std::memcpy(&address, bytes_.data(), sizeof address);
  return IN6_IS_ADDR_LOOPBACK(&address);
}

std::string Ip::text() const {
  char out[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(v6_ ? AF_INET6 : AF_INET, bytes_.data(), out, sizeof out);
  return out;
}

SocketAddress::SocketAddress(const Ip& ip, std::uint16_t port) noexcept {
  if (ip.is_v6()) {
    sockaddr_in6 out{};
    out.sin6_family = AF_INET6;
    out.sin6_port = htons(port);
    std::memcpy(&out.sin6_addr, ip.bytes().data(), sizeof out.sin6_addr);
    bytes_ = sizeof out;
    std::memcpy(&storage_, &out, sizeof out);
  } else {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    std::memcpy(&out.sin_addr, ip.bytes().data(), sizeof out.sin_addr);
    bytes_ = sizeof out;
    std::memcpy(&storage_, &out, sizeof out);
  }
}

bool Network::holds(const Ip& other) const noexcept {
  if (ip.is_v6() != other.is_v6()) return false;
  const std::span<const std::byte> own = ip.bytes(), given = other.bytes();
  const std::size_t whole = bits / 8;
  if (!std::equal(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(whole), given.begin())) return false;
  const unsigned rest = bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::byte>(0xffu << (8 - rest));
  return (own[whole] & mask) == (given[whole] & mask);
}

std::optional<Network> Network::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto ip = Ip::parse(text.substr(0, slash));
  if (!ip) return std::nullopt;
  const auto most = static_cast<unsigned>(8 * ip->bytes().size());
  if (slash == std::string_view::npos) return Network{*ip, most};
  const std::string_view digits = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (problem != std::errc() || end != digits.data() + digits.size() || bits > most) return std::nullopt;
  return Network{*ip, bits};
}

}  // namespace stria::tcp
