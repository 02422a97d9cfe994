// The engine between two links whose far side is a confused or hostile peer: a table of functions that keep
// what was sent. The memory of an operation lies between guards.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "rndv/engine.hpp"

namespace stria::rndv {

struct Sent {
  stria_header_t header;
  std::vector<std::byte> bytes;
};

/// The far side of a link: keeps what was sent, refuses when told to.
struct Wire {
  std::vector<Sent> sent;
  stria_status_t answer = STRIA_OK;
};

inline stria_status_t keep(stria_link_t* link, const stria_header_t* header, const void* data,
                           std::uint64_t bytes) {
  auto& wire = *reinterpret_cast<Wire*>(link);
  if (wire.answer != STRIA_OK) return wire.answer;
  const auto* begin = static_cast<const std::byte*>(data);
  wire.sent.push_back({*header, {begin, begin + bytes}});
  return STRIA_OK;
}

inline const transport::HotOps kOps = {
    .eager_send =
        [](stria_link_t* link, const stria_header_t* header, const stria_payload_t* payload) {
          const auto* base = static_cast<const std::byte*>(payload->base);
          return keep(link, header, base == nullptr ? base : base + payload->offset,
                      static_cast<std::uint64_t>(payload->length));
        },
    .invalidate = [](stria_device_t*, const stria_provider_key_t*) { return STRIA_OK; },
};

inline constexpr std::uint32_t kFragment = 1024;
inline constexpr std::uint64_t kLength = 3000;  // three fragments, the last one short

class Hostile : public ::testing::Test {
 protected:
  Hostile()
      : engine_({Force::pipeline, 1u << 20, kFragment}, {this, &Hostile::on_sent, &Hostile::on_received}) {
    for (unsigned i = 0; i < 2; ++i) {
      links_[i].ops = &kOps;
      links_[i].link = reinterpret_cast<stria_link_t*>(&wires_[i]);
      links_[i].eager_max = 4096;
    }
    memory_.assign(kGuard + kLength + kGuard, std::byte{0x11});
  }
  static constexpr std::size_t kGuard = 8192;

  static void on_sent(void* self, SendOp&) { ++static_cast<Hostile*>(self)->sent_ends_; }
  static void on_received(void* self, RecvOp&) { ++static_cast<Hostile*>(self)->received_ends_; }

  transport::Payload memory(std::uint64_t length = kLength) {
    const auto bytes = static_cast<std::int64_t>(length);
    return {nullptr, memory_.data() + kGuard, bytes, 0, bytes};
  }
  bool guards_untouched() const {
    for (std::size_t i = 0; i < kGuard; ++i)
      if (memory_[i] != std::byte{0x11} || memory_[kGuard + kLength + i] != std::byte{0x11}) return false;
    return true;
  }

  template <class Body>
  static transport::Packet packet(const stria_header_t& header, const Body& body) {
    return {&header, &body, sizeof(body), 1, 0};
  }

  /// A send that was announced; returns the name the peer was told.
  wire::OpId announce(SendOp& op) {
    op.link = &links_[0];
    op.memory = memory();
    op.length = kLength;
    EXPECT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 5)), Status::ok);
    wire::RtsBody rts;
    std::memcpy(&rts, wires_[0].sent.back().bytes.data(), sizeof(rts));
    return rts.sender_op;
  }
  /// A receive that asked for its fragments; returns the name the peer was told.
  wire::OpId accept(RecvOp& op) {
    op.link = &links_[0];
    op.memory = memory();
    op.length = kLength;
    Announcement announced;
    announced.length = kLength;
    announced.sender_op = 99;
    engine_.accept(op, announced);
    wire::RtrBody rtr;
    std::memcpy(&rtr, wires_[0].sent.back().bytes.data(), sizeof(rtr));
    return rtr.receiver_op;
  }
  bool rtr(unsigned link, wire::OpId sender_op, const wire::RtrBody& body) {
    const auto header = wire::make_header(wire::Kind::rtr, sender_op);
    return engine_.on_rtr(links_[link], packet(header, body));
  }
  bool frag(unsigned link, wire::OpId op, std::uint64_t place, std::uint32_t bytes,
            std::byte value = std::byte{0x22}) {
    const auto header = wire::make_fragment(op, place);
    const std::vector<std::byte> data(bytes, value);
    return engine_.on_frag(links_[link], {&header, data.data(), bytes, 1, 0}) ==
           Engine::FragmentOutcome::handled;
  }
  void fin(unsigned link, wire::OpId op, int status) {
    const auto header = wire::make_header(wire::Kind::fin, op, static_cast<std::uint32_t>(status));
    engine_.on_fin(links_[link], {&header, nullptr, 0, 1, 0});
  }

  Wire wires_[2];
  transport::LinkRef links_[2];
  std::vector<std::byte> memory_;
  Engine engine_;
  int sent_ends_ = 0;
  int received_ends_ = 0;
};

}  // namespace stria::rndv
