// Two engines with several links between them, of different speed. The rig is the provider: it delays,
// refuses, places payloads in steps, reads the memory of zero-copy sends as late as it may and ends them
// later still, and cuts links, which the two sides see at different times. Every choice is drawn from a seed.
//
// It watches what an engine must not do: end an operation whose memory the provider still reads or writes, or
// send by a link after its end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "rndv/engine.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

struct RigOptions {
  unsigned links = 3;                         ///< the first is the main link
  std::array<unsigned, 4> speed{1, 1, 1, 1};  ///< how often something is delivered by each
  std::size_t queue = 4;                      ///< packets of a link and direction
  unsigned refused_percent = 10;              ///< sends that find no room all the same
  unsigned placed_percent = 50;
  unsigned zcopy_percent = 70;  ///< of fragments that may go so; others are refused or copied
  std::uint32_t fragment = 4096;
  std::uint64_t piece = 16384;
};

class Rig {
 public:
  /// A message and what became of it.
  struct Message {
    SendOp send;
    RecvOp recv;
    std::vector<std::byte> data, source, room;
    std::optional<Status> sent, received;
    unsigned ends = 0;
    bool is_known = false;  // its announcement came
    bool ended() const { return sent && received; }
  };
  enum Side : unsigned { kSender, kReceiver };
  static constexpr std::byte kGivenBack{0xdd};

