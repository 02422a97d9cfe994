// The address of a device, and in which order those of a peer are tried.
#include "transport/tcp/address.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "transport/tcp/candidates.hpp"

namespace stria::tcp {
namespace {

std::span<const std::byte> bytes_of(const char* text) {
  return std::as_bytes(std::span(text, std::strlen(text)));
}
const auto kSecret = bytes_of("a secret");

Ip ip(const char* text) {
  return Ip::parse(text).value();
}

Address some_address() {
  Address out;
  out.worker = 7;
  out.instance = 0x1234567890abcdef;
  out.host = 5;
  out.net_space = 6;
  out.eager_max = 65536;
  out.port = 40123;
  out.ticket = {std::byte{1}, std::byte{2}, std::byte{3}};
  out.ips = {ip("10.1.2.3"), ip("fd00::17"), ip("192.168.0.9")};
  return out;
}

TEST(TcpAddress, is_the_same_after_its_journey) {
  const Address sent = some_address();
  const auto came = decode(encode(sent, kSecret), kSecret);
  ASSERT_TRUE(came) << came.error().context;
  EXPECT_EQ(came->worker, sent.worker);
  EXPECT_EQ(came->instance, sent.instance);
  EXPECT_EQ(came->host, sent.host);
  EXPECT_EQ(came->net_space, sent.net_space);
  EXPECT_EQ(came->eager_max, sent.eager_max);
  EXPECT_EQ(came->port, sent.port);
  EXPECT_EQ(came->ticket, sent.ticket);
  EXPECT_EQ(came->ips, (std::vector<Ip>{ip("10.1.2.3"), ip("192.168.0.9"), ip("fd00::17")}));
  EXPECT_TRUE(came->shares_network_with(sent));
}

TEST(TcpAddress, has_room_for_eleven_addresses_of_ipv6_and_leaves_out_the_rest) {
  Address many = some_address();
  many.ips.assign(40, ip("fd00::1"));
  const auto bytes = encode(many, kSecret);
  EXPECT_LE(bytes.size(), kAddressMost);
  EXPECT_GE(decode(bytes, kSecret)->ips.size(), 11u);
}

TEST(TcpAddress, that_was_changed_anywhere_or_cut_is_refused) {
  const auto good = encode(some_address(), kSecret);
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{1};
    EXPECT_FALSE(decode(bad, kSecret)) << "byte " << i;
    EXPECT_FALSE(decode(std::span(good).first(i), kSecret)) << i << " bytes";
  }
}

TEST(TcpAddress, of_another_job_is_unreachable) {
  const auto other = decode(encode(some_address(), bytes_of("another secret")), kSecret);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().status, Status::unreachable);
  EXPECT_NE(other.error().context.find("job"), std::string::npos);
}

TEST(TcpCandidates, those_of_an_own_network_come_first_and_loopback_is_of_the_own_host_only) {
  const std::vector<OwnAddress> own = {{"lo", {ip("127.0.0.1"), 8}}, {"eth9", {ip("10.1.0.1"), 16}}};
  const std::vector<Ip> of_peer = {ip("127.0.0.1"), ip("203.0.113.5"), ip("10.1.2.3"), ip("10.2.0.1")};
  const auto far = order_candidates(of_peer, own, false);
  ASSERT_EQ(far.size(), 3u);
  EXPECT_EQ(far[0].to, ip("10.1.2.3"));
  EXPECT_FALSE(far[0].from);
  const auto near = order_candidates(of_peer, own, true);
  ASSERT_EQ(near.size(), 4u);
  EXPECT_EQ(near[0].to, ip("127.0.0.1"));
}

/// Interfaces that this host does not have, so that their speed is not known.
struct TcpBulkRoutes : testing::Test {
  std::vector<OwnAddress> own = {{"lo", {ip("127.0.0.1"), 8}},    {"none0", {ip("10.1.0.1"), 16}},
                                 {"none0", {ip("10.5.0.1"), 16}}, {"none1", {ip("10.2.0.1"), 16}},
                                 {"none2", {ip("10.2.0.2"), 16}}, {"none3", {ip("172.17.0.1"), 16}}};
};

TEST_F(TcpBulkRoutes, are_one_of_each_interface_that_shares_a_network_with_the_peer) {
  const auto routes =
      bulk_routes({ip("127.0.0.1"), ip("10.1.0.9"), ip("10.2.0.9"), ip("10.5.0.9"), ip("172.17.0.1")},
                  ip("10.1.0.9"), own);
  ASSERT_EQ(routes.size(), 2u)
      << "the second interface in 10.2 has no address of the peer left, and 172.17.0.1 "
         "is this host's own";
  EXPECT_EQ(routes[0].to, ip("10.1.0.9"));
  EXPECT_FALSE(routes[0].from);
  EXPECT_EQ(routes[1].to, ip("10.2.0.9"));
  EXPECT_EQ(routes[1].from, ip("10.2.0.1"));
}

TEST_F(TcpBulkRoutes, are_the_one_that_the_peer_was_reached_by_where_it_is_on_this_host_or_behind_a_router) {
  EXPECT_EQ(bulk_routes({ip("127.0.0.1"), ip("10.2.0.9")}, ip("127.0.0.1"), own).size(), 1u);
  EXPECT_EQ(bulk_routes({ip("203.0.113.5"), ip("10.2.0.9")}, ip("203.0.113.5"), own).size(), 1u);
}

TEST_F(TcpBulkRoutes, carry_equal_parts_so_that_their_speeds_have_to_be_alike) {
  EXPECT_TRUE(are_alike(0, 0));
  EXPECT_TRUE(are_alike(10000, 10000));
  EXPECT_TRUE(are_alike(40000, 56000));
  EXPECT_TRUE(are_alike(56000, 40000));
  EXPECT_FALSE(are_alike(10000, 1000));
  EXPECT_FALSE(are_alike(1000, 10000));
  EXPECT_FALSE(are_alike(0, 1000));
}

}  // namespace
}  // namespace stria::tcp
