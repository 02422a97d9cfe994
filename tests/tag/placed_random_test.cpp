// Messages of every length into receives of every shape, of which many are placed: receives that name their
// source or none, and their tag or none, that are cancelled, too short, in blocks, posted and cancelled
// inside of callbacks; workers that die or close, and links that are cut. Whatever happens, each receive ends
// once and has one whole message, in the order in which the sender sent them. From then on the memory of the
// receive belongs to the application: the test overwrites it at once, and no worker may change it later.
// Every choice is drawn from the seed.
#include <algorithm>
#include <deque>
#include <random>

#include "tests/rounds.hpp"
#include "tests/tag/side.hpp"
#include "tests/tag/variable.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

constexpr unsigned char kFill = 0x5a;
constexpr std::uint64_t kTags = 3;
constexpr std::uint64_t kAnyTag = 7;

class PlacedCampaign;

struct Message {
  unsigned from = 0, to = 0, number = 0;  // number: among all, in order of sending
  std::uint64_t tag = 0;
  Bytes data;
  stria_request_t request;
  stria_info_t info{};
  int calls = 0;
  stria_status_t answer = STRIA_OK;
  struct Receive* receive = nullptr;
  bool ended() const { return answer != STRIA_IN_PROGRESS || calls != 0; }
};

struct Receive {
  PlacedCampaign* campaign = nullptr;
  unsigned at = 0, number = 0;  // number: in order of posting
  unsigned from = 0;            // World::kAny
  std::uint64_t tag = 0, ignore = 0;
  Side room;
  stria_request_t request;
  stria_info_t info{};
  int calls = 0;
  bool calls_back = false, ended = false, cancelled = false;
  stria_status_t answer = STRIA_OK;
  Message* message = nullptr;
  bool accepts(const Message& one) const {
    return one.to == at && (from == World::kAny || one.from == from) && ((tag ^ one.tag) & ~ignore) == 0;
  }
};

class PlacedCampaign {
 public:
  PlacedCampaign(unsigned seed, bool has_trouble)
      : random_(seed),
        trouble_(has_trouble ? 1 + below(4) : 0),
        world_(2 + below(2), options(seed), config()) {
    for (unsigned rank = 0; rank < world_.size(); ++rank)
      ids_.push_back(stria_worker_id(world_.worker(rank)));
  }

  void run() {
    const unsigned steps = 100 + below(1500), busy = 1 + below(6);
    const unsigned trouble_at = steps / 4 + below(steps);
    const unsigned slow = below(world_.size());
    for (unsigned step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      if (trouble_ != 0 && step == trouble_at) make_trouble();
      if (messages_.size() < 120 && below(busy) == 0) one_in(2) ? send() : receive(below(world_.size()));
      if (one_in(20)) cancel_some();
      if (one_in(20)) probe();
      const unsigned rank = below(8) == 0 ? slow : below(world_.size());
      progress(rank);
    }
    finish();
    placed = fake::statistics(world_.fabric()).placed;
    for (unsigned rank = 0; rank < world_.size(); ++rank)
      if (world_.worker(rank) != nullptr) close(rank);
    poll();
    for (Receive& one : receives_) {
      EXPECT_TRUE(one.ended) << one.number;
      EXPECT_LE(one.calls, 1);
      EXPECT_TRUE(one.room.is_untouched()) << "receive " << one.number << " was written after its end";
    }
    for (Message& one : messages_) {
      EXPECT_TRUE(one.ended()) << one.number;
      EXPECT_LE(one.calls, 1);
    }
    check_order();
  }
  std::uint64_t placed = 0;

 private:
  enum : unsigned { kDies = 1, kCloses = 2, kLinkCut = 3, kDeviceCut = 4 };

  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  bool one_in(unsigned n) { return below(n) == 0; }

  fake::FabricOptions options(unsigned seed) {
    fake::FabricOptions made;
    made.seed = seed;
    made.devices = 1 + below(3);
    made.delay = below(30);
    made.queue = 2 + below(30);
    made.no_resource_percent = one_in(2) ? 0 : below(60);
    made.async_percent = below(101);
    made.fragment_overtakes_percent = one_in(2) ? 0 : below(101);
    made.connect_delay = one_in(2) ? 0 : below(30);
    made.death_seen_by_check_only = one_in(4);
    made.get = !one_in(3);
    made.put = !one_in(3);
    made.pio = !one_in(3);
    made.keeps = one_in(3);
    made.looks = !one_in(3);
    made.grows_percent = one_in(3) ? below(60) : 0;
    made.zcopy = !one_in(3);
    made.places_percent = one_in(4) ? below(101) : 100;
    if (one_in(2)) made.eager_max = 65536;
    return made;
  }
  std::vector<std::array<std::string, 2>> config() {
    return {{{"STRIA_EAGER_LIMIT", one_in(2) ? "16K" : "64K"}},
            {{"STRIA_UNEXPECTED_BUDGET", one_in(2) ? "1M" : "64M"}}};
  }

