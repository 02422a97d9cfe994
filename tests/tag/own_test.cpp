// Messages of a worker to itself that are copied to their receive at once: what is copied, in which order,
// and what goes the other way all the same.
#include <poll.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "tests/tag/shm_team.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

class Own : public testing::Test {
 protected:
  Own() {
    team_.join({{{"STRIA_SELF_COPY", "on"}}});
    endpoint_ = team_.endpoint(0, 0);
  }
  std::uint64_t copied() {
    stria_counters_t out{};
    out.size = sizeof(out);
    EXPECT_EQ(stria_worker_counters(team_.worker(0), &out), STRIA_OK);
    return out.copied_own;
  }
  stria_status_t recv(Op& op, void* to, std::uint64_t count, std::uint64_t tag, std::uint64_t ignore = 0,
                      bool any_source = false, const stria_layout_t* layout = nullptr) {
    stria_recv_t recv{};
    recv.base = to;
    recv.layout = layout;
    recv.count = count;
    recv.match = {any_source ? nullptr : endpoint_, tag, ignore};
    recv.callback = &Op::on_done;
    recv.user = &op;
    op.answer = stria_recv(team_.worker(0), &recv, &op.request);
    return op.answer;
  }
  stria_status_t send(Op& op, const void* from, std::uint64_t count, std::uint64_t tag,
                      std::uint32_t flags = 0, const stria_layout_t* layout = nullptr) {
    stria_send_t send{};
    send.base = from;
    send.layout = layout;
    send.count = count;
    send.tag = tag;
    send.immediate = 77;
    send.flags = flags;
    send.callback = &Op::on_done;
    send.user = &op;
    op.answer = stria_send(endpoint_, &send, (flags & STRIA_SEND_IMMEDIATE) != 0 ? nullptr : &op.request);
    return op.answer;
  }
  bool end(std::initializer_list<Op*> ops) {
    const auto all = [&] { return std::all_of(ops.begin(), ops.end(), [](Op* op) { return op->ended(); }); };
    for (int i = 0; i < 10000 && !all(); ++i) team_.progress(0, 1);
    return all();
  }

  ShmTeam team_;
  stria_endpoint_t* endpoint_ = nullptr;
};

TEST_F(Own, is_complete_when_the_send_returns) {
  for (const std::size_t bytes : {0, 1, 8, 64, 65, 2040, 4096, 4097, 24575, 24576, 24577, 131073, 3000001})
    for (const std::uint32_t flags :
         {0u, std::uint32_t{STRIA_SEND_SYNCHRONOUS}, std::uint32_t{STRIA_SEND_IMMEDIATE}}) {
      SCOPED_TRACE(bytes);
      std::vector<unsigned char> from(bytes + 1), to(bytes + 1, 99);
      std::iota(from.begin(), from.end(), static_cast<unsigned char>(bytes));
      const std::uint64_t before = copied();
      Op receiving, sending;
      ASSERT_EQ(recv(receiving, to.data(), bytes, 7), STRIA_IN_PROGRESS);
      ASSERT_EQ(send(sending, from.data(), bytes, 7, flags), STRIA_OK);
      EXPECT_EQ(receiving.callbacks, 1);
      EXPECT_EQ(sending.callbacks, 0);
      EXPECT_EQ(receiving.info.status, STRIA_OK);
      EXPECT_EQ(receiving.info.tag, 7u);
      EXPECT_EQ(receiving.info.immediate, 77u);
      EXPECT_EQ(receiving.info.length, bytes);
      EXPECT_EQ(receiving.info.received, bytes);
      EXPECT_EQ(receiving.info.source, stria_worker_id(team_.worker(0)));
      EXPECT_EQ(to[bytes], 99) << "written behind the end";
      to[bytes] = from[bytes];
      EXPECT_EQ(to, from);
      EXPECT_EQ(copied() - before, 1u);
    }
}

