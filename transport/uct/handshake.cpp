#include "transport/uct/handshake.hpp"

#include <cstring>
#include <utility>

#include "transport/fingerprint.hpp"
#include "transport/wire.hpp"

namespace stria::uct {
namespace {

template <class Message>
std::span<const std::byte> bytes_of_object(const Message& message, std::size_t bytes) noexcept {
  return {reinterpret_cast<const std::byte*>(&message), bytes};
}

}  // namespace

/// The keyed hash of `message`, whose proof field is 0. Both ends compute it with the sender as `from`.
std::uint64_t Handshake::proof(std::span<const std::byte> message, End from, End to) const noexcept {
  return transport::fingerprint(message, transport::fingerprint(secret_, from.instance, to.instance),
                                transport::fingerprint(secret_, from.worker, to.worker));
}

Hello Handshake::hello(const Address& peer, Prefix reply, std::span<const std::byte> own) const noexcept {
  Hello out;
  out.who = {{0, ControlKind::hello}, reply.bits(), worker_, peer.worker, 0};
  out.wire_version = wire::kVersion;
  out.address_bytes = static_cast<std::uint32_t>(own.size());
  std::memcpy(out.address, own.data(), own.size());
  out.who.proof =
      proof(bytes_of_object(out, bytes_of(out)), {worker_, instance_}, {peer.worker, peer.instance});
  return out;
}

Welcome Handshake::welcome(const Address& peer, Prefix at_peer, Prefix reply) const noexcept {
  Welcome out{{at_peer.bits(), ControlKind::welcome}, reply.bits(), worker_, peer.worker, 0};
  out.proof = proof(bytes_of_object(out, sizeof out), {worker_, instance_}, {peer.worker, peer.instance});
  return out;
}

Join Handshake::join(ControlKind kind, const Address& peer, std::span<const std::byte> own,
                     std::span<const std::byte> endpoint) const noexcept {
  Join out;
  out.who = {{0, kind}, 0, worker_, peer.worker, 0};
  out.wire_version = wire::kVersion;
  out.address_bytes = static_cast<std::uint32_t>(own.size());
  out.endpoint_bytes = static_cast<std::uint32_t>(endpoint.size());
  std::memcpy(out.address, own.data(), own.size());
  if (!endpoint.empty()) std::memcpy(out.endpoint, endpoint.data(), endpoint.size());
  out.who.proof = proof(bytes_of_object(out, sizeof out), {worker_, instance_}, {peer.worker, peer.instance});
  return out;
}

bool Handshake::read(const Join& join, ControlKind kind, Address& from) const {
  if (join.who.control.kind != kind || join.who.control.magic != kMagic || join.version != kVersion ||
      join.wire_version != wire::kVersion || join.who.to != worker_ || join.address_bytes > kAddressMost ||
      join.endpoint_bytes > kEndpointMost)
    return false;
  auto address = decode_address({join.address, join.address_bytes});
  if (!address || address->worker != join.who.from) return false;
  from = *std::move(address);
  Join plain = join;
  plain.who.proof = 0;
  return join.who.proof ==
         proof(bytes_of_object(plain, sizeof plain), {from.worker, from.instance}, {worker_, instance_});
}

bool Handshake::read(std::span<const std::byte> bytes, Hello& out, Address& from) const {
  if (bytes.size() < offsetof(Hello, address) || bytes.size() > sizeof out) return false;
  out = {};
  std::memcpy(&out, bytes.data(), bytes.size());
  if (out.version != kVersion || out.wire_version != wire::kVersion || out.who.to != worker_) return false;
  if (out.address_bytes > kAddressMost || bytes_of(out) != bytes.size()) return false;
  auto address = decode_address({out.address, out.address_bytes});
  if (!address || address->worker != out.who.from) return false;
  from = *std::move(address);
  Hello plain = out;
  plain.who.proof = 0;
  return out.who.proof ==
         proof(bytes_of_object(plain, bytes.size()), {from.worker, from.instance}, {worker_, instance_});
}

bool Handshake::read(std::span<const std::byte> bytes, const Address& from, Welcome& out) const noexcept {
  if (bytes.size() != sizeof out) return false;
  std::memcpy(&out, bytes.data(), sizeof out);
  Welcome plain = out;
  plain.proof = 0;
  return out.from == from.worker && out.to == worker_ &&
         out.proof ==
             proof(bytes_of_object(plain, sizeof plain), {from.worker, from.instance}, {worker_, instance_});
}

}  // namespace stria::uct
