// Messages, puts and gets whose fragments are sent out of the memory of their source, and placed into the
// memory that they are for. The fabric delays and refuses, lets fragments overtake each other, doubles, loses
// and misplaces them, and workers die or close in the middle. Whatever happens, an operation that ends well
// has moved each byte (but see is_told_wrong_places()). The memory of an operation belongs to the application
// from its end on: the test writes that memory anew there and then, and nobody may read or write it after.
// Every choice is drawn from the seed.
#include <algorithm>
#include <deque>
#include <random>

#include "tests/rounds.hpp"
#include "tests/tag/side.hpp"
#include "tests/tag/world.hpp"
#include "transport/wire.hpp"

namespace stria::test {
namespace {

struct End {
  stria_request_t request;
  stria_status_t answer = STRIA_OK;
  stria_info_t info{};
  int calls = 0;
  bool ended() const { return answer != STRIA_IN_PROGRESS || calls != 0; }
  stria_status_t status() const { return answer < 0 ? answer : info.status; }
};

enum class Kind { message, put, get };

/// Bytes that go from `source` to `room`. A put or get has one end alone, at its initiator.
struct Transfer {
  Kind kind = Kind::message;
  unsigned from = 0, to = 0;
  Bytes data;
  Side source, room;
  End send, recv;
  stria_region_t* region = nullptr;
  stria_key_t* key = nullptr;
  bool is_checked = true;  // its bytes are right if it ends well

  bool ended() const { return send.ended() && recv.ended(); }
  /// What is there is right, if the operation says so; and then it is the application's again.
  void arrived(stria_status_t status) {
    if (is_checked && (status == STRIA_OK || status == STRIA_ERR_TRUNCATED)) {
      for (std::size_t i = 0; i < room.bytes; ++i) ASSERT_EQ(room.at(i), data[i]) << i;
    }
    if (region == nullptr || kind == Kind::get) room.give_back();
  }
  void sent() {
    if (region == nullptr || kind == Kind::put) source.give_back();
  }
  static void on_sent(stria_request_t*, const stria_info_t* info, void* user) {
    auto& self = *static_cast<Transfer*>(user);
    ++self.send.calls;
    self.send.info = *info;
    if (self.kind == Kind::put) self.arrived(info->status);
    self.sent();
  }
  static void on_received(stria_request_t*, const stria_info_t* info, void* user) {
    auto& self = *static_cast<Transfer*>(user);
    ++self.recv.calls;
    self.recv.info = *info;
    self.arrived(info->status);
  }
};

class Campaign {
 public:
  Campaign(unsigned seed, bool has_trouble)
      : random_(seed),
        trouble_(has_trouble ? 1 + below(5) : 0),
        helps_(trouble_ != kMeddles || one_in(2)),
        world_(2 + below(2), options(seed), config()) {
    if (trouble_ == kMeddles)
      fake::meddle(world_.fabric(), [this](stria_header_t& fragment) { return meddle(fragment); });
  }

  void run() {
    const unsigned count = 3 + below(5);
    for (unsigned i = 0; i < count; ++i) start(i);
    const unsigned trouble_at = below(400);
    const unsigned slow = below(world_.size());
    // A lost fragment is waited for until its sender is gone.
    const unsigned most = trouble_ == kMeddles ? 3000 : 400000;
    for (unsigned step = 0; step < most && !all_ended(); ++step) {
      if (step == trouble_at) make_trouble();
      const unsigned rank = below(8) == 0 ? slow : below(world_.size());
      if (world_.worker(rank) != nullptr) stria_worker_progress(world_.worker(rank));
    }
    if (trouble_ == 0) {
      EXPECT_TRUE(all_ended());
      for (Transfer& one : transfers_) {
        EXPECT_EQ(one.send.status(), STRIA_OK);
        EXPECT_EQ(one.recv.status(), one.room.bytes < one.data.size() ? STRIA_ERR_TRUNCATED : STRIA_OK);
      }
    }
    if (trouble_ == kDies && dead_ < world_.size()) {
      for (Transfer& one : transfers_) {
        EXPECT_TRUE(one.send.ended() || one.from == dead_ || (one.kind == Kind::get && one.to == dead_));
        EXPECT_TRUE(one.recv.ended() || one.to == dead_ || (one.kind == Kind::put && one.from == dead_));
      }
    }
    zcopy_sends = fake::statistics(world_.fabric()).zcopy_sends;
    placed = fake::statistics(world_.fabric()).placed;
    for (Transfer& one : transfers_) stria_key_close(one.key);
    for (unsigned rank = 0; rank < world_.size(); ++rank)
      if (world_.worker(rank) != nullptr) world_.close(rank);
    for (Transfer& one : transfers_) {
      EXPECT_TRUE(one.ended());
      EXPECT_LE(one.send.calls, 1);
      EXPECT_LE(one.recv.calls, 1);
      EXPECT_TRUE(one.source.is_untouched());
      EXPECT_TRUE(one.room.is_untouched()) << "written after its operation had ended";
    }
  }
  std::uint64_t zcopy_sends = 0, placed = 0;

