// Connections that are made while something is in their way: both sides dial, an address leads elsewhere, the
// peer is gone, or it does not answer.
#include "tests/transport/tcp/device_rig.hpp"
#include "transport/tcp/dial.hpp"
#include "transport/tcp/tokens.hpp"

namespace stria::tcp {
namespace {

using contract::drive_for;

contract::Bytes address_with(const Peer& peer, std::vector<Ip> ips, std::uint16_t port = 0) {
  Address changed = read_address(peer);
  changed.ips = std::move(ips);
  if (port != 0) changed.port = port;
  const auto bytes = encode(changed, bytes_of(kSecret));
  return {bytes.begin(), bytes.end()};
}

Ip ip(const char* text) {
  return Ip::parse(text).value();
}

void expect_exchange(Peer& from, stria_link_t* link, Peer& to) {
  const std::size_t before = to.received.size();
  const contract::Bytes data = contract::pattern(before + 1, 300);
  ASSERT_EQ(contract::send({&from, &to}, from, link, contract::Path::buffered, contract::header(1), data),
            Status::ok);
  ASSERT_TRUE(drive({&from, &to}, [&] { return to.received.size() == before + 1; }));
  EXPECT_EQ(to.received.back().payload, data);
}

TEST(TcpDialling, by_both_sides_at_once_makes_one_link_whoever_is_ahead) {
  for (const int head_start : {0, 1, 2, 3, 5, 8, 20, 100}) {
    for (const bool swapped : {false, true}) {
      Peer one(tcp_provider(), swapped ? 2 : 1), other(tcp_provider(), swapped ? 1 : 2);
      stria_link_t* const there = one.connect(other);
      for (int i = 0; i < head_start; ++i) {
        one.progress();
        other.progress();
      }
      stria_link_t* const back = other.connect(one);
      for (int i = 0; i < 3; ++i) {
        expect_exchange(one, there, other);
        expect_exchange(other, back, one);
      }
      EXPECT_TRUE(one.downs.empty() && other.downs.empty()) << "head start " << head_start;
      EXPECT_EQ(one.connect(other), there);
      EXPECT_EQ(other.connect(one), back);
    }
  }
}

TEST(TcpDialling, goes_on_to_the_next_address_when_none_answers) {
  Peer a(tcp_provider(), 1), b(tcp_provider(), 2);
  contract::Contact contact{.worker = 2};
  stria_status_t status = STRIA_OK;
  // 192.0.2.1 (kept for documentation) does not answer, or is refused at once where there is no route.
  stria_link_t* const link =
      a.try_connect(address_with(b, {ip("192.0.2.1"), ip("127.0.0.1")}), contact, status);
  ASSERT_NE(link, nullptr) << a.error();
  expect_exchange(a, link, b);
  EXPECT_FALSE(contact.down);
}

TEST(TcpDialling, never_takes_another_device_for_the_peer) {
  Peer a(tcp_provider(), 1), b(tcp_provider(), 2), another(tcp_provider(), 3);
  const std::uint16_t wrong = read_address(another).port;
  contract::Contact contact{.worker = 2};
  stria_status_t status = STRIA_OK;
  ASSERT_NE(a.try_connect(address_with(b, {ip("127.0.0.1")}, wrong), contact, status), nullptr);
  ASSERT_TRUE(drive({&a, &b, &another}, [&] { return contact.down; }));
  EXPECT_EQ(contact.why, Status::unreachable);
  EXPECT_TRUE(another.ups.empty());
}

TEST(TcpDialling, that_a_long_computation_interrupts_is_taken_up_again) {
  Peer a(tcp_provider(), 1), b(tcp_provider(), 2);
  stria_link_t* const link = a.connect(b);
  // b gives up a guest that does not go on for two seconds, while a does something else.
  const std::uint64_t begun = now_ms();
  while (now_ms() - begun < 2500) b.progress();
  EXPECT_TRUE(b.ups.empty());
  expect_exchange(a, link, b);
  EXPECT_TRUE(a.downs.empty());
}

TEST(TcpDialling, to_a_worker_that_was_started_anew_ends_the_earlier_link) {
  Peer a(tcp_provider(), 1);
  auto b = std::make_unique<Peer>(tcp_provider(), 2);
  expect_exchange(a, a.connect(*b), *b);
  b->close(0);
  b = std::make_unique<Peer>(tcp_provider(), 2);
  stria_link_t* const again = a.connect(*b);
  expect_exchange(a, again, *b);
  ASSERT_TRUE(drive({&a, b.get()}, [&] { return a.downs.size() == 1; }));
  expect_exchange(a, again, *b);
}

// A device begins a dial in connect(), and looks at it in progress(). Meanwhile the peer may have answered.
TEST(TcpDialling, that_is_connected_stays_so_when_it_is_advanced_again) {
  Peer dialled(tcp_provider(), 1);
  const Address peer = read_address(dialled);
  const Handshake own(2, 3, 4096, bytes_of(kSecret), Handshake::draw_ticket());
  auto events = Events::open(kTimerToken);
  ASSERT_TRUE(events);
  const Dialling by{own, *events, kHandshakeToken, 60000, [] { return false; }};
  Dial dial(by, peer, {Route{peer.ips.front()}}, now_ms());
  ASSERT_TRUE(drive({&dialled}, [&] { return dial.advance(now_ms()) != Dial::State::going; }));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(dial.advance(now_ms()), Dial::State::connected);
  const UniqueFd socket = dial.take_socket();
  EXPECT_TRUE(socket);
  ASSERT_TRUE(drive({&dialled}, [&] { return dialled.ups.size() == 1; }));
  drive_for({&dialled}, 1000);
  EXPECT_TRUE(dialled.downs.empty());
}

}  // namespace
}  // namespace stria::tcp
