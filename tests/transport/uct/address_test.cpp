// Addresses and the messages of a handshake: whole ones are read, and no other.
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

#include "transport/uct/handshake.hpp"

namespace stria::uct {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
template <class T>
std::vector<std::byte> bytes_of_object(const T& object, std::size_t bytes) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&object);
  return {begin, begin + bytes};
}

Address address(std::uint64_t worker, std::uint64_t instance, std::string_view secret) {
  Address out;
  out.instance = instance;
  out.worker = worker;
  out.check = out.expected_check(bytes_of(secret));
  out.where = own_whereabouts();
  out.eager_bytes = 8000;
  out.zcopy_bytes = 60000;
  out.transport = "tcp";
  out.device = std::vector<std::byte>(6, std::byte{3});
  out.interface = std::vector<std::byte>(2, std::byte{4});
  out.joining = {77, {1, 2, 3}};
  return out;
}

TEST(UctAddress, is_read_as_it_was_written_and_not_when_it_is_cut_or_longer) {
  const Address wrote = address(7, 99, "secret");
  const auto bytes = *encode_address(wrote);
  const auto read = decode_address(bytes);
  ASSERT_TRUE(read.has_value()) << read.error().context;
  EXPECT_EQ(read->instance, wrote.instance);
  EXPECT_EQ(read->worker, wrote.worker);
  EXPECT_EQ(read->check, wrote.check);
  EXPECT_EQ(read->eager_bytes, wrote.eager_bytes);
  EXPECT_EQ(read->zcopy_bytes, wrote.zcopy_bytes);
  EXPECT_EQ(read->transport, wrote.transport);
  EXPECT_EQ(read->device, wrote.device);
  EXPECT_EQ(read->interface, wrote.interface);
  EXPECT_EQ(read->joining.port, wrote.joining.port);
  EXPECT_EQ(read->joining.hosts, wrote.joining.hosts);
  EXPECT_TRUE(can_watch(read->where, wrote.where));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_FALSE(decode_address(std::span(bytes).first(cut)).has_value()) << cut;
  auto longer = bytes;
  longer.emplace_back();
  EXPECT_FALSE(decode_address(longer).has_value());
}

TEST(UctAddress, of_another_version_is_refused_with_both) {
  auto bytes = *encode_address(address(7, 99, "secret"));
  bytes[4] = std::byte{77};
  const auto read = decode_address(bytes);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().status, Status::unreachable);
  EXPECT_NE(read.error().context.find("77"), std::string::npos) << read.error().context;
}

TEST(UctAddress, that_does_not_fit_is_refused_when_it_is_made) {
  Address one = address(7, 99, "secret");
  one.device.resize(200);
  EXPECT_FALSE(encode_address(one).has_value());
  one.device.resize(6);
  one.transport = "a transport with a long name";
  EXPECT_FALSE(encode_address(one).has_value());
}

TEST(UctHandshake, a_hello_is_believed_whole_from_a_holder_of_the_secret_to_this_device_alone) {
  const Address a = address(1, 11, "secret"), b = address(2, 22, "secret");
  const Handshake at_a(1, 11, bytes_of("secret")), at_b(2, 22, bytes_of("secret"));
  const auto own = *encode_address(a);
  const Hello hello = at_a.hello(b, Prefix(5, 6), own);
  auto bytes = bytes_of_object(hello, Handshake::bytes_of(hello));
  Hello read;
  Address from;
  ASSERT_TRUE(at_b.read(bytes, read, from));
  EXPECT_EQ(read.who.reply_prefix, Prefix(5, 6).bits());
  EXPECT_EQ(from.worker, 1u);
  EXPECT_EQ(from.instance, 11u);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{0x10};
    EXPECT_FALSE(at_b.read(bytes, read, from)) << "byte " << i << " is another";
    bytes[i] ^= std::byte{0x10};
    EXPECT_FALSE(at_b.read(std::span(bytes).first(i), read, from)) << "cut at " << i;
  }
  EXPECT_FALSE(Handshake(2, 22, bytes_of("secreT")).read(bytes, read, from)) << "another job";
  EXPECT_FALSE(Handshake(3, 22, bytes_of("secret")).read(bytes, read, from)) << "to another worker";
  EXPECT_FALSE(Handshake(2, 23, bytes_of("secret")).read(bytes, read, from)) << "to another device";
}

TEST(UctHandshake, a_welcome_is_believed_from_the_device_that_was_asked_alone) {
  const Address a = address(1, 11, "secret"), b = address(2, 22, "secret");
  const Handshake at_a(1, 11, bytes_of("secret")), at_b(2, 22, bytes_of("secret"));
  const Welcome welcome = at_b.welcome(a, Prefix(5, 6), Prefix(7, 8));
  auto bytes = bytes_of_object(welcome, sizeof welcome);
  Welcome read;
  ASSERT_TRUE(at_a.read(bytes, b, read));
  EXPECT_EQ(read.reply_prefix, Prefix(7, 8).bits());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{0x10};
    EXPECT_FALSE(at_a.read(bytes, b, read)) << "byte " << i << " is another";
    bytes[i] ^= std::byte{0x10};
  }
  EXPECT_FALSE(at_a.read(std::span(bytes).first(47), b, read));
  EXPECT_FALSE(at_a.read(bytes, address(2, 23, "secret"), read));
  EXPECT_FALSE(Handshake(1, 11, bytes_of("other")).read(bytes, b, read));
}

TEST(UctHandshake, a_join_is_believed_whole_from_a_holder_of_the_secret_to_this_device_alone) {
  const Address a = address(1, 11, "secret"), b = address(2, 22, "secret");
  const Handshake at_a(1, 11, bytes_of("secret")), at_b(2, 22, bytes_of("secret"));
  const std::vector<std::byte> endpoint(9, std::byte{5});
  const Join join = at_a.join(ControlKind::join, b, *encode_address(a), endpoint);
  Address from;
  ASSERT_TRUE(at_b.read(join, ControlKind::join, from));
  EXPECT_EQ(from.worker, 1u);
  EXPECT_EQ(from.instance, 11u);
  EXPECT_EQ(join.endpoint_bytes, endpoint.size());
  EXPECT_FALSE(at_b.read(join, ControlKind::joined, from)) << "a question is no answer";
  for (std::size_t i = 0; i < sizeof join; ++i) {
    Join other = join;
    reinterpret_cast<std::byte*>(&other)[i] ^= std::byte{0x10};
    EXPECT_FALSE(at_b.read(other, ControlKind::join, from)) << "byte " << i << " is another";
  }
  EXPECT_FALSE(Handshake(2, 22, bytes_of("secreT")).read(join, ControlKind::join, from)) << "another job";
  EXPECT_FALSE(Handshake(3, 22, bytes_of("secret")).read(join, ControlKind::join, from)) << "another worker";
  EXPECT_FALSE(Handshake(2, 23, bytes_of("secret")).read(join, ControlKind::join, from)) << "another device";
}

}  // namespace
}  // namespace stria::uct
