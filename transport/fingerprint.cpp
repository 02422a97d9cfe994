#include "transport/fingerprint.hpp"

#include <bit>
#include <cstring>

namespace stria::transport {
namespace {

// The round and the finish of SipHash-2-4 (Aumasson and Bernstein, 2012).
struct Sip {
  std::uint64_t a, b, c, d;
  void round() noexcept {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  }
  void word(std::uint64_t m) noexcept {
    d ^= m;
    round(), round();
    a ^= m;
  }
};

}  // namespace

std::uint64_t fingerprint(std::span<const std::byte> secret, std::uint64_t nonce,
                          std::uint64_t worker_id) noexcept {
  Sip sip{nonce ^ 0x736f6d6570736575u, worker_id ^ 0x646f72616e646f6du, nonce ^ 0x6c7967656e657261u,
          worker_id ^ 0x7465646279746573u};
  std::size_t at = 0;
  for (; at + 8 <= secret.size(); at += 8) {
    std::uint64_t m = 0;
    std::memcpy(&m, secret.data() + at, 8);
    sip.word(m);
  }
  std::uint64_t last = static_cast<std::uint64_t>(secret.size()) << 56;
  for (std::size_t i = 0; at + i < secret.size(); ++i)
    last |= std::to_integer<std::uint64_t>(secret[at + i]) << (8 * i);
  sip.word(last);
  sip.c ^= 0xff;
  for (int i = 0; i < 4; ++i) sip.round();
  return sip.a ^ sip.b ^ sip.c ^ sip.d;
}

}  // namespace stria::transport
