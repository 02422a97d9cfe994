// What the API promises beyond matching: truncation, probes, cancels, layouts on both sides, puts and gets.
#include <algorithm>
#include <numeric>

#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

struct Variant {
  bool get, put, pio, keys;
  bool offload = false;
};

class Semantics : public ::testing::TestWithParam<Variant> {
 protected:
  static fake::FabricOptions options() {
    fake::FabricOptions out;
    out.delay = 2;
    out.get = GetParam().get;
    out.put = GetParam().put;
    out.pio = GetParam().pio;
    out.fast_register = GetParam().keys;
    out.offload = GetParam().offload;
    out.async_percent = 50;
    out.eager_max = 1024;
    return out;
  }
};

TEST_P(Semantics, truncation_delivers_what_fits_and_says_so) {
  World world(2, options(), {{{"STRIA_EAGER_LIMIT", "1K"}}});
  for (const std::uint64_t bytes : {10ull, 200ull, 1024ull, 5000ull}) {
    for (const bool expected : {true, false}) {
      std::vector<char> data(bytes), room(bytes, 'x');
      std::iota(data.begin(), data.end(), 0);
      Op send, recv;
      if (expected) world.recv(recv, 1, 0, 1, 0, room.data(), bytes / 2);
      world.send(send, 0, 1, 1, data.data(), bytes);
      for (int i = 0; i < 100; ++i) world.step();
      if (!expected) world.recv(recv, 1, 0, 1, 0, room.data(), bytes / 2);
      ASSERT_TRUE(world.run_until([&] { return recv.ended() && send.ended(); }));
      EXPECT_EQ(recv.info.status, STRIA_ERR_TRUNCATED);
      EXPECT_EQ(recv.info.length, bytes);
      EXPECT_EQ(recv.info.received, bytes / 2);
      EXPECT_TRUE(
          std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(bytes / 2), room.begin()));
      EXPECT_EQ(room[bytes / 2], 'x');
    }
  }
}

TEST_P(Semantics, an_immediate_send_connects_for_who_repeats_it) {
  World world(2, options());
  const char byte = 7;
  char room = 0;
  Op recv;
  world.recv(recv, 1, 0, 1, 0, &room, 1);
  stria_send_t send{};
  send.base = &byte;
  send.count = 1;
  send.tag = 1;
  send.flags = STRIA_SEND_IMMEDIATE;
  stria_status_t answer = STRIA_ERR_NO_RESOURCE;
  ASSERT_TRUE(world.run_until([&] {
    if (answer == STRIA_ERR_NO_RESOURCE) answer = stria_send(world.endpoint(0, 1), &send, nullptr);
    return answer != STRIA_ERR_NO_RESOURCE && recv.ended();
  }));
  EXPECT_EQ(answer, STRIA_OK);
  EXPECT_EQ(room, 7);
}

TEST_P(Semantics, a_request_that_called_back_says_the_same_to_who_asks_it) {
  World world(2, options());
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{5000}, std::size_t{1} << 20}) {
    const std::vector<char> data(bytes, 7);
    std::vector<char> room(bytes);
    Op send, recv;
    std::memset(&recv.request, 0xab, sizeof(recv.request));
    world.recv(recv, 1, 0, 33, 0, room.data(), bytes);
    world.send(send, 0, 1, 33, data.data(), bytes);
    ASSERT_TRUE(world.run_until([&] { return recv.callbacks == 1 && send.ended(); }));
    stria_info_t info{};
    ASSERT_EQ(stria_request_test(&recv.request, &info), STRIA_OK);
    EXPECT_EQ(info.status, STRIA_OK) << bytes;
    EXPECT_EQ(info.tag, 33u) << bytes;
    EXPECT_EQ(info.length, bytes);
    EXPECT_EQ(info.received, bytes);
    EXPECT_EQ(info.source, recv.info.source) << bytes;
    EXPECT_EQ(stria_request_wait(world.worker(1), &recv.request, nullptr), STRIA_OK) << bytes;
  }
}

