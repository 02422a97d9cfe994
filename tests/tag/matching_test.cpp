// Matching against a reference model: random sends and receives between a few workers, over thousands of
// schedules of the fake provider, with every mix of PIO, buffered and rendezvous traffic. The model is MPI's
// rule, written naively.
#include <algorithm>
#include <deque>
#include <list>
#include <random>

#include "tests/rounds.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

struct Message {
  unsigned from, to;
  std::uint64_t tag;
  std::vector<unsigned char> bytes;
  std::uint32_t serial;
  bool matched = false;
  Op op;
};

struct Receive {
  unsigned at, from;
  std::uint64_t tag, ignore;
  std::vector<unsigned char> room;
  Op op;
};

// What MPI promises of an outcome: among the messages of one sender that a receive accepts, none may be
// matched before an earlier one; and a receive may not get a message that an earlier posted receive of the
// same worker accepts, when both could have had it. The first is checked on the serials of each (receive
// pattern, sender); the second by replaying.
void check_order(const std::list<Receive>& receives, const std::list<Message>& messages, unsigned workers) {
  std::vector<const Message*> by_serial;
  for (const Message& message : messages) by_serial.push_back(&message);
  const auto accepts = [](const Receive& receive, const Message& message) {
    return receive.at == message.to && (receive.from == World::kAny || receive.from == message.from) &&
           ((receive.tag ^ message.tag) & ~receive.ignore) == 0;
  };
  // Receives of one worker in order of posting; each took the message whose serial is in info.immediate.
  for (unsigned at = 0; at < workers; ++at) {
    std::vector<const Receive*> posted;
    for (const Receive& receive : receives)
      if (receive.at == at && receive.op.info.status != STRIA_ERR_CANCELLED) posted.push_back(&receive);
    for (std::size_t later = 0; later < posted.size(); ++later) {
      const Message& got = *by_serial[posted[later]->op.info.immediate];
      ASSERT_TRUE(accepts(*posted[later], got));
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        const Message& other = *by_serial[posted[earlier]->op.info.immediate];
        // Two messages of one sender that both receives accept must arrive in the order they were sent.
        if (other.from != got.from || !accepts(*posted[earlier], got) || !accepts(*posted[later], other))
          continue;
        ASSERT_LT(other.serial, got.serial) << "receive " << later << " overtook receive " << earlier;
      }
    }
  }
}

/// One schedule: random actions of three workers, then all that is left, then the checks. What is drawn, and
/// in which order, depends on the seed alone.
class Schedule {
 public:
  explicit Schedule(std::uint64_t seed)
      : random_(seed),
        options_(draw_options(seed)),
        world_(3, options_,
               {{{"STRIA_EAGER_LIMIT", pick(2) ? "16K" : "300"}}, {{"STRIA_RNDV_FRAGMENT", "1K"}}}) {}

  void run() {
    constexpr unsigned kActions = 60;
    for (unsigned i = 0; i < kActions; ++i) {
      if (pick(2) == 0) {
        ASSERT_NO_FATAL_FAILURE(send());
      } else {
        ASSERT_NO_FATAL_FAILURE(receive());
      }
      for (std::uint64_t n = pick(4); n > 0; --n) world_.step();
    }
    for (unsigned i = 0; i < 20; ++i) world_.step();
    receive_the_rest();
    ASSERT_NO_FATAL_FAILURE(finish());
    ASSERT_NO_FATAL_FAILURE(check_bytes());
    check_order(receives_, messages_, 3);
    for (unsigned rank = 0; rank < 3; ++rank)
      ASSERT_EQ(fake::valid_keys(world_.fabric(), stria_worker_id(world_.worker(rank))), 0u)
          << "a key outlived its message";
  }

 private:
  static constexpr std::uint64_t kRoom = 5000;  // of each receive: the longest message

  std::uint64_t pick(std::uint64_t n) { return random_() % n; }

  fake::FabricOptions draw_options(std::uint64_t seed) {
    fake::FabricOptions options;
    options.seed = seed;
    options.delay = static_cast<std::uint32_t>(pick(12));
    options.queue = static_cast<std::uint32_t>(1 + pick(20));
    options.no_resource_percent = static_cast<std::uint32_t>(pick(2) * pick(60));
    options.connect_delay = static_cast<std::uint32_t>(pick(5));
    options.async_percent = static_cast<std::uint32_t>(pick(2) * 50);
    options.pio = pick(4) != 0;
    options.keeps = pick(2) != 0;
    options.get = pick(3) != 0;
    options.fast_register = pick(4) != 0;
    options.send_invalidate = pick(4) != 0;
    options.offload = options.send_invalidate && pick(3) == 0;
    options.pio_max = 40 + static_cast<std::uint32_t>(pick(200));
    options.eager_max = 512;
    share_memory(options, random_);
    return options;
  }