  Rig(unsigned seed, const RigOptions& options) : options_(options), random_(seed) {
    for (unsigned side : {kSender, kReceiver}) {
      for (unsigned i = 0; i < options.links; ++i) {
        End& end = ends_[side][i];
        end = {this, side, i};
        transport::LinkLimits limits{};
        limits.eager_max = 8192;
        limits.zcopy_max = 16384;
        end.ref.ops = ops();
        end.ref.link = reinterpret_cast<stria_link_t*>(&end);
        end.ref.take(limits);
        end.ref.railed = i == 0;
      }
      const Options of_engine{.force = Force::pipeline,
                              .fragment_bytes = options.fragment,
                              .fragment_fixed = true,
                              .rails_from = 2 * options.piece,
                              .piece_bytes = options.piece};
      sides_[side] = {this, side};
      engines_[side] = std::make_unique<Engine>(
          of_engine,
          Events{&sides_[side], [](void* self, SendOp& op) { static_cast<Self*>(self)->rig->on_sent(op); },
                 [](void* self, RecvOp& op) { static_cast<Self*>(self)->rig->on_received(op); }, nullptr,
                 [](void* self, const transport::LinkRef&) {
                   return static_cast<Self*>(self)->rig->rails(static_cast<Self*>(self)->side);
                 }});
    }
  }
  ~Rig() {
    for (unsigned side : {kSender, kReceiver}) {
      engines_[side]->fail_link(main(side), Status::cancelled);
      closed_ = true;  // the provider lets go of all memory
      engines_[side]->end_all(Status::cancelled);
      EXPECT_TRUE(engines_[side]->idle());
      EXPECT_TRUE(engines_[side]->resting());
    }
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  /// Announces a message of so many bytes to a receive of `room` bytes.
  Message& start(std::size_t bytes, std::size_t room) {
    Message& one = messages_.emplace_back();
    for (std::size_t i = 0; i < bytes; ++i) one.data.push_back(static_cast<std::byte>(random_()));
    one.source = one.data;
    one.room.assign(room, std::byte{0});
    one.send.link = &main(kSender);
    one.send.memory = contiguous(one.source);
    one.send.length = bytes;
    Status status = Status::no_resource;
    const auto header = wire::make_header(wire::Kind::rts, messages_.size() - 1);
    while (status == Status::no_resource) {
      status = engines_[kSender]->announce(one.send, header);
      if (status == Status::no_resource) step();
    }
    EXPECT_EQ(status, Status::ok);
    return one;
  }
  /// Does one thing.
  void step() {
    switch (below(4)) {
      case 0:
        engines_[below(2)]->progress();
        break;
      case 1:
        complete_one();
        break;
      default:
        deliver_one();
        break;
    }
  }
  /// False: something is still under way after very many steps.
  bool run(unsigned most = 400000) {
    for (unsigned i = 0; i < most && !all_ended(); ++i) step();
    return all_ended();
  }
  bool all_ended() const {
    return std::all_of(messages_.begin(), messages_.end(), [](const Message& one) { return one.ended(); });
  }

  /// The link is dead from now on; a part of what is under way by it may still come.
  void cut(unsigned link) {
    for (unsigned side : {kSender, kReceiver}) {
      End& end = ends_[side][link];
      end.is_cut = true;
      lose(end, below(static_cast<unsigned>(end.arriving.size()) + 1));
    }
  }
  /// The side hears of the end of a link that was cut.
  void hear(unsigned side, unsigned link) {
    End& end = ends_[side][link];
    if (!end.is_cut || end.is_down) return;
    lose(end, 0);
    fail_zcopy_sends(end);
    end.is_down = true;
    if (link == 0)
      engines_[side]->fail_link(main(side), Status::peer_failed);
    else
      engines_[side]->fail_rail(main(side), end.ref);
    fail_zcopy_sends(end);
    engines_[side]->end_placing(main(side), static_cast<std::uint8_t>(link));
  }
  void hear_all() {
    for (unsigned side : {kSender, kReceiver})
      for (unsigned i = 0; i < options_.links; ++i) hear(side, i);
  }

  Engine& engine(unsigned side) { return *engines_[side]; }
  transport::LinkRef& main(unsigned side) { return ends_[side][0].ref; }
  transport::LinkRef& link(unsigned side, unsigned i) { return ends_[side][i].ref; }
  std::uint64_t requests(unsigned link) const { return ends_[kReceiver][link].requests; }
  std::uint64_t fragments(unsigned link) const { return ends_[kSender][link].fragments; }
  std::size_t messages() const { return messages_.size(); }
  std::uint64_t zcopy_sends = 0, placed = 0;
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

 private:
  struct Flight {
    stria_header_t header;
    std::vector<std::byte> payload{};
    transport::Payload source{};  // of a zero-copy send that was not read
    transport::Completion* completion = nullptr;
    bool was_asked = false, is_placed = false;
    transport::Payload place{};
    std::size_t written = 0;
    std::size_t bytes() const {
      return completion != nullptr ? static_cast<std::size_t>(source.length) : payload.size();
    }
  };
  /// One side's end of a link.
  struct End {
    Rig* rig = nullptr;
    unsigned side = 0, index = 0;
    transport::LinkRef ref{};
    std::deque<Flight> arriving{};
    std::vector<transport::Completion*> read{};  // zero-copy sends of this side whose memory was read
    bool is_cut = false, is_down = false;
    std::uint64_t requests = 0, fragments = 0;
  };
  struct Self {
    Rig* rig;
    unsigned side;
  };

  static transport::Payload contiguous(std::vector<std::byte>& memory) {
    return transport::LinkRef::contiguous_payload(memory.data(), static_cast<std::int64_t>(memory.size()));
  }
  End& far(const End& end) { return ends_[1 - end.side][end.index]; }
  bool chance(unsigned percent) { return below(100) < percent; }

  static const transport::HotOps* ops() {
    static const transport::HotOps table = {
        .eager_send =
            [](stria_link_t* link, const stria_header_t* header, const stria_payload_t* payload) {
              End& end = *reinterpret_cast<End*>(link);
              return end.rig->send(end, *header, *payload, nullptr);
            },
        .zcopy_send =
            [](stria_link_t* link, const stria_header_t* header, const stria_payload_t* payload,
               stria_completion_t* completion) {
              End& end = *reinterpret_cast<End*>(link);
              return end.rig->send(end, *header, *payload, completion);
            },
        .invalidate = [](stria_device_t*, const stria_provider_key_t*) { return STRIA_OK; },
    };
    return &table;
  }
  stria_status_t send(End& end, const stria_header_t& header, const stria_payload_t& payload,
                      transport::Completion* completion) {
    EXPECT_FALSE(end.is_down) << "a send by link " << end.index << " after its end";
    if (completion != nullptr && chance(5)) return STRIA_ERR_UNSUPPORTED;
    if (end.is_cut && chance(50)) return STRIA_ERR_PEER_FAILED;
    End& to = far(end);
    if (!end.is_cut && (to.arriving.size() >= options_.queue || chance(options_.refused_percent)))
      return STRIA_ERR_NO_RESOURCE;
    if (header.kind == static_cast<std::uint8_t>(wire::Kind::rtr)) ++end.requests;
    if (header.kind == static_cast<std::uint8_t>(wire::Kind::frag)) ++end.fragments;
    Flight flight{.header = header};
    const bool in_place = completion != nullptr && chance(options_.zcopy_percent);
    if (in_place) {
      ++zcopy_sends;
      flight.source = payload;
      flight.completion = completion;
    } else {
      flight.payload.resize(static_cast<std::size_t>(payload.length));
      transport::pack(payload, flight.payload.data());
    }
    to.arriving.push_back(std::move(flight));
    if (end.is_cut) lose(to, to.arriving.size() - 1);
    return in_place ? STRIA_IN_PROGRESS : STRIA_OK;
  }
  /// Loses all but the first `kept` of what is under way to this end.
  void lose(End& to, std::size_t kept) {
    while (to.arriving.size() > kept) {
      if (auto* const completion = to.arriving.back().completion; completion != nullptr)
        far(to).read.push_back(completion);
      to.arriving.pop_back();
    }
  }
  void fail_zcopy_sends(End& end) {
    // What is still under way to the other side was read long ago.
    for (Flight& flight : far(end).arriving) read(flight, far(end));
    while (!end.read.empty()) complete(end, STRIA_ERR_PEER_FAILED);
  }
  void complete(End& end, stria_status_t status) {
    std::swap(end.read[below(static_cast<unsigned>(end.read.size()))], end.read.back());
    transport::Completion* const completion = end.read.back();
    end.read.pop_back();
    completion->done(completion, status);
  }
  void complete_one() {
    End& end = ends_[kSender][below(options_.links)];
    if (!end.read.empty()) complete(end, end.is_cut ? STRIA_ERR_PEER_FAILED : STRIA_OK);
  }
  /// Takes the payload of a zero-copy send out of the sender's memory.
  void read(Flight& flight, End& to) {
    if (flight.completion == nullptr) return;
    flight.payload.resize(static_cast<std::size_t>(flight.source.length));
    transport::pack(flight.source, flight.payload.data());
    far(to).read.push_back(std::exchange(flight.completion, nullptr));
  }

  void deliver_one() {
    std::vector<End*> ready;
    unsigned weight = 0;
    for (auto& side : ends_)
      for (unsigned i = 0; i < options_.links; ++i)
        if (!side[i].arriving.empty() && !side[i].is_down) {
          ready.push_back(&side[i]);
          weight += options_.speed[i];
        }
    if (ready.empty()) return;
    unsigned at = below(weight);
    for (End* end : ready) {
      if (at < options_.speed[end->index]) {
        deliver(*end);
        return;
      }
      at -= options_.speed[end->index];
    }
  }
  void deliver(End& end) {
    Engine& engine = *engines_[end.side];
    const transport::LinkRef* const rail = end.index == 0 ? nullptr : &end.ref;
    Flight& head = end.arriving.front();
    const bool is_fragment = head.header.kind == static_cast<std::uint8_t>(wire::Kind::frag);
    if (is_fragment && !head.was_asked && head.bytes() != 0) {
      head.was_asked = true;
      if (chance(options_.placed_percent)) {
        const IncomingFragment fragment{head.header, static_cast<std::uint32_t>(head.bytes()),
                                        static_cast<std::uint8_t>(end.index), rail};
        head.is_placed = engine.place(main(end.side), fragment, head.place);
        if (head.is_placed) ++placed;
        return;
      }
    }
    read(head, end);
    if (head.is_placed && head.written < head.bytes()) {
      const std::size_t more =
          chance(50) ? head.bytes() - head.written : 1 + (head.bytes() - head.written) / 2;
      const auto piece = transport::slice(head.place, head.written, more);
      std::memcpy(transport::contiguous_begin(piece), head.payload.data() + head.written, more);
      head.written += more;
      return;
    }
    const Flight flight = std::move(head);
    end.arriving.pop_front();
    const transport::Packet packet{&flight.header, flight.is_placed ? nullptr : flight.payload.data(),
                                   static_cast<std::uint32_t>(flight.payload.size()),
                                   1u | (flight.is_placed ? STRIA_PACKET_PLACED : 0u), 0};
    if (flight.is_placed) {
      EXPECT_EQ(engine.on_placed(main(end.side), packet, rail), Engine::FragmentOutcome::handled);
      return;
    }
    switch (static_cast<wire::Kind>(flight.header.kind)) {
      case wire::Kind::rts:
        announced(messages_[static_cast<std::size_t>(flight.header.tag)], packet);
        break;
      case wire::Kind::rtr:
        EXPECT_TRUE(engine.on_rtr(main(end.side), packet, rail));
        break;
      case wire::Kind::frag:
        EXPECT_EQ(engine.on_frag(main(end.side), packet, rail), Engine::FragmentOutcome::handled);
        break;
      case wire::Kind::fin:
        engine.on_fin(main(end.side), packet);
        break;
      default:
        ADD_FAILURE() << "a packet of kind " << static_cast<int>(flight.header.kind);
    }
  }
  void announced(Message& one, const transport::Packet& packet) {
    Announcement announcement;
    ASSERT_TRUE(Engine::parse_announcement(packet, announcement));
    one.is_known = true;
    one.recv.link = &main(kReceiver);
    one.recv.memory = contiguous(one.room);
    one.recv.length = std::min<std::uint64_t>(announcement.length, one.room.size());
    one.recv.memory.length = static_cast<std::int64_t>(one.recv.length);
    engines_[kReceiver]->accept(one.recv, announcement);
  }

  static bool lies_in(const transport::Payload& payload, const std::vector<std::byte>& memory) {
    return payload.base == memory.data();
  }
  void on_sent(SendOp& op) {
    Message& one = *std::find_if(messages_.begin(), messages_.end(), [&](auto& m) { return &m.send == &op; });
    ++one.ends;
    one.sent = op.outcome;
    if (!closed_) {
      for (unsigned i = 0; i < options_.links; ++i)
        for (const Flight& flight : ends_[kReceiver][i].arriving)
          EXPECT_FALSE(flight.completion != nullptr && lies_in(flight.source, one.source))
              << "the provider still reads the memory of a send that ended";
    }
    std::fill(one.source.begin(), one.source.end(), kGivenBack);
  }
  void on_received(RecvOp& op) {
    Message& one = *std::find_if(messages_.begin(), messages_.end(), [&](auto& m) { return &m.recv == &op; });
    ++one.ends;
    one.received = op.outcome;
    if (!closed_) {
      for (unsigned i = 0; i < options_.links; ++i)
        for (const Flight& flight : ends_[kReceiver][i].arriving)
          EXPECT_FALSE(flight.is_placed && lies_in(flight.place, one.room))
              << "the provider still writes the memory of a receive that ended";
    }
    const auto end = one.data.begin() + static_cast<std::ptrdiff_t>(op.length);
    EXPECT_TRUE(op.outcome != Status::ok || std::equal(one.data.begin(), end, one.room.begin()))
        << "a message arrived with wrong bytes";
  }
  std::span<const transport::LinkRef* const> rails(unsigned side) {
    std::size_t count = 0;
    for (unsigned i = 1; i < options_.links; ++i)
      if (!ends_[side][i].is_down) rails_[side][count++] = &ends_[side][i].ref;
    return {rails_[side].data(), count};
  }

  RigOptions options_;
  std::mt19937 random_;
  std::array<std::array<End, 4>, 2> ends_;
  std::array<Self, 2> sides_;
  std::array<std::array<const transport::LinkRef*, 4>, 2> rails_{};
  std::array<std::unique_ptr<Engine>, 2> engines_;
  std::deque<Message> messages_;
  bool closed_ = false;
};

}  // namespace stria::rndv