  void close(unsigned rank) {
    closing_ = rank;
    world_.close(rank);
    closing_ = World::kAny;
  }

  void make_trouble() {
    dead_ = below(world_.size());
    const unsigned other = (dead_ + 1 + below(world_.size() - 1)) % world_.size();
    const auto loss = one_in(3) ? fake::Loss::none : fake::Loss::random;
    const unsigned device = below(3);
    switch (trouble_) {
      case kDies:
        world_.kill(dead_, loss);
        break;
      case kCloses:
        close(dead_);
        break;
      case kLinkCut:
        is_cut_ = fake::cut_link(world_.fabric(), ids_[dead_], ids_[other], device, loss);
        dead_ = World::kAny;
        break;
      default:
        is_cut_ = fake::cut_device(world_.fabric(), ids_[dead_], device, loss);
        dead_ = World::kAny;
        break;
    }
    is_troubled_ = true;
  }

  void progress(unsigned rank) {
    if (world_.worker(rank) == nullptr) return;
    stria_worker_progress(world_.worker(rank));
    poll();
  }
  void poll() {
    for (Receive& one : receives_) {
      if (one.ended || one.calls_back || one.answer != STRIA_IN_PROGRESS) continue;
      stria_info_t info{};
      if (stria_request_test(&one.request, &info) != STRIA_IN_PROGRESS) received(one, info);
    }
  }

  static void on_sent(stria_request_t*, const stria_info_t* info, void* user) {
    auto& self = *static_cast<Message*>(user);
    ++self.calls;
    self.info = *info;
  }
  static void on_received(stria_request_t*, const stria_info_t* info, void* user) {
    auto& self = *static_cast<Receive*>(user);
    ++self.calls;
    PlacedCampaign& campaign = *self.campaign;
    campaign.received(self, *info);
    if (self.at == campaign.closing_ || !campaign.one_in(4)) return;
    campaign.one_in(2) ? campaign.receive(self.at) : campaign.cancel_some();
  }

  void send() {
    const unsigned from = below(world_.size());
    const unsigned to = one_in(8) ? from : (from + 1 + below(world_.size() - 1)) % world_.size();
    if (world_.worker(from) == nullptr || world_.worker(to) == nullptr) return;
    Message& one = messages_.emplace_back();
    one.from = from;
    one.to = to;
    one.number = static_cast<unsigned>(messages_.size()) - 1;
    one.tag = below(kTags);
    const unsigned kind = below(8);
    const std::size_t bytes = kind == 0   ? 0
                              : kind == 1 ? 1 + below(255)
                              : kind == 2 ? 1 + below(90000)
                              : kind < 5  ? 1 + below(2000)
                                          : 1 + below(16384);
    for (std::size_t i = 0; i < bytes; ++i) one.data.push_back(static_cast<unsigned char>(random_()));
    stria_send_t send{};
    send.base = one.data.data();
    send.count = bytes;
    send.tag = one.tag;
    send.immediate = one.number;
    send.flags = one_in(6) ? STRIA_SEND_SYNCHRONOUS : 0;
    send.callback = &on_sent;
    send.user = &one;
    one.answer = stria_send(world_.endpoint(from, to), &send, &one.request);
    if (trouble_ == 0) {
      EXPECT_GE(one.answer, 0) << stria_last_error();
    }
  }

