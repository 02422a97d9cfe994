// Short messages whose receives look at the link of their source first: on a path that delays, refuses and
// reorders as it may, each receive has the message that is its own in MPI's order, whoever finds it. Every
// choice is drawn from the seed.
#include <algorithm>
#include <deque>
#include <random>

#include "tests/rounds.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

constexpr unsigned kTags = 3, kRoom = 700;

struct Message {
  unsigned number = 0;
  std::vector<unsigned char> data, room = std::vector<unsigned char>(kRoom, 0xee);
  Op send, recv;
};

class Campaign {
 public:
  explicit Campaign(unsigned seed) : random_(seed), world_(3, options(seed)) {}

  void run() {
    for (unsigned step = 0; step < 1200; ++step) {
      const unsigned choice = below(10);
      const unsigned from = below(3), to = (from + 1 + below(2)) % 3, tag = below(kTags);
      if (choice < 3 && step < 900)
        send(from, to, tag);
      else if (choice < 7)
        receive(from, to, tag);
      else
        stria_worker_progress(world_.worker(below(3)));
    }
    for (unsigned way = 0; way < 9 * kTags; ++way)
      while (received_[way] < messages_[way].size()) receive(way / kTags / 3, way / kTags % 3, way % kTags);
    ASSERT_TRUE(world_.run_until([&] {
      return std::all_of(std::begin(messages_), std::end(messages_), [](auto& way) {
        return std::all_of(way.begin(), way.end(),
                           [](Message& m) { return m.send.ended() && m.recv.ended(); });
      });
    }));
    for (auto& way : messages_)
      for (Message& m : way) {
        ASSERT_EQ(m.recv.info.status, STRIA_OK);
        ASSERT_EQ(m.recv.info.length, m.data.size());
        ASSERT_EQ(m.recv.info.immediate, m.number);
        ASSERT_TRUE(std::equal(m.data.begin(), m.data.end(), m.room.begin()));
        ASSERT_TRUE(std::all_of(m.room.begin() + static_cast<std::ptrdiff_t>(m.data.size()), m.room.end(),
                                [](unsigned char byte) { return byte == 0xee; }));
      }
    taken = fake::statistics(world_.fabric()).taken;
  }
  std::uint64_t taken = 0;

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  fake::FabricOptions options(unsigned seed) {
    fake::FabricOptions made;
    made.seed = seed;
    made.delay = below(4);
    made.queue = 2 + below(20);
    made.no_resource_percent = below(2) * below(50);
    made.pio = below(4) != 0;
    made.pio_max = 16 + below(200);
    made.keeps = below(2) != 0;
    share_memory(made, random_);
    return made;
  }
  std::deque<Message>& way(unsigned from, unsigned to, unsigned tag) {
    return messages_[(from * 3 + to) * kTags + tag];
  }
  void send(unsigned from, unsigned to, unsigned tag) {
    Message& m = way(from, to, tag).emplace_back();
    m.number = numbers_++;
    m.data.resize(below(4) == 0 ? below(kRoom) : below(60));
    for (auto& byte : m.data) byte = static_cast<unsigned char>(random_());
    ASSERT_GE(world_.send(m.send, from, to, tag, m.data.data(), m.data.size(), m.number), 0);
  }
  /// The next one of the way, if there is one that was sent, or is to be sent at once.
  void receive(unsigned from, unsigned to, unsigned tag) {
    std::size_t& next = received_[(from * 3 + to) * kTags + tag];
    if (next == way(from, to, tag).size()) return;
    Message& m = way(from, to, tag)[next++];
    stria_recv_t recv{};
    recv.base = m.room.data();
    recv.count = m.room.size();
    recv.match = {world_.endpoint(to, from), tag, 0};
    recv.flags = below(4) == 0 ? 0u : STRIA_RECV_LOOK | (below(4) == 0 ? STRIA_RECV_WAITS : 0u);
    recv.callback = &Op::on_done;
    recv.user = &m.recv;
    m.recv.answer = stria_recv(world_.worker(to), &recv, &m.recv.request);
    ASSERT_GE(m.recv.answer, 0);
    if (m.recv.answer == STRIA_OK) {
      EXPECT_EQ(stria_request_test(&m.recv.request, &m.recv.info), STRIA_OK);
    }
  }

  std::mt19937 random_;
  World world_;
  unsigned numbers_ = 0;
  std::deque<Message> messages_[9 * kTags];
  std::size_t received_[9 * kTags] = {};
};

TEST(LookRandom, each_receive_gets_its_message_whoever_finds_it) {
  const auto only = static_cast<unsigned>(from_environment("STRIA_TEST_SEED", 0));
  std::uint64_t taken = 0;
  for (unsigned seed = only != 0 ? only : 1; seed <= (only != 0 ? only : rounds(300)) && !HasFailure();
       ++seed) {
    SCOPED_TRACE(testing::Message() << "STRIA_TEST_SEED=" << seed);
    Campaign campaign(seed);
    campaign.run();
    taken += campaign.taken;
  }
  EXPECT_TRUE(only != 0 || taken > 0) << "no packet was taken where it lay";
}

}  // namespace
}  // namespace stria::test