TEST_F(Own, is_cut_where_its_receive_ends) {
  std::vector<unsigned char> from(50000), to(40001, 99);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(3));
  Op receiving, sending;
  ASSERT_EQ(recv(receiving, to.data(), 40000, 7), STRIA_IN_PROGRESS);
  ASSERT_EQ(send(sending, from.data(), from.size(), 7), STRIA_OK);
  EXPECT_EQ(receiving.info.status, STRIA_ERR_TRUNCATED);
  EXPECT_EQ(receiving.info.length, 50000u);
  EXPECT_EQ(receiving.info.received, 40000u);
  EXPECT_TRUE(std::equal(to.begin(), to.end() - 1, from.begin()));
  EXPECT_EQ(to.back(), 99);
}

TEST_F(Own, goes_from_layout_to_layout) {
  constexpr std::size_t kN = 300;
  stria_layout_t *real = nullptr, *column = nullptr;
  ASSERT_EQ(stria_layout_bytes(8, &real), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(kN, 3, 8 * kN, real, &column), STRIA_OK);
  std::vector<double> from(kN * kN), to(kN * kN, -1), line(3 * kN);
  std::iota(from.begin(), from.end(), 0.0);
  Op receiving, sending, packing, packed;
  ASSERT_EQ(recv(receiving, &to[100], 1, 7, 0, false, column), STRIA_IN_PROGRESS);
  ASSERT_EQ(send(sending, &from[5], 1, 7, 0, column), STRIA_OK);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t row = i / kN, at = i % kN;
    ASSERT_EQ(to[i], at >= 100 && at < 103 ? static_cast<double>(row * kN + 5 + at - 100) : -1.0) << i;
  }
  ASSERT_EQ(recv(packed, line.data(), 8 * line.size(), 8), STRIA_IN_PROGRESS);
  ASSERT_EQ(send(packing, &from[5], 1, 8, 0, column), STRIA_OK);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t row = i / 3;
    ASSERT_EQ(line[i], static_cast<double>(row * kN + 5 + i % 3)) << i;
  }
  EXPECT_EQ(copied(), 2u);
  stria_layout_free(column);
  stria_layout_free(real);
}

TEST_F(Own, waits_behind_what_was_sent_before_it) {
  // The first finds no receive. When there is one for both, the first has to get it.
  Op first, second, one, two;
  const std::uint64_t sent[2] = {11, 22};
  std::uint64_t got[2] = {};
  ASSERT_NE(send(first, &sent[0], 8, 7), STRIA_ERR_INVALID);
  ASSERT_NE(recv(one, &got[0], 8, 9), STRIA_ERR_INVALID);  // for another tag: it looks for nothing
  ASSERT_NE(recv(two, &got[1], 8, 7), STRIA_ERR_INVALID);
  ASSERT_NE(send(second, &sent[1], 8, 7), STRIA_ERR_INVALID);
  ASSERT_TRUE(end({&first, &two}));
  EXPECT_EQ(got[1], 11u);
  Op three;
  ASSERT_NE(recv(three, &got[1], 8, 7), STRIA_ERR_INVALID);
  ASSERT_TRUE(end({&second, &three}));
  EXPECT_EQ(got[1], 22u);
  EXPECT_EQ(stria_request_cancel(team_.worker(0), &one.request), STRIA_OK);
}

TEST_F(Own, finds_receives_of_any_source_and_tag_in_their_order) {
  Op any, exact, sending[2];
  std::uint64_t got[2] = {};
  const std::uint64_t sent[2] = {11, 22};
  ASSERT_EQ(recv(any, &got[0], 8, 0, ~std::uint64_t{0}, true), STRIA_IN_PROGRESS);
  ASSERT_EQ(recv(exact, &got[1], 8, 7), STRIA_IN_PROGRESS);
  ASSERT_EQ(send(sending[0], &sent[0], 8, 7), STRIA_OK);
  ASSERT_EQ(send(sending[1], &sent[1], 8, 7), STRIA_OK);
  EXPECT_EQ(got[0], 11u);
  EXPECT_EQ(got[1], 22u);
  EXPECT_EQ(any.info.tag, 7u);
  EXPECT_EQ(copied(), 2u);
}

