// Connections to a device's port by processes of no job or of another one: the device sends them nothing that
// helps them, and its own peers connect as before.
#include "tests/transport/tcp/device_rig.hpp"

namespace stria::tcp {
namespace {

struct TcpStranger : testing::Test {
  Peer device{tcp_provider(), 1};
  const Address target = read_address(device);

  void exchange_with(std::uint64_t worker) {
    Peer friendly(tcp_provider(), worker);
    stria_link_t* const link = friendly.connect(device);
    const std::size_t before = device.received.size();
    const contract::Bytes data = contract::pattern(worker, 100);
    ASSERT_EQ(contract::send({&friendly, &device}, friendly, link, contract::Path::buffered,
                             contract::header(1), data),
              Status::ok);
    ASSERT_TRUE(drive({&friendly, &device}, [&] { return device.received.size() > before; }));
    EXPECT_EQ(device.received.back().payload, data);
  }
};

TEST_F(TcpStranger, with_another_secret_is_hung_up_on_and_learns_nothing_that_helps) {
  const Handshake foreign(2, 22, 65536, bytes_of(std::string_view("another secret")), {});
  Attempt attempt(foreign, target, Route{target.ips.front()}, now_ms());
  EXPECT_EQ(shake_hands(device, attempt, foreign), Attempt::State::ended);
  EXPECT_TRUE(device.ups.empty());
  exchange_with(3);
}

TEST_F(TcpStranger, that_knows_the_job_s_secret_and_was_not_given_the_address_is_hung_up_on) {
  const Handshake own(2, 22, 65536, bytes_of(kSecret), {});
  Address guessed = target;  // all of it can be read off a connection but the ticket
  guessed.ticket[0] ^= std::byte{1};
  Attempt attempt(own, guessed, Route{target.ips.front()}, now_ms());
  EXPECT_EQ(shake_hands(device, attempt, own), Attempt::State::ended);
  EXPECT_TRUE(device.ups.empty());
  exchange_with(3);
}

TEST_F(TcpStranger, that_knows_the_secret_and_the_address_is_welcome) {
  const Handshake own(2, 22, 65536, bytes_of(kSecret), {});
  Attempt attempt(own, target, Route{target.ips.front()}, now_ms());
  EXPECT_EQ(shake_hands(device, attempt, own), Attempt::State::welcome) << attempt.why();
  EXPECT_TRUE(drive({&device}, [&] { return device.ups.count(2) == 1; }));
}

TEST_F(TcpStranger, that_says_anything_else_gets_no_answer) {
  Hello hello = Handshake(2, 22, 65536, bytes_of(kSecret), {}).hello(target, {kForPackets});
  hello.version += 1;
  const contract::Bytes noise = contract::pattern(5, sizeof hello);
  const std::string_view web = "GET / HTTP/1.1\r\nHost: somewhere.example\r\nUser-Agent: a scanner\r\n\r\n";
  for (const std::span<const std::byte> said :
       {std::as_bytes(std::span(&hello, 1)), std::span<const std::byte>(noise), bytes_of(web)}) {
    const UniqueFd socket = connection_to(target);
    ASSERT_TRUE(drive({&device}, [&] { return ::send(socket.get(), nullptr, 0, MSG_NOSIGNAL) == 0; }));
    say(socket, said);
    ssize_t heard = -EAGAIN;
    ASSERT_TRUE(drive({&device}, [&] { return (heard = hear(socket)) != -EAGAIN; }));
    EXPECT_EQ(heard, 0);
  }
  EXPECT_TRUE(device.ups.empty());
  exchange_with(3);
}

TEST_F(TcpStranger, that_says_nothing_a_hundred_times_keeps_no_peer_out_for_long) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(connection_to(target));
  for (int i = 0; i < 100; ++i) device.progress();
  exchange_with(3);
  // They are hung up on, so that those behind them in the queue get their turn.
  EXPECT_TRUE(drive({&device}, [&] {
    return std::all_of(silent.begin(), silent.end(), [](const UniqueFd& one) { return hear(one) == 0; });
  }));
}

TEST_F(TcpStranger, that_hangs_up_in_any_turn_leaves_nothing_behind) {
  const Handshake own(2, 22, 65536, bytes_of(kSecret), {});
  for (const std::size_t bytes : {0u, 1u, 63u, 64u}) {
    const Hello hello = own.hello(target, {kForPackets});
    UniqueFd socket = connection_to(target);
    ASSERT_TRUE(drive({&device}, [&] { return ::send(socket.get(), nullptr, 0, MSG_NOSIGNAL) == 0; }));
    say(socket, std::as_bytes(std::span(&hello, 1)).first(bytes));
    for (int i = 0; i < 50; ++i) device.progress();
    socket.reset();
    for (int i = 0; i < 50; ++i) device.progress();
  }
  EXPECT_TRUE(device.ups.empty());
  EXPECT_TRUE(device.downs.empty());
  exchange_with(3);
}

}  // namespace
}  // namespace stria::tcp
