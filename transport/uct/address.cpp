#include "transport/uct/address.hpp"

#include <cstring>

#include "base/format.hpp"
#include "transport/fingerprint.hpp"
#include "transport/wire.hpp"

namespace stria::uct {
namespace {

constexpr std::size_t kNameMost = 16;  // of a transport's name, with its final zero

/// The part of fixed size at the beginning of an encoded address.
struct Fixed {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t wire_version;
  std::uint64_t instance;
  std::uint64_t worker;
  std::uint64_t check;
  Whereabouts where;
  std::uint32_t eager_bytes;
  std::uint32_t zcopy_bytes;
  std::uint8_t device_bytes;
  std::uint8_t interface_bytes;
  std::uint16_t port;  // TcpPlace::port, in network byte order
  std::uint8_t hosts;  // number of TcpPlace::hosts
  std::uint8_t reserved[3];
  char transport[kNameMost];  // ended by a zero
};
static_assert(sizeof(Fixed) == 96 && offsetof(Fixed, eager_bytes) == 64);

}  // namespace

std::uint64_t Address::expected_check(std::span<const std::byte> secret) const noexcept {
  return transport::fingerprint(secret, instance, worker);
}

Result<std::vector<std::byte>> encode_address(const Address& address) {
  const std::span<const std::byte> hosts = std::as_bytes(std::span(address.joining.hosts));
  const std::size_t bytes = sizeof(Fixed) + address.device.size() + address.interface.size() + hosts.size();
  if (bytes > kAddressMost || address.transport.size() >= kNameMost)
    return Error{Status::unsupported,
                 fmt::format("uct: the address of a device of transport {} has {} bytes, of at most {}",
                             address.transport, bytes, kAddressMost)};
  Fixed fixed{kMagic,
              kVersion,
              wire::kVersion,
              address.instance,
              address.worker,
              address.check,
              address.where,
              address.eager_bytes,
              address.zcopy_bytes,
              static_cast<std::uint8_t>(address.device.size()),
              static_cast<std::uint8_t>(address.interface.size()),
              address.joining.port,
              static_cast<std::uint8_t>(address.joining.hosts.size()),
              {},
              {}};
  address.transport.copy(fixed.transport, kNameMost - 1);
  std::vector<std::byte> out(sizeof fixed);
  std::memcpy(out.data(), &fixed, sizeof fixed);
  out.insert(out.end(), address.device.begin(), address.device.end());
  out.insert(out.end(), address.interface.begin(), address.interface.end());
  out.insert(out.end(), hosts.begin(), hosts.end());
  return out;
}

Result<Address> decode_address(std::span<const std::byte> bytes) {
  Fixed fixed{};
  if (bytes.size() >= sizeof fixed) std::memcpy(&fixed, bytes.data(), sizeof fixed);
  if (fixed.magic != kMagic)
    return Error{Status::invalid, fmt::format("uct: {} bytes are no address of a uct device", bytes.size())};
  if (fixed.version != kVersion || fixed.wire_version != wire::kVersion)
    return Error{
        Status::unreachable,
        fmt::format("uct: the peer's uct provider has version {} and wire version {}, this has {} and {}",
                    fixed.version, fixed.wire_version, kVersion, wire::kVersion)};
  const auto rest = bytes.subspan(sizeof fixed);
  const std::size_t host_bytes = std::size_t{fixed.hosts} * sizeof(std::uint32_t);
  if (rest.size() != std::size_t{fixed.device_bytes} + fixed.interface_bytes + host_bytes ||
      fixed.worker == 0 || fixed.eager_bytes == 0 || fixed.transport[kNameMost - 1] != '\0')
    return Error{Status::invalid,
                 fmt::format("uct: the address of a uct device is cut or spoilt, {} bytes", bytes.size())};
  Address out{fixed.instance,    fixed.worker,    fixed.check, fixed.where, fixed.eager_bytes,
              fixed.zcopy_bytes, fixed.transport, {},          {},          {fixed.port, {}}};
  const auto device = rest.first(fixed.device_bytes),
             interface = rest.subspan(fixed.device_bytes, fixed.interface_bytes);
  out.device.assign(device.begin(), device.end());
  out.interface.assign(interface.begin(), interface.end());
  out.joining.hosts.resize(fixed.hosts);
  if (fixed.hosts > 0) std::memcpy(out.joining.hosts.data(), rest.last(host_bytes).data(), host_bytes);
  return out;
}

}  // namespace stria::uct