  void receive(unsigned at) { receive(at, one_in(3) ? World::kAny : below(world_.size()), one_in(4)); }
  void receive(unsigned at, unsigned from, bool any_tag) {
    if (world_.worker(at) == nullptr) return;
    Receive& one = receives_.emplace_back();
    one.campaign = this;
    one.at = at;
    one.number = static_cast<unsigned>(receives_.size()) - 1;
    one.from = from;
    one.tag = any_tag ? 0 : below(kTags);
    one.ignore = any_tag ? kAnyTag : 0;
    constexpr std::size_t kBlocks[] = {0, 0, 1, 12, 16, 520, 2048};
    const std::size_t block = kBlocks[below(7)];
    const std::size_t about = one_in(3) ? below(3000) : 4000 + below(90000);
    one.room.make(block == 0 ? about : Side::kBlocks * block * (1 + about / (Side::kBlocks * block)), block);
    std::fill(one.room.memory.begin(), one.room.memory.end(), kFill);
    one.calls_back = one_in(2);
    stria_recv_t recv{};
    recv.base = one.room.memory.data();
    recv.layout = one.room.layout;
    recv.count = one.room.count();
    recv.match = {from == World::kAny ? nullptr : world_.endpoint(at, from), one.tag, one.ignore};
    recv.callback = one.calls_back ? &on_received : nullptr;
    recv.user = &one;
    recv.flags = one_in(3) ? STRIA_RECV_LOOK : 0;
    stria_info_t info{};
    recv.info = &info;
    const stria_status_t answer = stria_recv(world_.worker(at), &recv, &one.request);
    one.answer = answer;
    if (answer == STRIA_IN_PROGRESS) return;
    if (answer < 0) info.status = answer;
    received(one, info);
  }

  void received(Receive& one, const stria_info_t& info) {
    ASSERT_FALSE(one.ended) << "receive " << one.number << " ended twice";
    one.ended = true;
    one.info = info;
    Bytes expected(one.room.memory.size(), kFill);
    expected.swap(one.room.memory);  // now the room is fresh, to find out where its bytes are
    if (info.status == STRIA_OK || info.status == STRIA_ERR_TRUNCATED) {
      ASSERT_LT(info.immediate, messages_.size());
      Message& message = messages_[info.immediate];
      ASSERT_EQ(message.receive, nullptr) << "message " << message.number << " was received twice";
      message.receive = &one;
      one.message = &message;
      ASSERT_TRUE(one.accepts(message)) << "receive " << one.number << ", message " << message.number;
      ASSERT_EQ(info.tag, message.tag);
      ASSERT_EQ(info.length, message.data.size());
      ASSERT_EQ(info.source, ids_[message.from]);
      ASSERT_EQ(info.received, std::min(one.room.bytes, message.data.size()));
      ASSERT_EQ(info.status, message.data.size() > one.room.bytes ? STRIA_ERR_TRUNCATED : STRIA_OK);
      for (std::size_t i = 0; i < info.received; ++i) one.room.at(i) = message.data[i];
      ASSERT_TRUE(expected == one.room.memory) << "receive " << one.number << ", message " << message.number;
    } else {
      if (info.status != STRIA_ERR_CANCELLED || !one.cancelled) {
        EXPECT_TRUE(is_troubled_ || one.at == closing_ || closing_ != World::kAny) << info.status;
      }
      EXPECT_EQ(info.received, 0u) << "of a receive that failed with " << info.status;
      for (std::size_t i = 0; i < one.room.bytes; ++i) one.room.at(i) = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_TRUE(one.room.memory[i] == 0 || expected[i] == kFill) << "a gap was written";
    }
    // Into the memory that the receive has named: it must be the same allocation.
    expected.swap(one.room.memory);
    one.room.give_back();
  }

  void cancel_some() {
    if (receives_.empty()) return;
    Receive& one = receives_[below(static_cast<unsigned>(receives_.size()))];
    if (one.ended || one.answer != STRIA_IN_PROGRESS || world_.worker(one.at) == nullptr ||
        one.at == closing_)
      return;
    cancel(one);
  }
  bool cancel(Receive& one) {
    const bool before = std::exchange(one.cancelled, true);
    const stria_status_t answer = stria_request_cancel(world_.worker(one.at), &one.request);
    if (answer != STRIA_OK) {
      one.cancelled = before;
      return false;
    }
    if (!one.calls_back) {
      stria_info_t info{};
      EXPECT_EQ(stria_request_test(&one.request, &info), STRIA_ERR_CANCELLED);
      received(one, info);
    }
    EXPECT_TRUE(one.ended);
    return true;
  }

  void probe() {
    const unsigned at = below(world_.size());
    if (world_.worker(at) == nullptr) return;
    stria_match_t match{nullptr, 0, kAnyTag};
    stria_info_t info{};
    if (stria_probe(world_.worker(at), &match, &info) != STRIA_OK) return;
    ASSERT_LT(info.immediate, messages_.size());
    EXPECT_EQ(messages_[info.immediate].receive, nullptr) << "a message was found that has its receive";
    EXPECT_EQ(info.length, messages_[info.immediate].data.size());
  }

