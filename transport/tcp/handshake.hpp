// How two devices prove to each other that they are of one job before anything else is believed.
//
//   who dials                                   who is dialled
//     Hello: who, to whom, a nonce      ──►       (silent unless it is meant)
//                                       ◄──     Challenge: a nonce of its own, its proof
//     Answer: its proof                 ──►
//                                       ◄──     Decision: welcome, or why not
//
// A proof is a keyed hash (BLAKE2b, by libsodium) of the Hello, of the nonce of the device that is dialled,
// of that device's ticket, which only its address tells, and of the side that gives it, under a key made of
// the job's secret. One that was overheard is of no use again, since each side draws its nonce anew; and
// neither is the other side's. The proofs authenticate the two ends of a connection; the bytes that follow
// are not protected from a machine that can change packets on their way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/tcp/address.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

using Nonce = std::array<std::byte, 16>;
using Proof = std::array<std::byte, 32>;

struct Hello {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  std::uint16_t wire_version = 0;
  std::uint64_t from_worker = 0;
  std::uint64_t from_instance = 0;
  std::uint64_t to_worker = 0;
  std::uint64_t to_instance = 0;
  std::uint32_t eager_max = 0;  ///< payload bytes of a packet that the dialling device takes
  std::uint32_t purpose = 0;    ///< kForPackets, kForMore, or a bulk connection (lane_purpose())
  std::uint64_t received = 0;   ///< kForMore: bytes of the link's stream that the dialling device has got
  std::uint32_t port = 0;       ///< on which the dialling device listens
  std::uint32_t unused = 0;
  Nonce nonce{};
};
static_assert(sizeof(Hello) == 80);
/// The purpose of the connection that makes the link.
inline constexpr std::uint32_t kForPackets = ~0u;
/// Of one over which a link goes on whose connection was reset.
inline constexpr std::uint32_t kForMore = ~0u - 1;
/// Of a bulk connection: its number, and how often one of this number has been begun. Requests name both, so
/// that those of a connection that was reset mean nothing for the next.
constexpr std::uint32_t lane_purpose(std::uint32_t number, std::uint32_t generation) noexcept {
  return (generation << kLaneBits | number) & kLanePurposeMost;
}
constexpr std::uint32_t lane_number(std::uint32_t purpose) noexcept {
  return purpose & ((1u << kLaneBits) - 1);
}

struct Challenge {
  Nonce nonce{};
  Proof proof{};
};

struct Answer {
  Proof proof{};
};

enum class Verdict : std::uint32_t {
  welcome = 1,  ///< packets follow, both ways
  linked,       ///< there is a connection between the two already
  closing       ///< the device is being closed, or the link that the connection is for has ended
};

struct Decision {
  Verdict verdict = Verdict::closing;
  std::uint32_t unused = 0;
  std::uint64_t received = 0;  ///< kForMore: bytes of the link's stream that the dialled device has got
};
static_assert(sizeof(Decision) == 16);

template <class Message>
std::span<const std::byte> bytes_of(const Message& message) noexcept {
  return std::as_bytes(std::span(&message, 1));
}
template <class Message>
std::span<std::byte> bytes_of(Message& message) noexcept {
  return std::as_writable_bytes(std::span(&message, 1));
}

class Handshake {
 public:
  /// The library is ready, which draws random numbers. To be called before all else.
  static bool is_possible() noexcept;
  Handshake(std::uint64_t worker, std::uint64_t instance, std::uint32_t eager_max,
            std::span<const std::byte> secret, const Ticket& ticket) noexcept;
  static Ticket draw_ticket() noexcept;
  /// Where this device listens, from now on.
  void listens_on(std::uint16_t port) noexcept { port_ = port; }
  std::uint64_t worker() const noexcept { return worker_; }
  std::uint64_t instance() const noexcept { return instance_; }

  /// `received`: as in Hello.
  Hello hello(const Address& peer, std::uint32_t purpose, std::uint64_t received = 0) const noexcept;
  /// Whether it is one to this device, of this version.
  bool is_meant(const Hello& hello) const noexcept;
  Challenge challenge(const Hello& hello) const noexcept;
  /// Whether the peer that `hello` went to, which has that ticket, has proven itself; then `answer` proves
  /// this side.
  bool accepts(const Hello& hello, const Challenge& challenge, const Ticket& peer,
               Answer& answer) const noexcept;
  /// Whether who sent `hello` has.
  bool accepts(const Hello& hello, const Nonce& own, const Answer& answer) const noexcept;

 private:
  enum class Side : std::uint8_t { dials, is_dialled };
  Proof prove(Side side, const Hello& hello, const Nonce& nonce, const Ticket& dialled) const noexcept;

  const std::uint64_t worker_;
  const std::uint64_t instance_;
  const std::uint32_t eager_max_;
  const Ticket ticket_;
  std::uint16_t port_ = 0;
  Proof key_{};
};

}  // namespace stria::tcp