 private:
  enum : unsigned { kDies = 1, kCloses = 2, kMeddles = 3 };  // 4 and more: as 1 and 2

  /// A fragment that says a wrong place is missing at its own, and so it is noticed; not where the receiver
  /// reads that place itself. What lies at the wrong place is then as wrong as other bytes that a sender lies
  /// about.
  bool is_told_wrong_places() const { return trouble_ == kMeddles && helps_; }

  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  bool one_in(unsigned n) { return below(n) == 0; }

  fake::FabricOptions options(unsigned seed) {
    if (trouble_ > kMeddles) trouble_ -= kMeddles;
    fake::FabricOptions made;
    made.seed = seed;
    made.devices = 1 + below(3);
    made.delay = below(12);
    made.queue = 3 + below(30);
    made.no_resource_percent = one_in(2) ? 0 : below(60);
    made.async_percent = below(101);
    made.fragment_overtakes_percent = one_in(2) ? 0 : below(101);
    made.death_seen_by_check_only = false;
    made.get = !one_in(3);
    made.put = !one_in(3);
    made.keeps = one_in(4);
    made.zcopy = !one_in(6);
    made.zcopy_max = 2048 + below(60000);
    made.zcopy_copies_percent = one_in(2) ? 0 : below(101);
    made.contiguous_zcopy_only = one_in(4);
    made.places_percent = one_in(6) ? 0 : below(101);
    share_memory(made, random_);
    return made;
  }
  std::vector<std::array<std::string, 2>> config() {
    const char* const schemes[] = {"auto", "pipeline", "pipeline", "both"};
    return {{{"STRIA_RNDV_SCHEME", schemes[below(4)]}},
            {{"STRIA_RNDV_PATIENCE", helps_ ? "0" : "30000"}},
            {{"STRIA_EAGER_LIMIT", one_in(2) ? "4K" : "64K"}},
            {{"STRIA_RNDV_RAILS", one_in(2) ? "8K" : "1M"}},
            {{"STRIA_RNDV_PIECE", "8K"}},
            {{"STRIA_RNDV_FRAGMENT", one_in(2) ? "4K" : "32K"}}};
  }

  fake::Fate meddle(stria_header_t& fragment) {
    if (!one_in(10)) return fake::Fate::arrives;
    const std::uint64_t place = wire::place_of(fragment);
    switch (below(4)) {
      case 0:
        return fake::Fate::lost;
      case 1:
        return fake::Fate::doubled;
      case 2:
        fragment = wire::make_fragment(fragment.tag, place + 1 + below(100000));
        return fake::Fate::arrives;
      default:
        fragment =
            wire::make_fragment(fragment.tag, place - std::min<std::uint64_t>(place, 1 + below(100000)));
        return fake::Fate::arrives;
    }
  }

  void make_trouble() {
    dead_ = below(world_.size());
    if (trouble_ == kDies) world_.kill(dead_, one_in(2) ? fake::Loss::random : fake::Loss::none);
    if (trouble_ == kCloses) world_.close(dead_);
  }

  bool all_ended() const {
    return std::all_of(transfers_.begin(), transfers_.end(), [](const Transfer& one) { return one.ended(); });
  }

  void start(unsigned tag) {
    Transfer& one = transfers_.emplace_back();
    one.is_checked = !is_told_wrong_places();
    one.kind = one_in(3) ? (one_in(2) ? Kind::put : Kind::get) : Kind::message;
    one.from = below(world_.size());
    one.to = (one.from + 1 + below(world_.size() - 1)) % world_.size();
    constexpr std::size_t kBlocks[] = {0, 0, 16, 2048};
    const std::size_t source_block = kBlocks[below(4)], room_block = kBlocks[below(4)];
    const bool in_runs = source_block + room_block == 0;
    const std::size_t bytes = in_runs ? 4097 + below(150000) : Side::kBlocks * 2048 * (1 + below(16));
    one.source.make(bytes, source_block);
    const bool is_short = one.kind == Kind::message && room_block == 0 && one_in(3);
    one.room.make(is_short ? below(static_cast<unsigned>(bytes)) : bytes, room_block);
    for (std::size_t i = 0; i < bytes; ++i)
      one.data.push_back(one.source.at(i) = static_cast<unsigned char>(random_()));
    one.kind == Kind::message ? start_message(one, tag) : start_access(one);
  }