TEST_P(Semantics, an_immediate_send_is_over_at_once_or_did_not_happen) {
  World world(2, options(), {{{"STRIA_EAGER_LIMIT", "1K"}}});
  const std::vector<char> data(5000, 7);
  stria_send_t send{};
  send.base = data.data();
  send.tag = 1;
  send.flags = STRIA_SEND_IMMEDIATE;
  send.count = 100;
  EXPECT_EQ(stria_send(world.endpoint(0, 1), &send, nullptr), STRIA_ERR_NO_RESOURCE) << "not connected yet";
  Op first, first_recv;
  char room[200];
  world.send(first, 0, 1, 0, data.data(), 1);
  world.recv(first_recv, 1, 0, 0, 0, room, 1);
  ASSERT_TRUE(world.run_until([&] { return first.ended() && first_recv.ended(); }));

  send.count = data.size();
  EXPECT_EQ(stria_send(world.endpoint(0, 1), &send, nullptr), STRIA_ERR_NO_RESOURCE) << "to be announced";
  send.count = 100;
  send.flags |= STRIA_SEND_SYNCHRONOUS;
  EXPECT_EQ(stria_send(world.endpoint(0, 1), &send, nullptr), STRIA_ERR_NO_RESOURCE)
      << "has to be waited for";
  send.flags = STRIA_SEND_IMMEDIATE;
  unsigned sent = 0;
  while (sent < 100 && stria_send(world.endpoint(0, 1), &send, nullptr) == STRIA_OK) ++sent;
  EXPECT_GT(sent, 0u);
  for (unsigned i = 0; i < sent; ++i) {
    Op recv;
    std::memset(room, 0, sizeof room);
    world.recv(recv, 1, 0, 1, 0, room, sizeof room);
    ASSERT_TRUE(world.run_until([&] { return recv.ended(); }));
    EXPECT_EQ(recv.info.length, 100u);
    EXPECT_EQ(room[99], 7);
  }
  for (int i = 0; i < 100; ++i) world.step();
  const stria_match_t any{nullptr, 0, ~0ull};
  stria_info_t info;
  EXPECT_EQ(stria_probe(world.worker(1), &any, &info), STRIA_IN_PROGRESS) << "a refused send left something";
  send.flags = 0;
  EXPECT_EQ(stria_send(world.endpoint(0, 1), &send, nullptr), STRIA_ERR_INVALID);
}

TEST_P(Semantics, synchronous_send_waits_for_its_receive) {
  World world(2, options());
  Op send, recv;
  char byte = 3, room = 0;
  ASSERT_EQ(world.send(send, 0, 1, 1, &byte, 1, 0, STRIA_SEND_SYNCHRONOUS), STRIA_IN_PROGRESS);
  for (int i = 0; i < 200; ++i) world.step();
  EXPECT_FALSE(send.ended());
  world.recv(recv, 1, 0, 1, 0, &room, 1);
  ASSERT_TRUE(world.run_until([&] { return recv.ended() && send.ended(); }));
  EXPECT_EQ(room, 3);
}

TEST_P(Semantics, probe_sees_and_mprobe_takes_a_message) {
  World world(2, options());
  for (const std::uint64_t bytes : {0ull, 8ull, 100ull, 9000ull}) {
    std::vector<char> data(bytes, 'p'), room(bytes);
    Op send, recv;
    world.send(send, 0, 1, 77, data.data(), bytes, 5);
    const stria_match_t match = {nullptr, 0, ~0ull};
    stria_info_t info{};
    ASSERT_TRUE(world.run_until([&] { return stria_probe(world.worker(1), &match, &info) == STRIA_OK; }));
    EXPECT_EQ(info.length, bytes);
    EXPECT_EQ(info.tag, 77u);
    EXPECT_EQ(info.immediate, 5u);
    stria_message_t* message = nullptr;
    ASSERT_EQ(stria_mprobe(world.worker(1), &match, &message, &info), STRIA_OK);
    EXPECT_EQ(stria_probe(world.worker(1), &match, &info), STRIA_IN_PROGRESS);
    stria_recv_t args{};
    args.base = room.data();
    args.count = bytes;
    args.callback = &Op::on_done;
    args.user = &recv;
    recv.answer = stria_mrecv(world.worker(1), message, &args, &recv.request);
    ASSERT_TRUE(world.run_until([&] { return recv.ended() && send.ended(); }));
    EXPECT_EQ(room, data);
  }
}