  void send() {
    static constexpr std::uint64_t kSizes[] = {0,   1,   8,   40,  41,  64,   200,  299,
                                               300, 301, 511, 512, 513, 2000, kRoom};
    Message& message = messages_.emplace_back();
    message.from = static_cast<unsigned>(pick(3));
    message.to = static_cast<unsigned>(pick(3));
    message.tag = pick(3);
    message.serial = serial_++;
    message.bytes.resize(kSizes[pick(std::size(kSizes))]);
    for (auto& byte : message.bytes) byte = static_cast<unsigned char>(random_());
    world_.send(message.op, message.from, message.to, message.tag, message.bytes.data(), message.bytes.size(),
                message.serial, pick(5) == 0 ? STRIA_SEND_SYNCHRONOUS : 0);
    ASSERT_TRUE(message.op.answer == STRIA_OK || message.op.answer == STRIA_IN_PROGRESS);
  }

  void receive() {
    Receive& receive = receives_.emplace_back();
    receive.at = static_cast<unsigned>(pick(3));
    receive.from = pick(3) == 0 ? World::kAny : static_cast<unsigned>(pick(3));
    receive.tag = pick(3);
    receive.ignore = pick(4) == 0 ? ~0ull : pick(5) == 0 ? 1 : 0;
    post(receive);
    ASSERT_TRUE(receive.op.answer == STRIA_OK || receive.op.answer == STRIA_IN_PROGRESS);
  }
  void post(Receive& receive) {
    receive.room.assign(kRoom, 0xee);
    world_.recv(receive.op, receive.at, receive.from, receive.tag, receive.ignore, receive.room.data(),
                kRoom);
  }

  /// At each worker as many receives of anything as there are messages, so that every message ends.
  void receive_the_rest() {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      for (unsigned at = 0; at < 3; ++at) {
        Receive& receive = receives_.emplace_back();
        receive.at = at;
        receive.from = World::kAny;
        receive.tag = 0;
        receive.ignore = ~0ull;
        post(receive);
      }
    }
  }

  /// Waits until every message has its receive, and cancels the receives that are left.
  void finish() {
    const bool finished = world_.run_until([&] {
      for (Message& message : messages_)
        if (!message.op.ended()) return false;
      std::size_t got = 0;
      for (Receive& receive : receives_) got += receive.op.ended();
      return got == messages_.size();
    });
    ASSERT_TRUE(finished) << "messages or receives never ended";
    for (Receive& receive : receives_) {
      if (!receive.op.ended()) {
        ASSERT_EQ(stria_request_cancel(world_.worker(receive.at), &receive.op.request), STRIA_OK);
        ASSERT_EQ(receive.op.info.status, STRIA_ERR_CANCELLED);
      }
    }
  }

  void check_bytes() {
    std::vector<Message*> by_serial;
    for (Message& message : messages_) by_serial.push_back(&message);
    for (Receive& receive : receives_) {
      if (receive.op.info.status == STRIA_ERR_CANCELLED) continue;
      ASSERT_EQ(receive.op.info.status, STRIA_OK);
      Message& message = *by_serial.at(receive.op.info.immediate);
      ASSERT_FALSE(message.matched) << "one message for two receives";
      message.matched = true;
      ASSERT_EQ(receive.op.info.length, message.bytes.size());
      ASSERT_EQ(receive.op.info.received, message.bytes.size());
      ASSERT_EQ(receive.op.info.tag, message.tag);
      ASSERT_EQ(receive.op.info.source, stria_worker_id(world_.worker(message.from)));
      ASSERT_TRUE(std::equal(message.bytes.begin(), message.bytes.end(), receive.room.begin()));
      for (std::size_t i = message.bytes.size(); i < receive.room.size(); ++i)
        ASSERT_EQ(receive.room[i], 0xee);
      ASSERT_LE(receive.op.callbacks, 1);
    }
  }

  std::mt19937_64 random_;
  const fake::FabricOptions options_;
  World world_;
  std::list<Message> messages_;
  std::list<Receive> receives_;
  std::uint32_t serial_ = 0;
};

void run_schedule(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Schedule(seed).run();
}

TEST(Matching, keeps_order_and_bytes_over_thousands_of_schedules) {
  const std::int64_t count = rounds(2000);
  for (std::int64_t seed = 1; seed <= count; ++seed) {
    run_schedule(static_cast<std::uint64_t>(seed));
    if (HasFatalFailure()) FAIL() << "failed with seed " << seed;
  }
}

}  // namespace
}  // namespace stria::test