/// A worker that one thread sleeps on, by its descriptor, while another one works.
class OwnOfThreads : public Own {
 protected:
  OwnOfThreads() {
    team_.join({{{"STRIA_LIVENESS_MS", "60000"}}}, STRIA_THREAD_MULTIPLE);  // or that wakes it
    worker_ = team_.worker(1);
    to_itself_ = team_.endpoint(1, 1);
  }
  ~OwnOfThreads() override { EXPECT_EQ(stria_config_set("STRIA_LIVENESS_MS", "500", "test"), STRIA_OK); }
  /// Posts the receive, and says whether its thread wakes up after `work` of the other one.
  template <class Work>
  bool wakes_after(Work work) {
    int fd = -1;
    EXPECT_EQ(stria_worker_event_fd(worker_, &fd), STRIA_OK);
    stria_recv_t recv{};
    recv.base = &got_;
    recv.count = sizeof got_;
    recv.match = {to_itself_, 7, 0};
    EXPECT_EQ(stria_recv(worker_, &recv, &receiving_), STRIA_IN_PROGRESS);
    for (int i = 0; i < 100 && stria_worker_arm(worker_) != STRIA_OK; ++i) team_.progress(1, 1);
    pollfd entry{fd, POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, 0), 0);
    std::thread(work).join();
    return ::poll(&entry, 1, 5000) == 1;
  }

  stria_worker_t* worker_ = nullptr;
  stria_endpoint_t* to_itself_ = nullptr;
  stria_request_t receiving_{};
  std::uint64_t got_ = 0;
};

TEST_F(OwnOfThreads, wakes_who_sleeps_on_the_descriptor_for_its_receive) {
  const std::uint64_t from = 5;
  EXPECT_TRUE(wakes_after([&] {
    stria_send_t send{};
    send.base = &from;
    send.count = sizeof from;
    send.tag = 7;
    stria_request_t sending;
    EXPECT_EQ(stria_send(to_itself_, &send, &sending), STRIA_OK);
  }));
  EXPECT_EQ(stria_request_test(&receiving_, nullptr), STRIA_OK);
  EXPECT_EQ(got_, from);
}

TEST_F(OwnOfThreads, a_cancel_wakes_who_sleeps_on_the_descriptor) {
  EXPECT_TRUE(wakes_after([&] { EXPECT_EQ(stria_request_cancel(worker_, &receiving_), STRIA_OK); }));
}

TEST_F(Own, goes_the_other_way_when_it_is_long) {
  const std::size_t most = std::size_t{4} << 20;  // STRIA_RNDV_PULL_SLICE
  for (const std::size_t bytes : {most, most + 1}) {
    std::vector<unsigned char> from(bytes), to(bytes);
    std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
    const std::uint64_t before = copied();
    Op receiving, sending;
    ASSERT_EQ(recv(receiving, to.data(), bytes, 7), STRIA_IN_PROGRESS);
    ASSERT_EQ(send(sending, from.data(), bytes, 7), bytes > most ? STRIA_IN_PROGRESS : STRIA_OK);
    ASSERT_TRUE(end({&sending, &receiving}));
    EXPECT_EQ(to, from);
    EXPECT_EQ(copied() - before, bytes > most ? 0u : 1u);
  }
}

TEST_F(Own, makes_progress_now_and_then_in_a_program_that_exchanges_with_itself_alone) {
  const unsigned other = team_.join({});
  stria_endpoint_t* from_other = team_.endpoint(other, 0);
  std::uint64_t sent = 9, got = 0;
  Op hears;
  ASSERT_EQ(recv(hears, &got, 8, 1, 0, true), STRIA_IN_PROGRESS);
  stria_send_t send_it{};
  send_it.base = &sent;
  send_it.count = 8;
  send_it.tag = 1;
  stria_request_t request;
  ASSERT_GE(stria_send(from_other, &send_it, &request), STRIA_OK);
  team_.progress(other, 1);
  int exchanges = 0;
  for (; exchanges < 2000 && !hears.ended(); ++exchanges) {
    std::uint64_t from = 5, to = 0;
    Op receiving, sending;
    ASSERT_EQ(recv(receiving, &to, 8, 7), STRIA_IN_PROGRESS);
    ASSERT_EQ(send(sending, &from, 8, 7), STRIA_OK);
    while (!receiving.ended()) team_.progress(0, 1);  // as a wait does
    ASSERT_EQ(to, 5u);
  }
  EXPECT_TRUE(hears.ended());
  EXPECT_GT(exchanges, 200);
  EXPECT_EQ(got, 9u);
}

