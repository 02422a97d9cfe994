#include "transport/tcp/handshake.hpp"

#include <sodium.h>

#include "transport/tcp/record.hpp"
#include "transport/wire.hpp"

namespace stria::tcp {
namespace {

constexpr std::uint32_t kMagic = 0x48545453;  // "STTH"
constexpr std::uint16_t kVersion = 7;

Nonce draw_nonce() noexcept {
  Nonce out;
  randombytes_buf(out.data(), out.size());
  return out;
}

bool equal(const Proof& one, const Proof& other) noexcept {
  return sodium_memcmp(one.data(), other.data(), one.size()) == 0;
}

unsigned char* raw(std::byte* bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

Handshake::Handshake(std::uint64_t worker, std::uint64_t instance, std::uint32_t eager_max,
                     std::span<const std::byte> secret, const Ticket& ticket) noexcept
    : worker_(worker), instance_(instance), eager_max_(eager_max), ticket_(ticket) {
  crypto_generichash(raw(key_.data()), key_.size(), raw(secret.data()), secret.size(), nullptr, 0);
}

bool Handshake::start_libsodium() noexcept {
  return sodium_init() >= 0;  // does nothing when called again
}

Ticket Handshake::draw_ticket() noexcept {
  Ticket out;
  randombytes_buf(out.data(), out.size());
  return out;
}

Proof Handshake::prove(Side side, const Hello& hello, const Nonce& nonce,
                       const Ticket& dialled) const noexcept {
  Proof out;
  crypto_generichash_state state;
  crypto_generichash_init(&state, raw(key_.data()), key_.size(), out.size());
  crypto_generichash_update(&state, raw(bytes_of(side).data()), sizeof side);
  crypto_generichash_update(&state, raw(dialled.data()), dialled.size());
  crypto_generichash_update(&state, raw(bytes_of(hello).data()), sizeof hello);
  crypto_generichash_update(&state, raw(nonce.data()), nonce.size());
  crypto_generichash_final(&state, raw(out.data()), out.size());
  return out;
}

Hello Handshake::hello(const Address& peer, Intent intent) const noexcept {
  Hello out;
  out.magic = kMagic;
  out.version = kVersion;
  out.wire_version = wire::kVersion;
  out.from_worker = worker_;
  out.from_instance = instance_;
  out.to_worker = peer.worker;
  out.to_instance = peer.instance;
  out.eager_max = eager_max_;
  out.purpose = intent.purpose;
  out.received = intent.received;
  out.port = port_;
  out.nonce = draw_nonce();
  return out;
}

bool Handshake::is_meant(const Hello& hello) const noexcept {
  const bool is_lane = hello.purpose <= kLanePurposeMost && lane_number(hello.purpose) < kLanesMost;
  return hello.magic == kMagic && hello.version == kVersion && hello.wire_version == wire::kVersion &&
         hello.to_worker == worker_ && hello.to_instance == instance_ && hello.from_worker != 0 &&
         (hello.purpose == kForPackets || hello.purpose == kForMore || is_lane);
}

Challenge Handshake::challenge(const Hello& hello) const noexcept {
  Challenge out{draw_nonce(), {}};
  out.proof = prove(Side::is_dialled, hello, out.nonce, ticket_);
  return out;
}

bool Handshake::accepts(const Hello& hello, const Challenge& challenge, const Ticket& peer,
                        Answer& answer) const noexcept {
  if (!equal(challenge.proof, prove(Side::is_dialled, hello, challenge.nonce, peer))) return false;
  answer.proof = prove(Side::dials, hello, challenge.nonce, peer);
  return true;
}

bool Handshake::accepts(const Hello& hello, const Nonce& own, const Answer& answer) const noexcept {
  return equal(answer.proof, prove(Side::dials, hello, own, ticket_));
}

}  // namespace stria::tcp