  void start_message(Transfer& one, unsigned tag) {
    stria_send_t send{};
    send.base = one.source.memory.data();
    send.layout = one.source.layout;
    send.count = one.source.count();
    send.tag = tag;
    send.callback = &Transfer::on_sent;
    send.user = &one;
    const auto start_send = [&] {
      one.send.answer = stria_send(world_.endpoint(one.from, one.to), &send, &one.send.request);
      if (one.send.answer != STRIA_IN_PROGRESS) one.sent();
    };
    stria_recv_t recv{};
    recv.base = one.room.memory.data();
    recv.layout = one.room.layout;
    recv.count = one.room.count();
    recv.match = {world_.endpoint(one.to, one.from), tag, 0};
    recv.callback = &Transfer::on_received;
    recv.user = &one;
    const bool first = one_in(2);
    if (first) start_send();
    one.recv.answer = stria_recv(world_.worker(one.to), &recv, &one.recv.request);
    if (one.recv.answer != STRIA_IN_PROGRESS) {
      stria_request_test(&one.recv.request, &one.recv.info);
      one.arrived(one.recv.info.status);
    }
    if (!first) start_send();
  }

  void start_access(Transfer& one) {
    const bool put = one.kind == Kind::put;
    Side &here = put ? one.source : one.room, &there = put ? one.room : one.source;
    const unsigned initiator = put ? one.from : one.to, owner = put ? one.to : one.from;
    ASSERT_EQ(stria_region_register(world_.worker(owner), there.memory.data(), there.layout, there.count(),
                                    STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE, &one.region),
              STRIA_OK);
    char packed[STRIA_KEY_MAX];
    size_t size = sizeof(packed);
    ASSERT_EQ(stria_region_key(one.region, packed, &size), STRIA_OK);
    ASSERT_EQ(stria_key_open(world_.endpoint(initiator, owner), packed, size, &one.key), STRIA_OK);
    const stria_rma_t rma{here.memory.data(),
                          here.layout,
                          here.count(),
                          one.key,
                          0,
                          put ? &Transfer::on_sent : &Transfer::on_received,
                          &one};
    End& end = put ? one.send : one.recv;
    end.answer = put ? stria_put(world_.endpoint(initiator, owner), &rma, &end.request)
                     : stria_get(world_.endpoint(initiator, owner), &rma, &end.request);
    if (end.answer == STRIA_IN_PROGRESS) return;
    one.arrived(end.answer);
    one.sent();
  }

  std::mt19937 random_;
  unsigned trouble_;
  const bool helps_;  // receivers read a part of a message themselves
  World world_;
  std::deque<Transfer> transfers_;
  unsigned dead_ = ~0u;
};

class Bulk : public testing::Test {
 protected:
  ~Bulk() override {
    EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "auto", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_RNDV_PATIENCE", "5", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_RNDV_RAILS", "1M", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_RNDV_PIECE", "512K", "test"), STRIA_OK);
  }
  static void campaigns(bool has_trouble, unsigned count) {
    const auto only = static_cast<unsigned>(from_environment("STRIA_TEST_SEED", 0));
    std::uint64_t zcopy_sends = 0, placed = 0;
    for (unsigned seed = only != 0 ? only : 1; seed <= (only != 0 ? only : rounds(count)) && !HasFailure();
         ++seed) {
      SCOPED_TRACE(testing::Message() << "STRIA_TEST_SEED=" << seed);
      Campaign campaign(seed, has_trouble);
      campaign.run();
      zcopy_sends += campaign.zcopy_sends;
      placed += campaign.placed;
    }
    EXPECT_TRUE(only != 0 || (zcopy_sends > 0 && placed > 0));
  }
};

TEST_F(Bulk, moves_every_byte_and_leaves_memory_alone_that_was_given_back) {
  campaigns(false, 400);
}

TEST_F(Bulk, leaves_memory_alone_when_workers_die_or_close_and_fragments_are_wrong) {
  campaigns(true, 800);
}

}  // namespace
}  // namespace stria::test
