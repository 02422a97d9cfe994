// One engine whose peer is the test, with a main link and two rails that can get. Keys are numbered, so that
// the test sees which live; gets wait until the test ends them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "rndv/engine.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

class RailGetsRig : public testing::Test {
 protected:
  static constexpr std::uint64_t kLength = 100000, kPiece = 8192;
  static constexpr unsigned kLinks = 3;
  struct Sent {
    stria_header_t header;
    std::vector<std::byte> payload;
    unsigned link;
    transport::Key ended{};  ///< by the packet
    wire::Kind kind() const { return static_cast<wire::Kind>(header.kind); }
  };
  struct Get {
    unsigned link;
    std::uint64_t begin, bytes;
    void* at;
    transport::Key key;
    transport::Completion* completion;
  };
  struct End {
    RailGetsRig* rig = nullptr;
    unsigned index = 0;
    stria_status_t get_answer = STRIA_IN_PROGRESS, key_answer = STRIA_OK, end_answer = STRIA_OK;
    bool is_full = false;
  };

  RailGetsRig()
      : engine_({.force = Force::get,
                 .fragment_bytes = 4096,
                 .fragment_fixed = true,
                 .rails_from = kPiece,
                 .piece_bytes = kPiece},
                {this, [](void* self, SendOp& op) { static_cast<RailGetsRig*>(self)->ended(op); },
                 [](void* self, RecvOp& op) { static_cast<RailGetsRig*>(self)->ended(op); }, nullptr,
                 [](void* self, const transport::LinkRef&) {
                   auto& rails = static_cast<RailGetsRig*>(self)->rails_;
                   return std::span<const transport::LinkRef* const>{rails.data(), rails.size()};
                 }}) {
    set_operations();
    for (unsigned i = 0; i < kLinks; ++i) {
      peers_[i].rig = this;
      peers_[i].index = i;
      transport::LinkLimits limits{};
      limits.eager_max = 4096;
      limits.can_get = 1;
      limits.offload = 1;
      links_[i].ops = &ops_;
      links_[i].link = reinterpret_cast<stria_link_t*>(&peers_[i]);
      links_[i].device = reinterpret_cast<stria_device_t*>(&peers_[i]);
      links_[i].take(limits);
      if (i != 0) rails_.push_back(&links_[i]);
    }
    links_[0].railed = true;
    for (std::size_t i = 0; i < source_.size(); ++i) source_[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  /// As a worker closes: the provider lets go of the memory before what waits for it ends.
  ~RailGetsRig() override {
    engine_.fail_link(links_[0], Status::cancelled);
    EXPECT_TRUE(keys_.empty()) << "keys that outlive their messages";
    is_closed_ = true;
    gets_.clear();
    engine_.end_all(Status::cancelled);
    EXPECT_TRUE(engine_.idle());
    EXPECT_TRUE(engine_.resting());
  }

  template <class Op>
  Op& prepare(std::deque<Op>& ops, std::vector<std::byte>& memory) {
    Op& op = ops.emplace_back();
    op.link = &links_[0];
    op.memory = transport::LinkRef::contiguous_payload(memory.data(), static_cast<std::int64_t>(kLength));
    op.length = kLength;
    return op;
  }
  void rounds(int count = 3) {
    while (count-- > 0) engine_.progress();
  }
  bool deliver(const transport::Header& header, const void* body, std::size_t bytes, unsigned link) {
    const transport::Packet packet{&header, body, static_cast<std::uint32_t>(bytes), 1, 0};
    const transport::LinkRef* const rail = link == 0 ? nullptr : &links_[link];
    switch (static_cast<wire::Kind>(header.kind)) {
      case wire::Kind::ask_key:
        return engine_.on_ask_key(links_[0], packet, rail);
      case wire::Kind::rail_key:
        return engine_.on_rail_key(links_[0], packet, rail);
      case wire::Kind::end_key:
        return engine_.on_end_key(links_[0], packet, rail);
      case wire::Kind::rtr:
        return engine_.on_rtr(links_[0], packet, rail);
      case wire::Kind::frag:
        return engine_.on_frag(links_[0], packet, rail) == Engine::FragmentOutcome::handled;
      default:
        engine_.on_fin(links_[0], packet);
        return true;
    }
  }
  std::vector<Sent> take_sent(wire::Kind kind) {
    std::vector<Sent> taken;
    for (Sent& one : std::exchange(sent_, {}))
      if (one.kind() == kind)
        taken.push_back(std::move(one));
      else
        sent_.push_back(std::move(one));
    return taken;
  }
  /// Ends the first get of a link; one that is to be ok has the sender's bytes before.
  Get end_get(unsigned link, stria_status_t status = STRIA_OK) {
    const auto at =
        std::find_if(gets_.begin(), gets_.end(), [=](const Get& one) { return one.link == link; });
    EXPECT_NE(at, gets_.end());
    const Get get = *at;
    gets_.erase(at);
    if (status == STRIA_OK) std::memcpy(get.at, source_.data() + get.begin, get.bytes);
    get.completion->done(get.completion, status);
    return get;
  }
  std::size_t gets_of(unsigned link) const {
    return static_cast<std::size_t>(
        std::count_if(gets_.begin(), gets_.end(), [=](const Get& one) { return one.link == link; }));
  }
  std::size_t keys_of(unsigned link) const {
    return static_cast<std::size_t>(
        std::count_if(keys_.begin(), keys_.end(), [=](const auto& one) { return one.second == link; }));
  }

  transport::HotOps ops_;
  std::array<End, kLinks> peers_;
  std::array<transport::LinkRef, kLinks> links_;
  std::vector<const transport::LinkRef*> rails_;
  std::vector<std::byte> source_ = std::vector<std::byte>(kLength);
  std::vector<std::byte> room_ = std::vector<std::byte>(kLength);
  std::vector<Sent> sent_;
  std::vector<Sent> last_ones_;             // those that end keys, in their order
  std::deque<Get> gets_;                    // under way
  std::map<std::uint32_t, unsigned> keys_;  // that live, and of which link
  unsigned keys_ended_here_ = 0;            // by calls
  std::uint32_t last_key_ = 0;
  std::uint32_t key_bytes_ = 16;
  std::deque<SendOp> sends_;
  std::deque<RecvOp> receives_;
  Engine engine_;
  bool is_closed_ = false;  ///< the provider holds no memory any more, and has ended its keys
  unsigned ends_ = 0;
  Status outcome_ = Status::in_progress;

 private:
  void ended(const Operation& op) {
    ++ends_;
    outcome_ = op.outcome;
    EXPECT_TRUE(op.kind == Operation::Kind::send || gets_.empty())
        << "memory is given back that a get writes";
  }
  void set_operations() {
    ops_.eager_send = [](stria_link_t* link, const stria_header_t* header, const stria_payload_t* payload) {
      const End& end = *reinterpret_cast<End*>(link);
      if (end.is_full) return STRIA_ERR_NO_RESOURCE;
      Sent& one = end.rig->sent_.emplace_back(Sent{*header, {}, end.index, {}});
      one.payload.resize(static_cast<std::size_t>(payload->length));
      transport::pack(*payload, one.payload.data());
      return STRIA_OK;
    };
    ops_.send_invalidate = [](stria_link_t* link, const stria_header_t* header, const void*, std::uint32_t,
                              const stria_provider_key_t* key) {
      const End& end = *reinterpret_cast<End*>(link);
      if (end.end_answer != STRIA_OK) return end.end_answer;
      if (end.is_full) return STRIA_ERR_NO_RESOURCE;
      end.rig->sent_.push_back(Sent{*header, {}, end.index, *key});
      end.rig->last_ones_.push_back(end.rig->sent_.back());
      return STRIA_OK;
    };
    ops_.get = [](stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
                  std::uint64_t offset, stria_completion_t* completion) {
      const End& end = *reinterpret_cast<End*>(link);
      if (end.get_answer != STRIA_IN_PROGRESS) return end.get_answer;
      end.rig->gets_.push_back({end.index, offset, static_cast<std::uint64_t>(local->length),
                                transport::contiguous_begin(*local), *key, completion});
      return STRIA_IN_PROGRESS;
    };
    ops_.fast_register = [](stria_device_t* device, stria_link_t* link, const stria_payload_t*, unsigned,
                            stria_provider_key_t* key) {
      const End& end = *reinterpret_cast<End*>(device);
      EXPECT_EQ(static_cast<void*>(link), static_cast<void*>(device)) << "the key serves its link";
      if (end.key_answer != STRIA_OK) return end.key_answer;
      const std::uint32_t number = ++end.rig->last_key_;
      end.rig->keys_[number] = end.index;
      key->bytes = end.rig->key_bytes_;
      std::memset(key->data, 0, sizeof key->data);
      std::memcpy(key->data, &number, sizeof number);
      return STRIA_OK;
    };
    ops_.invalidate = [](stria_device_t* device, const stria_provider_key_t* key) {
      const End& end = *reinterpret_cast<End*>(device);
      EXPECT_FALSE(end.rig->is_closed_) << "its device is closed";
      std::uint32_t number = 0;
      std::memcpy(&number, key->data, sizeof number);
      const auto found = end.rig->keys_.find(number);
      if (found == end.rig->keys_.end() || found->second != end.index) return STRIA_ERR_ACCESS;
      end.rig->keys_.erase(found);
      ++end.rig->keys_ended_here_;
      return STRIA_OK;
    };
  }
};

}  // namespace stria::rndv