/// Receives and sends the next message from within the end of the last one.
struct Chain {
  stria_worker_t* worker;
  stria_endpoint_t* endpoint;
  int left;
  int deep = 0, deepest = 0;
  std::uint64_t from = 5, to = 0;
  stria_request_t receiving, sending;

  void next() {
    stria_recv_t recv{};
    recv.base = &to;
    recv.count = sizeof to;
    recv.match = {endpoint, 7, 0};
    recv.callback = [](stria_request_t*, const stria_info_t*, void* user) {
      static_cast<Chain*>(user)->arrived();
    };
    recv.user = this;
    ASSERT_EQ(stria_recv(worker, &recv, &receiving), STRIA_IN_PROGRESS);
    stria_send_t send{};
    send.base = &from;
    send.count = sizeof from;
    send.tag = 7;
    ASSERT_EQ(stria_send(endpoint, &send, &sending), STRIA_OK);
  }
  void arrived() {
    deepest = std::max(deepest, ++deep);
    if (--left > 0) next();
    --deep;
  }
};

TEST_F(Own, does_not_go_deeper_with_each_message_of_a_callback) {
  Chain chain{.worker = team_.worker(0), .endpoint = endpoint_, .left = 5000, .receiving = {}, .sending = {}};
  chain.next();
  for (int i = 0; i < 20000 && chain.left > 0; ++i) team_.progress(0, 1);
  EXPECT_EQ(chain.left, 0);
  EXPECT_EQ(chain.deepest, 1);
}

TEST_F(Own, keeps_order_in_any_mix) {
  // Receives and sends of two tags at random; of each tag message i is receive i's, whichever came first.
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr std::size_t kMessages = 3000;
  struct Stream {
    std::vector<std::vector<std::uint32_t>> sent, got;
    std::vector<Op> sends = std::vector<Op>(kMessages), receives = std::vector<Op>(kMessages);
    std::size_t posted = 0;
  };
  Stream streams[2];
  while (streams[0].posted < kMessages || streams[1].posted < kMessages ||
         streams[0].sent.size() < kMessages || streams[1].sent.size() < kMessages) {
    const std::size_t which = random() % 2;
    Stream& stream = streams[which];
    if (random() % 2 == 0 && stream.posted < kMessages && stream.posted < stream.sent.size() + 20) {
      stream.got.emplace_back(3000);
      const bool any = random() % 4 == 0;
      ASSERT_GE(recv(stream.receives[stream.posted], stream.got.back().data(), 12000, which, 0, any),
                STRIA_OK);
      ++stream.posted;
    } else if (stream.sent.size() < kMessages && stream.sent.size() < stream.posted + 20) {
      const std::size_t words = random() % 4 == 0 ? random() % 3000 : random() % 20;
      stream.sent.emplace_back(words, static_cast<std::uint32_t>(stream.sent.size()));
      const std::uint32_t flags = random() % 8 == 0 ? std::uint32_t{STRIA_SEND_SYNCHRONOUS} : 0u;
      ASSERT_GE(
          send(stream.sends[stream.sent.size() - 1], stream.sent.back().data(), 4 * words, which, flags),
          STRIA_OK);
    }
    if (random() % 4 == 0) team_.progress(0, 1);
  }
  for (Stream& stream : streams)
    for (std::size_t i = 0; i < kMessages; ++i) {
      ASSERT_TRUE(end({&stream.sends[i], &stream.receives[i]})) << i;
      ASSERT_TRUE(std::equal(stream.sent[i].begin(), stream.sent[i].end(), stream.got[i].begin())) << i;
      if (stream.receives[i].answer == STRIA_IN_PROGRESS) {
        ASSERT_EQ(stream.receives[i].info.received, 4 * stream.sent[i].size()) << i;
      }
    }
  EXPECT_GT(copied(), 0u);
  EXPECT_LT(copied(), 2 * kMessages);
}

}  // namespace
}  // namespace stria::test