  /// Receives all that was sent. What is left then, of posted receives, is cancelled.
  void finish() {
    if (trouble_ == 0) {
      for (unsigned rounds = 0; rounds < 4000; ++rounds) {
        const bool all = std::all_of(messages_.begin(), messages_.end(), [](const Message& one) {
          return one.ended() && one.receive != nullptr;
        });
        if (all) break;
        for (unsigned at = 0; at < world_.size(); ++at) {
          const auto waits = [&](const Message& one) { return one.to == at && one.receive == nullptr; };
          const auto posted = [&](const Receive& one) {
            return one.at == at && !one.ended && one.from == World::kAny && one.ignore != 0;
          };
          const auto left = std::count_if(messages_.begin(), messages_.end(), waits);
          if (left > std::count_if(receives_.begin(), receives_.end(), posted))
            receive(at, World::kAny, true);
        }
        for (int i = 0; i < 10; ++i) progress(below(world_.size()));
      }
      for (Message& one : messages_) {
        EXPECT_TRUE(one.ended()) << "message " << one.number;
        EXPECT_NE(one.receive, nullptr) << "message " << one.number;
        EXPECT_EQ(one.answer < 0 ? one.answer : one.info.status, STRIA_OK);
      }
    } else {
      for (unsigned i = 0; i < 3000; ++i) progress(below(world_.size()));
      // Ends what waits for the liveness interval.
      for (unsigned rank = 0; rank < world_.size(); ++rank)
        if (world_.worker(rank) != nullptr) stria_worker_wait(world_.worker(rank), 2);
      for (unsigned i = 0; i < 3000; ++i) progress(below(world_.size()));
    }
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      Receive& one = receives_[i];
      if (one.ended || one.at == dead_ || world_.worker(one.at) == nullptr) continue;
      if (cancel(one)) continue;
      // It has its message, of which more has to come, or its sender has to end.
      for (unsigned k = 0; k < 4000 && !one.ended; ++k) progress(below(world_.size()));
      if (!is_cut_) {
        EXPECT_TRUE(one.ended) << "receive " << one.number << " is neither cancelled nor ended";
      }
    }
  }

  /// A message that was sent before another one between the same workers has the older receive of those that
  /// accept both.
  void check_order() {
    for (const Message& first : messages_) {
      for (unsigned i = first.number + 1; i < messages_.size(); ++i) {
        const Message& second = messages_[i];
        if (second.from != first.from || second.to != first.to || second.receive == nullptr ||
            !second.receive->accepts(first))
          continue;
        const bool is_lost = first.receive == nullptr;
        if (is_lost && (trouble_ != 0)) continue;
        ASSERT_FALSE(is_lost) << "messages " << first.number << " and " << second.number;
        ASSERT_LT(first.receive->number, second.receive->number)
            << "messages " << first.number << " and " << second.number;
      }
    }
  }

  std::mt19937 random_;
  unsigned trouble_;
  World world_;
  std::vector<std::uint64_t> ids_;
  std::deque<Message> messages_;
  std::deque<Receive> receives_;
  unsigned dead_ = World::kAny, closing_ = World::kAny;
  bool is_troubled_ = false, is_cut_ = false;
};

class PlacedRandom : public testing::Test {
 protected:
  const Variable liveness_{"STRIA_LIVENESS_MS", "1"}, budget_{"STRIA_UNEXPECTED_BUDGET", "64M"},
      eager_{"STRIA_EAGER_LIMIT", "16K"};
  static void campaigns(bool has_trouble, unsigned count) {
    const auto only = static_cast<unsigned>(from_environment("STRIA_TEST_SEED", 0));
    std::uint64_t placed = 0;
    for (unsigned seed = only != 0 ? only : 1; seed <= (only != 0 ? only : rounds(count)) && !HasFailure();
         ++seed) {
      SCOPED_TRACE(testing::Message() << "STRIA_TEST_SEED=" << seed);
      PlacedCampaign campaign(seed, has_trouble);
      campaign.run();
      placed += campaign.placed;
    }
    EXPECT_TRUE(only != 0 || placed > 0);
    RecordProperty("placed", std::to_string(placed));
  }
};

TEST_F(PlacedRandom, messages_are_whole_in_order_and_received_once) {
  campaigns(false, 300);
}

TEST_F(PlacedRandom, receives_end_once_and_leave_memory_alone_when_workers_and_links_end) {
  campaigns(true, 600);
}

}  // namespace
}  // namespace stria::test
