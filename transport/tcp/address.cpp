#include "transport/tcp/address.hpp"

#include <cstring>

#include "base/format.hpp"
#include "transport/fingerprint.hpp"
#include "transport/wire.hpp"

namespace stria::tcp {
namespace {

struct Head {
  std::uint32_t magic = 0x43545453;  // "STTC"
  std::uint16_t version = 2;
  std::uint16_t wire_version = wire::kVersion;
  std::uint64_t check = 0;  // fingerprint of all that follows, under the job's secret
  std::uint64_t worker = 0;
  std::uint64_t instance = 0;
  std::uint64_t host = 0;
  std::uint32_t net_space = 0;
  std::uint32_t eager_max = 0;
  std::uint16_t port = 0;
  std::uint8_t v4 = 0;  // number of 4-byte addresses behind the head
  std::uint8_t v6 = 0;  // number of 16-byte addresses behind those of 4 bytes
  std::uint32_t reserved = 0;
  Ticket ticket{};
};
static_assert(sizeof(Head) == 72);

std::uint64_t check_of(std::span<const std::byte> bytes, std::span<const std::byte> secret) noexcept {
  const std::span<const std::byte> checked = bytes.subspan(offsetof(Head, worker));
  return transport::fingerprint(checked, transport::fingerprint(secret, 0, 0), checked.size());
}

Error none(const char* why) {
  return Error{Status::invalid, fmt::format("tcp: not an address of this provider: {}", why)};
}

}  // namespace

std::vector<std::byte> encode(const Address& address, std::span<const std::byte> secret) {
  Head head;
  head.worker = address.worker;
  head.instance = address.instance;
  head.host = address.host;
  head.net_space = address.net_space;
  head.eager_max = address.eager_max;
  head.port = address.port;
  head.ticket = address.ticket;
  std::vector<std::byte> v4, v6;
  for (const Ip& ip : address.ips) {
    const auto bytes = ip.bytes();
    if (sizeof head + v4.size() + v6.size() + bytes.size() > kAddressMost) break;
    (ip.is_v6() ? v6 : v4).insert((ip.is_v6() ? v6 : v4).end(), bytes.begin(), bytes.end());
    ++(ip.is_v6() ? head.v6 : head.v4);
  }
  std::vector<std::byte> out(sizeof head);
  std::memcpy(out.data(), &head, sizeof head);
  out.insert(out.end(), v4.begin(), v4.end());
  out.insert(out.end(), v6.begin(), v6.end());
  head.check = check_of(out, secret);
  std::memcpy(out.data(), &head, sizeof head);
  return out;
}

Result<Address> decode(std::span<const std::byte> bytes, std::span<const std::byte> secret) {
  Head head;
  if (bytes.size() < sizeof head || bytes.size() > kAddressMost) return none("it has another length");
  const Head own;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != own.magic) return none("it begins otherwise");
  if (head.version != own.version || head.wire_version != own.wire_version)
    return none("it is of another version of stria");
  if (bytes.size() != sizeof head + std::size_t{4} * head.v4 + std::size_t{16} * head.v6)
    return none("it has another length");
  if (head.check != check_of(bytes, secret))
    return Error{Status::unreachable,
                 "tcp: the address is of a worker with another job secret, or was changed"};
  Address out{head.worker,    head.instance, head.host,   head.net_space,
              head.eager_max, head.port,     head.ticket, {}};
  std::span<const std::byte> rest = bytes.subspan(sizeof head);
  for (unsigned i = 0; i < head.v4 + head.v6; ++i) {
    const std::size_t length = i < head.v4 ? 4 : 16;
    out.ips.push_back(*Ip::of(rest.first(length)));
    rest = rest.subspan(length);
  }
  if (out.worker == 0 || out.instance == 0 || out.port == 0 || out.ips.empty())
    return none("it names no place to connect to");
  return out;
}

}  // namespace stria::tcp