TEST_P(Semantics, layouts_on_both_sides_exchange_equal_bytes) {
  World world(2, options());
  stria_layout_t *real = nullptr, *column = nullptr, *pairs = nullptr;
  ASSERT_EQ(stria_layout_bytes(8, &real), STRIA_OK);
  for (const std::int64_t n : {1, 5, 60, 700}) {
    ASSERT_EQ(stria_layout_vector(n * 2, 1, 8 * 16, real, &column), STRIA_OK);
    ASSERT_EQ(stria_layout_vector(n, 2, 8 * 5, real, &pairs), STRIA_OK);
    std::vector<double> matrix(static_cast<std::size_t>(n) * 2 * 16),
        sink(static_cast<std::size_t>(n) * 5, -1);
    std::iota(matrix.begin(), matrix.end(), 0.0);
    Op send, recv;
    world.recv(recv, 1, 0, 1, 0, sink.data(), 1, pairs);
    world.send(send, 0, 1, 1, matrix.data() + 3, 1, 0, 0, column);
    ASSERT_TRUE(world.run_until([&] { return recv.ended() && send.ended(); }));
    for (std::int64_t i = 0; i < n * 2; ++i) {
      ASSERT_EQ(sink[static_cast<std::size_t>(i / 2 * 5 + i % 2)],
                matrix[static_cast<std::size_t>(i * 16 + 3)]);
    }
    for (std::int64_t i = 0; i + 1 < n; ++i) ASSERT_EQ(sink[static_cast<std::size_t>(i * 5 + 2)], -1);
    stria_layout_free(column);
    stria_layout_free(pairs);
  }
  stria_layout_free(real);
}

TEST_P(Semantics, put_and_get_move_bytes_and_respect_the_key) {
  World world(2, options());
  std::vector<char> target(5000);
  std::iota(target.begin(), target.end(), 0);
  stria_region_t* region = nullptr;
  ASSERT_EQ(stria_region_register(world.worker(1), target.data(), nullptr, target.size(),
                                  STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE, &region),
            STRIA_OK);
  std::array<char, STRIA_KEY_MAX> packed;
  std::size_t bytes = packed.size();
  ASSERT_EQ(stria_region_key(region, packed.data(), &bytes), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(world.endpoint(0, 1), packed.data(), bytes, &key), STRIA_OK);
  const auto run = [&](bool get, char* base, std::uint64_t count, std::uint64_t offset) {
    Op op;
    stria_rma_t rma{};
    rma.base = base;
    rma.count = count;
    rma.key = key;
    rma.remote_offset = offset;
    rma.callback = &Op::on_done;
    rma.user = &op;
    op.answer = get ? stria_get(world.endpoint(0, 1), &rma, &op.request)
                    : stria_put(world.endpoint(0, 1), &rma, &op.request);
    if (op.answer < 0) return op.answer;
    EXPECT_TRUE(world.run_until([&] { return op.ended(); }));
    return op.answer == STRIA_OK ? STRIA_OK : op.info.status;
  };
  std::vector<char> local(3000);
  ASSERT_EQ(run(true, local.data(), 3000, 1000), STRIA_OK);
  EXPECT_TRUE(std::equal(local.begin(), local.end(), target.begin() + 1000));
  std::fill(local.begin(), local.end(), 'w');
  ASSERT_EQ(run(false, local.data(), 3000, 500), STRIA_OK);
  EXPECT_EQ(std::count(target.begin(), target.end(), 'w'),
            3000 + std::count(target.begin(), target.begin() + 500, 'w') +
                std::count(target.begin() + 3500, target.end(), 'w'));
  EXPECT_EQ(run(true, local.data(), 3000, 2001), STRIA_ERR_ACCESS);
  ASSERT_EQ(stria_region_deregister(region), STRIA_OK);
  EXPECT_EQ(run(true, local.data(), 10, 0), STRIA_ERR_ACCESS) << "a stale key";
  EXPECT_EQ(run(false, local.data(), 10, 0), STRIA_ERR_ACCESS) << "a stale key";
  stria_key_close(key);
}

