// Which addresses peers are told, and which ports are listened on.
#include "transport/tcp/interfaces.hpp"

#include <gtest/gtest.h>

#include "transport/tcp/socket.hpp"

namespace stria::tcp {
namespace {

Ip ip(const char* text) {
  return Ip::parse(text).value();
}

const std::vector<OwnAddress> kAll = {{"lo", {ip("127.0.0.1"), 8}},
                                      {"eth0", {ip("10.0.0.5"), 8}},
                                      {"eth0", {ip("fd00::5"), 64}},
                                      {"docker0", {ip("172.17.0.1"), 16}}};

std::string chosen(const char* text, const std::vector<OwnAddress>& all = kAll) {
  const auto choice = InterfaceChoice::parse(text);
  if (!choice) return "malformed";
  const auto some = choice->of(all);
  if (!some) return "none";
  std::string out;
  for (const OwnAddress& one : *some) out += one.network.ip.text() + " ";
  return out;
}

TEST(TcpInterfaces, are_chosen_by_name_and_by_network) {
  EXPECT_EQ(chosen(""), "10.0.0.5 fd00::5 172.17.0.1 ");
  EXPECT_EQ(chosen("eth0"), "10.0.0.5 fd00::5 ");
  EXPECT_EQ(chosen("!docker0"), "10.0.0.5 fd00::5 ");
  EXPECT_EQ(chosen("10.0.0.0/8"), "10.0.0.5 ");
  EXPECT_EQ(chosen("eth0,!10.0.0.0/8"), "fd00::5 ");
  EXPECT_EQ(chosen("fd00::/8,docker0"), "fd00::5 172.17.0.1 ");
  EXPECT_EQ(chosen("lo"), "127.0.0.1 ");
  EXPECT_EQ(chosen("!eth0,!docker0"), "127.0.0.1 ") << "loopback where there is no other";
}

TEST(TcpInterfaces, of_which_none_is_left_are_named) {
  const auto none = InterfaceChoice::parse("eth7")->of(kAll);
  ASSERT_FALSE(none);
  for (const char* text : {"STRIA_TCP_INTERFACES=eth7", "eth0 10.0.0.5", "docker0"})
    EXPECT_NE(none.error().context.find(text), std::string::npos) << none.error().context;
}

TEST(TcpInterfaces, that_are_malformed_are_refused) {
  for (const char* text : {",", "eth0,,eth1", "!", "10.0.0.0/33", "10.0.0/8", "fd00::/129", "/8"})
    EXPECT_EQ(chosen(text), "malformed") << text;
}

TEST(TcpNetwork, holds_the_addresses_that_begin_alike) {
  const Network network = *Network::parse("10.4.0.0/14");
  EXPECT_TRUE(network.holds(ip("10.7.255.255")));
  EXPECT_FALSE(network.holds(ip("10.8.0.0")));
  EXPECT_FALSE(network.holds(ip("fd00::1")));
  EXPECT_TRUE(Network::parse("0.0.0.0/0")->holds(ip("1.2.3.4")));
  EXPECT_FALSE(Network::parse("1.2.3.4")->holds(ip("1.2.3.5")));
}

TEST(TcpPorts, are_a_range) {
  EXPECT_EQ(PortRange::parse("")->first, 0);
  EXPECT_EQ(PortRange::parse("5000")->last, 5000);
  EXPECT_EQ(PortRange::parse("5000-5002")->last, 5002);
  for (const char* text : {"0", "-", "5-", "-5", "7-6", "1-70000", "a", "5 "})
    EXPECT_FALSE(PortRange::parse(text)) << text;
}

TEST(TcpPorts, that_are_all_taken_are_named) {
  std::uint16_t port = 0;
  const auto any = listen_on({}, port);
  ASSERT_TRUE(any) << any.error().context;
  std::uint16_t again = 0;
  const auto same = listen_on({port, port}, again);
  ASSERT_FALSE(same);
  EXPECT_NE(same.error().context.find("STRIA_TCP_PORTS"), std::string::npos) << same.error().context;
}

}  // namespace
}  // namespace stria::tcp
