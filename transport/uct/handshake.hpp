// How two devices prove to each other that they are of one job, before anything else is believed.
//
// The proof of a hello or a welcome is a keyed hash of the whole message, SipHash-2-4 under a key that only a
// holder of the job's secret can compute for these two devices and workers. So a message cannot be changed,
// nor sent in another's name, and one that was overheard is of no use to any other device.
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

  /// `reply`: the prefix by which the peer is to answer. `own`: this device's address.
  Hello hello(const Address& peer, Prefix reply, std::span<const std::byte> own) const noexcept;
  Welcome welcome(const Address& peer, Prefix at_peer, Prefix reply) const noexcept;
  static std::size_t bytes_of(const Hello& hello) noexcept {
    return offsetof(Hello, address) + hello.address_bytes;
  }

  /// Whether these bytes are a hello to this device of a peer that knows the secret; `from`: the peer.
  bool read(std::span<const std::byte> bytes, Hello& out, Address& from) const;
  /// Whether they are a welcome from that peer.
  bool read(std::span<const std::byte> bytes, const Address& from, Welcome& out) const noexcept;

  /// `kind`: join or joined. `endpoint`: no longer than kEndpointMost.
  Join join(ControlKind kind, const Address& peer, std::span<const std::byte> own,
            std::span<const std::byte> endpoint) const noexcept;
  /// Whether it is one to this device of a peer that knows the secret.
  bool read(const Join& join, ControlKind kind, Address& from) const;

 private:
  struct End {
    std::uint64_t worker, instance;
  };
  std::uint64_t proof(std::span<const std::byte> message, End from, End to) const noexcept;

  const std::uint64_t worker_;
  const std::uint64_t instance_;
  const std::vector<std::byte> secret_;
};

}  // namespace stria::uct