INSTANTIATE_TEST_SUITE_P(Paths, Semantics,
                         ::testing::Values(Variant{true, true, true, true}, Variant{false, false, true, true},
                                           Variant{true, true, false, true}, Variant{true, true, true, false},
                                           Variant{true, true, true, true, true}));

TEST(Semantics, cancel_ends_a_receive_that_was_not_matched) {
  World world(1, {});
  Op recv, send;
  char room[4];
  world.recv(recv, 0, World::kAny, 1, 0, room, 4);
  EXPECT_EQ(stria_request_cancel(world.worker(0), &recv.request), STRIA_OK);
  EXPECT_EQ(recv.callbacks, 1);
  EXPECT_EQ(recv.info.status, STRIA_ERR_CANCELLED);
  world.send(send, 0, 0, 1, "abc", 4);
  for (int i = 0; i < 50; ++i) world.step();
  stria_counters_t counters{};
  counters.size = sizeof(counters);
  stria_worker_counters(world.worker(0), &counters);
  EXPECT_EQ(counters.unexpected_messages, 1u) << "the cancelled receive must not take it";
}

TEST(Semantics, progress_does_nothing_inside_the_callback_of_a_cancel) {
  struct Inside {
    World world{2, quick()};
    unsigned handled = 1;
    static void on_ended(stria_request_t*, const stria_info_t*, void* user) {
      auto& inside = *static_cast<Inside*>(user);
      inside.handled = stria_worker_progress(inside.world.worker(1));
    }
  } inside;
  char room[8] = {};
  stria_recv_t recv{};
  recv.base = room;
  recv.count = sizeof(room);
  recv.match.tag = 5;
  recv.callback = &Inside::on_ended;
  recv.user = &inside;
  stria_request_t request;
  ASSERT_EQ(stria_recv(inside.world.worker(1), &recv, &request), STRIA_IN_PROGRESS);
  Op op;
  inside.world.send(op, 0, 1, 6, room, 1);
  ASSERT_EQ(stria_request_cancel(inside.world.worker(1), &request), STRIA_OK);
  EXPECT_EQ(inside.handled, 0u);
  EXPECT_EQ(counters(inside.world, 1).unexpected_messages, 0u);
  EXPECT_TRUE(
      inside.world.run_until([&] { return counters(inside.world, 1).unexpected_messages == 1; }, 100));
}

TEST(Semantics, refuses_bad_input_by_name) {
  World world(1, {});
  stria_endpoint_t* endpoint = nullptr;
  stria_endpoint_params_t params{};
  params.size = sizeof(params);
  params.address = "nonsense, but long enough";
  params.address_bytes = 25;
  EXPECT_EQ(stria_endpoint_open(world.worker(0), &params, &endpoint), STRIA_ERR_INVALID);
  EXPECT_NE(std::string(stria_last_error()).find("address"), std::string::npos);
  EXPECT_EQ(stria_config_set("STRIA_NO_SUCH", "1", "test"), STRIA_ERR_INVALID);
  EXPECT_EQ(stria_config_set("STRIA_EAGER_LIMIT", "12Q", "test"), STRIA_ERR_INVALID);
  EXPECT_NE(std::string(stria_last_error()).find("12Q"), std::string::npos);
}

}  // namespace
}  // namespace stria::test
