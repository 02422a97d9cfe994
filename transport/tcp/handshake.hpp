// How two devices prove to each other that they are of one job, before either believes anything else.
//
//   dialling device                             dialled device
//     Hello: from, to, a nonce          ──►       (silent unless the Hello names it)
//                                       ◄──     Challenge: a nonce of its own, its proof
//     Answer: its proof                 ──►
//                                       ◄──     Decision: welcome, or why not
//
// A proof is a keyed hash (BLAKE2b, by libsodium) of the Hello, of the dialled device's nonce and ticket, and
// of the side that gives the proof. Only the dialled device's address tells the ticket. The key of the hash
// is made of the job's secret. A proof that was overheard is of no use again, since each side draws a new
// nonce, nor can it serve as the other side's. The proofs authenticate the two ends of a connection; the
// bytes that follow are not protected from a machine that can change packets on their way.
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
  std::uint32_t eager_max = 0;  ///< most payload bytes of a packet to the dialling device
  std::uint32_t purpose = 0;    ///< kForPackets, kForMore, or a bulk connection (lane_purpose())
  std::uint64_t received = 0;  ///< kForMore: bytes of the link's stream that the dialling device has received
  std::uint32_t port = 0;      ///< the port on which the dialling device listens
  std::uint32_t unused = 0;
  Nonce nonce{};
};
static_assert(sizeof(Hello) == 80);
/// Hello::purpose of a link's first connection.
inline constexpr std::uint32_t kForPackets = ~0u;
/// Hello::purpose of a connection that replaces a link's first connection, which was reset.
inline constexpr std::uint32_t kForMore = ~0u - 1;
/// Hello::purpose of a bulk connection: its number, and how often a connection of this number has been begun.
/// A request names both, so that a request of a connection that was reset is not taken for one of its
/// successor.
constexpr std::uint32_t lane_purpose(std::uint32_t number, std::uint32_t generation) noexcept {
  return (generation << kLaneBits | number) & kLanePurposeMost;
}
constexpr std::uint32_t lane_number(std::uint32_t purpose) noexcept {
  return purpose & ((1u << kLaneBits) - 1);
}

/// What the dialling device wants of a connection: members of Hello.
struct Intent {
  std::uint32_t purpose = kForPackets;
  std::uint64_t received = 0;
};

struct Challenge {
  Nonce nonce{};
  Proof proof{};
};

struct Answer {
  Proof proof{};
};

enum class Verdict : std::uint32_t {
  welcome = 1,  ///< packets follow, both ways
  linked,       ///< the two devices have a connection already
  closing       ///< the device is being closed, or the link that the connection is for has ended
};

struct Decision {
  Verdict verdict = Verdict::closing;
  std::uint32_t unused = 0;
  std::uint64_t received = 0;  ///< kForMore: bytes of the link's stream that the dialled device has received
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
  /// Initialises libsodium. False: it does not start. To be called before everything else of this class.
  static bool start_libsodium() noexcept;
  Handshake(std::uint64_t worker, std::uint64_t instance, std::uint32_t eager_max,
            std::span<const std::byte> secret, const Ticket& ticket) noexcept;
  static Ticket draw_ticket() noexcept;
  /// Sets the port that each Hello names from now on.
  void listens_on(std::uint16_t port) noexcept { port_ = port; }
  std::uint64_t worker() const noexcept { return worker_; }
  std::uint64_t instance() const noexcept { return instance_; }

  /// A Hello to `peer`, with a new nonce.
  Hello hello(const Address& peer, Intent intent) const noexcept;
  /// Whether a Hello is meant for this device, and of this version.
  bool is_meant(const Hello& hello) const noexcept;
  /// The dialled side's answer to a Hello: a new nonce, and this device's proof.
  Challenge challenge(const Hello& hello) const noexcept;
  /// For the dialling side: whether `challenge` proves that it comes from the device that `hello` went to,
  /// whose ticket is `peer`. If so, `answer` becomes this side's proof.
  bool accepts(const Hello& hello, const Challenge& challenge, const Ticket& peer,
               Answer& answer) const noexcept;
  /// For the dialled side, whose challenge had the nonce `own`: whether `answer` proves that the sender of
  /// `hello` belongs to the job and knows this device's ticket.
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
