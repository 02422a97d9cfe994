// Makes and checks the messages by which two devices prove to each other that they belong to one job. Nothing
// else that a peer says is believed before.
//
// The proof in a hello, a welcome or a join is a keyed hash of the whole message, SipHash-2-4 under a key
// that only a holder of the job's secret can compute for these two devices and workers. So nobody else can
// change a message or send one in another device's name, and an overheard message is of no use against a
// third device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/uct/address.hpp"
#include "transport/uct/packets.hpp"

namespace stria::uct {

class Handshake {
 public:
  Handshake(std::uint64_t worker, std::uint64_t instance, std::span<const std::byte> secret)
      : worker_(worker), instance_(instance), secret_(secret.begin(), secret.end()) {}
  std::uint64_t worker() const noexcept { return worker_; }
  std::uint64_t instance() const noexcept { return instance_; }
  std::span<const std::byte> secret() const noexcept { return secret_; }

  /// Make a message with its proof. `reply`: the prefix that the peer is to put before its packets to this
  /// link. `at_peer`: the prefix of the peer's link. `own`: this device's encoded address.
  Hello hello(const Address& peer, Prefix reply, std::span<const std::byte> own) const noexcept;
  Welcome welcome(const Address& peer, Prefix at_peer, Prefix reply) const noexcept;
  static std::size_t bytes_of(const Hello& hello) noexcept {
    return offsetof(Hello, address) + hello.address_bytes;
  }

  /// Whether `bytes` are a hello to this device from a peer that knows the secret. `from` is set to the
  /// address of the peer.
  bool read(std::span<const std::byte> bytes, Hello& out, Address& from) const;
  /// Whether `bytes` are a welcome to this device from the peer `from`.
  bool read(std::span<const std::byte> bytes, const Address& from, Welcome& out) const noexcept;

  /// Makes a Join with its proof. `kind`: join or joined. `own`: this device's encoded address. `endpoint`:
  /// the address of an endpoint, at most kEndpointMost bytes.
  Join join(ControlKind kind, const Address& peer, std::span<const std::byte> own,
            std::span<const std::byte> endpoint) const noexcept;
  /// Whether `join` is of this kind, and meant for this device, from a peer that knows the secret. `from` is
  /// set to the address of the peer.
  bool read(const Join& join, ControlKind kind, Address& from) const;

 private:
  // One of the two devices that exchange a message.
  struct End {
    std::uint64_t worker, instance;
  };
  std::uint64_t proof(std::span<const std::byte> message, End from, End to) const noexcept;

  const std::uint64_t worker_;
  const std::uint64_t instance_;
  const std::vector<std::byte> secret_;
};

}  // namespace stria::uct
