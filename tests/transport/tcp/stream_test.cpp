// What a connected peer may send: packets cut anywhere, and bytes that are none.
#include <random>

#include "datatype/layout.hpp"
#include "tests/transport/tcp/device_rig.hpp"
#include "transport/payload.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {
namespace {

struct TcpStream : testing::Test {
  TcpStream() {
    const Handshake own(2, 22, 65536, bytes_of(kSecret), {});
    const Address target = read_address(device);
    Attempt attempt(own, target, Route{target.ips.front()}, now_ms());
    EXPECT_EQ(shake_hands(device, attempt, own), Attempt::State::welcome);
    socket = attempt.take_socket();
  }
  void send(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
      device.progress();
    }
  }
  static contract::Bytes record(std::uint16_t sequence, std::uint32_t bytes) {
    const RecordHead head{bytes, RecordKind::packet, contract::header(sequence)};
    contract::Bytes out(sizeof head + bytes);
    std::memcpy(out.data(), &head, sizeof head);
    const contract::Bytes payload = contract::pattern(sequence, bytes);
    std::copy(payload.begin(), payload.end(), out.begin() + sizeof head);
    return out;
  }
  Peer device{tcp_provider(), 1};
  UniqueFd socket;
};

TEST_F(TcpStream, that_comes_in_pieces_of_any_length_is_the_same_packets) {
  constexpr std::uint16_t kPackets = 300;
  std::mt19937 random(20231);
  contract::Bytes stream;
  std::vector<std::uint32_t> lengths;
  for (std::uint16_t i = 0; i < kPackets; ++i) {
    lengths.push_back(random() % 8 == 0 ? random() % 65537 : random() % 200);
    const contract::Bytes one = record(i, lengths.back());
    stream.insert(stream.end(), one.begin(), one.end());
  }
  std::deque<contract::Bytes> rooms;
  std::vector<const contract::Bytes*> room_of(kPackets);
  device.places = [&](const stria_header_t& header, std::uint32_t length, stria_payload_t& place) {
    if (random() % 2 == 0) return false;
    room_of[header.sequence] = &rooms.emplace_back(length);
    place = contract::contiguous(rooms.back().data(), length);
    return true;
  };
  for (std::span<const std::byte> rest = stream; !rest.empty();) {
    const std::size_t piece =
        std::min<std::size_t>(rest.size(), random() % 4 == 0 ? random() % 50000 : random() % 60);
    send(rest.first(piece));
    rest = rest.subspan(piece);
  }
  ASSERT_TRUE(drive({&device}, [&] { return device.received.size() == kPackets; }));
  for (std::uint16_t i = 0; i < kPackets; ++i) {
    const contract::Received& got = device.received[i];
    ASSERT_EQ(got.header.sequence, i);
    EXPECT_EQ(got.placed ? *room_of[i] : got.payload, contract::pattern(i, lengths[i])) << i;
  }
}

TEST_F(TcpStream, leaves_memory_and_layout_of_a_packet_alone_once_it_is_delivered) {
  std::unique_ptr<datatype::Layout> layout;
  contract::Bytes room;
  device.places = [&](const stria_header_t&, std::uint32_t length, stria_payload_t& place) {
    layout = std::make_unique<datatype::Layout>(
        *datatype::Layout::vector(length / 1000, 1, 2000, datatype::Layout::bytes(1000)));
    room.assign(static_cast<std::size_t>(layout->extent()), std::byte{0});
    place = {layout.get(), room.data(), 1, 0, length};
    return true;
  };
  for (std::uint16_t i = 0; i < 4; ++i) {
    const contract::Bytes one = record(i, 60000);
    send(std::span(one).first(20000));
    ASSERT_NE(layout, nullptr) << "the sink was not asked";
    send(std::span(one).subspan(20000));
    ASSERT_TRUE(drive({&device}, [&] { return device.received.size() == i + 1u; }));
    contract::Bytes wanted(room.size());
    transport::unpack({layout.get(), wanted.data(), 1, 0, 60000}, contract::pattern(i, 60000).data());
    EXPECT_EQ(room, wanted);
    layout.reset();
    room = {};
  }
}

TEST_F(TcpStream, with_a_length_beyond_the_limit_ends_the_link) {
  contract::Bytes wrong = record(1, 8);
  const std::uint32_t bytes = 65537;
  std::memcpy(wrong.data(), &bytes, sizeof bytes);
  send(record(0, 8));
  send(wrong);
  ASSERT_TRUE(drive({&device}, [&] { return device.downs.size() == 1; }));
  EXPECT_EQ(device.received.size(), 1u) << "what came before was delivered";
  EXPECT_EQ(device.downs[0]->why, Status::io_error);
}

TEST_F(TcpStream, that_ends_within_a_packet_delivers_what_was_whole) {
  send(record(0, 1000));
  send(std::span<const std::byte>(record(1, 60000)).first(30000));
  socket.reset();
  ASSERT_TRUE(drive({&device}, [&] { return device.downs.size() == 1; }));
  ASSERT_EQ(device.received.size(), 1u);
  EXPECT_EQ(device.received[0].payload, contract::pattern(0, 1000));
  EXPECT_EQ(device.downs[0]->why, Status::peer_failed);
}

}  // namespace
}  // namespace stria::tcp
