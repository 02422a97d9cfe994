// The proofs by which two devices of a job recognise each other.
#include "transport/tcp/handshake.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace stria::tcp {
namespace {

std::span<const std::byte> secret(const char* text) {
  return std::as_bytes(std::span(text, std::strlen(text)));
}

struct TcpHandshake : testing::Test {
  TcpHandshake() { EXPECT_TRUE(Handshake::start_libsodium()); }
  static Address address_of(const Handshake& one) {
    Address out;
    out.worker = one.worker();
    out.instance = one.instance();
    out.ticket = kTicket;
    return out;
  }
  static constexpr Ticket kTicket{std::byte{9}, std::byte{8}, std::byte{7}};
  const Handshake caller{1, 11, 4096, secret("a secret"), {}};
  const Handshake callee{2, 22, 4096, secret("a secret"), kTicket};
  const Handshake foreign{2, 22, 4096, secret("another"), kTicket};
};

TEST_F(TcpHandshake, of_one_job_succeeds_and_no_two_are_alike) {
  const Hello hello = caller.hello(address_of(callee), {kForPackets});
  ASSERT_TRUE(callee.is_meant(hello));
  const Challenge challenge = callee.challenge(hello);
  Answer answer;
  ASSERT_TRUE(caller.accepts(hello, challenge, kTicket, answer));
  EXPECT_TRUE(callee.accepts(hello, challenge.nonce, answer));
  EXPECT_NE(caller.hello(address_of(callee), {kForPackets}).nonce, hello.nonce);
  const Challenge later = callee.challenge(hello);
  EXPECT_NE(later.nonce, challenge.nonce);
  EXPECT_FALSE(callee.accepts(hello, later.nonce, answer)) << "an answer that was overheard";
}

TEST_F(TcpHandshake, with_another_job_fails_on_both_sides) {
  const Hello hello = caller.hello(address_of(foreign), {kForPackets});
  ASSERT_TRUE(foreign.is_meant(hello));
  const Challenge challenge = foreign.challenge(hello);
  Answer answer;
  EXPECT_FALSE(caller.accepts(hello, challenge, kTicket, answer));
  const Handshake intruder(1, 11, 4096, secret("another"), {});
  const Challenge real = callee.challenge(hello);
  EXPECT_FALSE(intruder.accepts(hello, real, kTicket, answer));
  answer.proof = real.proof;  // sent back as it came
  EXPECT_FALSE(callee.accepts(hello, real.nonce, answer));
}

TEST_F(TcpHandshake, with_the_job_s_secret_and_without_the_ticket_fails) {
  const Hello hello = caller.hello(address_of(callee), {kForPackets});
  const Challenge challenge = callee.challenge(hello);
  Answer answer;
  EXPECT_FALSE(caller.accepts(hello, challenge, Ticket{}, answer))
      << "what answers there is not what the address names";
  const Handshake listener(2, 22, 4096, secret("a secret"), {});
  ASSERT_TRUE(caller.accepts(hello, listener.challenge(hello), Ticket{}, answer));
  EXPECT_FALSE(callee.accepts(hello, challenge.nonce, answer))
      << "who knows the job's secret and not the address";
}

TEST_F(TcpHandshake, that_was_changed_on_its_way_fails) {
  const Hello hello = caller.hello(address_of(callee), {kForPackets});
  const Challenge challenge = callee.challenge(hello);
  Answer answer;
  ASSERT_TRUE(caller.accepts(hello, challenge, kTicket, answer));
  for (std::size_t i = 0; i < sizeof hello; ++i) {
    Hello changed = hello;
    bytes_of(changed)[i] ^= std::byte{4};
    EXPECT_FALSE(callee.accepts(changed, challenge.nonce, answer)) << "byte " << i;
  }
}

TEST_F(TcpHandshake, is_meant_for_one_device_of_one_version) {
  const Hello hello = caller.hello(address_of(callee), {kForPackets});
  Hello wrong = hello;
  wrong.to_instance += 1;
  EXPECT_FALSE(callee.is_meant(wrong));
  wrong = hello;
  wrong.version += 1;
  EXPECT_FALSE(callee.is_meant(wrong));
  wrong = hello;
  wrong.wire_version += 1;
  EXPECT_FALSE(callee.is_meant(wrong));
  wrong = hello;
  wrong.magic = 0;
  EXPECT_FALSE(callee.is_meant(wrong));
}

}  // namespace
}  // namespace stria::tcp
