// stria.hpp over the real library: two workers of one process. Included beside the library's own Status,
// Error and Result on purpose: the two vocabularies must not clash.
#include "base/result.hpp"
#include "datatype/layout.hpp"
#include "stria/stria.hpp"
// after it, so that a missing include of the header itself shows
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace st = stria::api;

namespace {

static_assert(!std::is_same_v<st::Error, stria::Error> &&
              !std::is_same_v<st::Layout, stria::datatype::Layout>);
static_assert(!std::is_copy_constructible_v<st::Request> && !std::is_move_constructible_v<st::Request>);
static_assert(std::is_copy_constructible_v<st::Layout> && !std::is_copy_constructible_v<st::Worker>);
static_assert(!std::is_constructible_v<st::Memory, const std::vector<int>&>,
              "a receive must not write to const memory");
static_assert(std::is_constructible_v<st::ConstMemory, const std::vector<int>&>);

struct Wrapper : ::testing::Test {
  st::Context context;
  st::Worker here{context};
  st::Worker there{context};
  st::Endpoint to_there{here, there.address()};

  /// Both sides take what is still under way; a close would wait for the other side, which this thread is
  /// too.
  void TearDown() override {
    for (int idle = 0; idle < 100;) idle = here.progress() + there.progress() == 0 ? idle + 1 : 0;
  }
  /// Progresses both sides until `request` of `worker` ended.
  st::Info finish(st::Request& request) {
    st::Info info{};
    for (int i = 0; i < 1000000 && request.test(&info) == STRIA_IN_PROGRESS; ++i) {
      here.progress();
      there.progress();
    }
    return info;
  }
};

TEST_F(Wrapper, sends_values_and_tells_tag_immediate_and_source) {
  const std::vector<int> sent = {1, 2, 3, 4};
  std::array<int, 4> got{};
  st::Request sending;
  st::Request receiving;
  ASSERT_GE(there.recv(got, {.tag = 0x1200, .ignore = 0xff}, receiving), STRIA_OK);
  ASSERT_GE(to_there.send(sent, 0x1234, sending, {.immediate = 99}), STRIA_OK);
  const st::Info info = finish(receiving);
  EXPECT_EQ(finish(sending).status, STRIA_OK);
  EXPECT_EQ(info.status, STRIA_OK);
  EXPECT_EQ(info.tag, 0x1234u);
  EXPECT_EQ(info.immediate, 99u);
  EXPECT_EQ(info.source, here.id());
  EXPECT_EQ(info.length, sizeof got);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), got.begin()));
}

TEST_F(Wrapper, a_truncated_receive_delivers_what_fits_and_says_so) {
  const std::vector<char> sent(100, 'x');
  std::vector<char> got(10, '-');
  st::Request sending;
  st::Request receiving;
  ASSERT_GE(there.recv(got, {.tag = 1}, receiving), STRIA_OK);
  ASSERT_GE(to_there.send(sent, 1, sending), STRIA_OK);
  const st::Info info = finish(receiving);
  EXPECT_EQ(info.status, STRIA_ERR_TRUNCATED);
  EXPECT_EQ(info.length, 100u);
  EXPECT_EQ(info.received, 10u);
  EXPECT_EQ(got, std::vector<char>(10, 'x'));
  finish(sending);
}

TEST_F(Wrapper, a_large_strided_message_lands_in_another_layout) {
  constexpr std::int64_t kN = 700;
  std::vector<double> matrix(kN * kN);
  std::iota(matrix.begin(), matrix.end(), 0.0);
  std::vector<double> rows(10 * kN, -1.0);
  const st::Layout columns =
      st::Layout::resized(st::Layout::vector(kN, 1, kN * 8, st::Layout::of<double>()), 0, sizeof(double));
  st::Request sending;
  st::Request receiving;
  ASSERT_GE(there.recv(rows, {.tag = 2}, receiving), STRIA_OK);
  ASSERT_GE(to_there.send({&matrix[5], columns, 10}, 2, sending, {.synchronous = true}), STRIA_OK);
  EXPECT_EQ(finish(receiving).status, STRIA_OK);
  EXPECT_EQ(finish(sending).status, STRIA_OK);
  for (std::int64_t column = 0; column < 10; ++column)
    for (std::int64_t row = 0; row < kN; ++row)
      ASSERT_EQ(rows[static_cast<std::size_t>(column * kN + row)],
                static_cast<double>(row * kN + column + 5));
}

TEST_F(Wrapper, a_probe_looks_and_a_matched_probe_takes) {
  const std::array<int, 2> sent = {7, 8};
  std::array<int, 2> got{};
  st::Request sending;
  st::Request receiving;
  EXPECT_FALSE(there.probe({.tag = 3}).has_value());
  ASSERT_GE(to_there.send(sent, 3, sending), STRIA_OK);
  for (int i = 0; i < 1000000 && !there.probe({.tag = 3}); ++i) {
    here.progress();
    there.progress();
  }
  ASSERT_TRUE(there.probe({.tag = 3}).has_value());
  auto message = there.mprobe({.tag = 3});
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->info().length, sizeof sent);
  EXPECT_FALSE(there.probe({.tag = 3}).has_value());
  ASSERT_GE(there.mrecv(*message, got, receiving), STRIA_OK);
  EXPECT_EQ(finish(receiving).status, STRIA_OK);
  EXPECT_EQ(got, sent);
  finish(sending);
}

TEST_F(Wrapper, a_receive_that_nobody_answers_can_be_cancelled) {
  std::array<int, 1> got{};
  st::Request receiving;
  ASSERT_EQ(there.recv(got, {.tag = 4}, receiving), STRIA_IN_PROGRESS);
  EXPECT_TRUE(receiving.active());
  EXPECT_EQ(there.cancel(receiving), STRIA_OK);
  EXPECT_EQ(receiving.test(), STRIA_ERR_CANCELLED);
  EXPECT_FALSE(receiving.active());
}

TEST_F(Wrapper, a_peer_reads_and_writes_a_region_through_its_key) {
  std::vector<int> memory(1000);
  std::iota(memory.begin(), memory.end(), 0);
  const st::Region region(there, memory, STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE);
  ASSERT_GE(to_there.connect(), STRIA_OK);
  const st::Key key(to_there, region.key());
  std::vector<int> copy(10);
  st::Request reading;
  ASSERT_GE(to_there.get(copy, key, 100 * sizeof(int), reading), STRIA_OK);
  EXPECT_EQ(finish(reading).status, STRIA_OK);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(copy[static_cast<std::size_t>(i)], 100 + i);
  const std::vector<int> fresh = {-1, -2, -3};
  st::Request writing;
  ASSERT_GE(to_there.put(fresh, key, 500 * sizeof(int), writing), STRIA_OK);
  EXPECT_EQ(finish(writing).status, STRIA_OK);
  EXPECT_EQ(memory[499], 499);
  EXPECT_EQ(memory[500], -1);
  EXPECT_EQ(memory[502], -3);
  EXPECT_EQ(memory[503], 503);
  st::Request beyond;
  const st::Status refused = to_there.get(copy, key, 999 * sizeof(int), beyond);
  EXPECT_EQ(refused < STRIA_OK ? refused : finish(beyond).status, STRIA_ERR_ACCESS);
}

TEST_F(Wrapper, a_peer_changes_words_of_a_region) {
  std::vector<std::uint64_t> words = {5, 6, 7};
  const st::Region region(there, words, STRIA_ACCESS_REMOTE_ATOMIC);
  const st::Key key(to_there, region.key());
  std::uint64_t before = 0;
  st::Request request;
  ASSERT_GE(to_there.fetch_add(key, 8, 10, before, request), STRIA_OK);
  EXPECT_EQ(finish(request).status, STRIA_OK);
  EXPECT_EQ(before, 6u);
  ASSERT_GE(to_there.compare_swap(key, 16, 7, 70, before, request), STRIA_OK);
  EXPECT_EQ(finish(request).status, STRIA_OK);
  EXPECT_EQ(before, 7u);
  ASSERT_GE(to_there.compare_swap(key, 16, 7, 71, before, request), STRIA_OK);
  EXPECT_EQ(finish(request).status, STRIA_OK);
  EXPECT_EQ(before, 70u) << "another value than the expected one";
  EXPECT_EQ(words, (std::vector<std::uint64_t>{5, 16, 70}));
  EXPECT_EQ(to_there.fetch_add(key, 24, 1, before, request), STRIA_ERR_ACCESS);
}

TEST_F(Wrapper, memory_of_the_context_carries_messages) {
  std::optional<st::Buffer> out_memory;
  std::optional<st::Buffer> in_memory;
  try {
    out_memory.emplace(context, 100000);
    in_memory.emplace(context, 100000);
  } catch (const st::Error& error) {
    ASSERT_EQ(error.status(), STRIA_ERR_UNSUPPORTED) << error.what();
    GTEST_SKIP() << error.what();
  }
  const st::Buffer& out = *out_memory;
  const st::Buffer& in = *in_memory;
  std::memset(out.bytes().data(), 0x5a, out.bytes().size());
  st::Request sending;
  st::Request receiving;
  ASSERT_GE(there.recv(in.bytes(), {.tag = 6}, receiving), STRIA_OK);
  ASSERT_GE(to_there.send(out.bytes(), 6, sending), STRIA_OK);
  EXPECT_EQ(finish(receiving).status, STRIA_OK);
  EXPECT_EQ(std::memcmp(in.bytes().data(), out.bytes().data(), in.bytes().size()), 0);
  finish(sending);
}

TEST(Layouts, pack_and_unpack_any_range_and_share_copies) {
  const st::Layout column = st::Layout::vector(4, 1, 2, st::Layout::of<char>());
  st::Layout copy = column;
  copy = st::Layout(copy);
  const char memory[] = "a.b.c.d.";
  std::array<std::byte, 2> middle{};
  ASSERT_EQ(copy.pack(memory, 1, 1, middle), STRIA_OK);
  EXPECT_EQ(static_cast<char>(middle[0]), 'b');
  EXPECT_EQ(static_cast<char>(middle[1]), 'c');
  char out[] = "________";
  ASSERT_EQ(copy.unpack(out, 1, 2, middle), STRIA_OK);
  EXPECT_STREQ(out, "____b_c_");
  EXPECT_EQ(copy.bounds().size, 4);
  EXPECT_EQ(copy.bounds().blocks, 4);
  EXPECT_EQ(copy.dump(), column.dump());
  EXPECT_NE(copy.dump().find("strided(4, 2"), std::string::npos) << copy.dump();
}

TEST(Errors, name_the_call_and_the_value) {
  try {
    st::Layout::bytes(-5);
    FAIL() << "a negative size was taken";
  } catch (const st::Error& error) {
    EXPECT_EQ(error.status(), STRIA_ERR_INVALID);
    EXPECT_NE(std::string(error.what()).find("stria_layout_bytes"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("-5"), std::string::npos) << error.what();
    const std::string what = error.what();
    EXPECT_EQ(what.find("stria_layout_bytes"), what.rfind("stria_layout_bytes")) << "once in " << what;
  }
  st::Context context;
  st::Worker worker(context);
  const std::array<std::byte, 8> nonsense{};
  EXPECT_THROW(st::Endpoint(worker, nonsense), st::Error);
}

TEST(Errors, of_an_outcome_have_its_own_reason) {
  const st::Context context;
  st::Worker worker(context);
  st::Endpoint self(worker, worker.address());
  const std::array<char, 16> out{};
  std::array<char, 8> in{};
  st::Request receiving, sending;
  const auto fail_otherwise = [] { EXPECT_THROW(st::Layout::bytes(-1), st::Error); };
  const auto what_of = [](st::Status status) {
    try {
      st::check(status, "the call");
    } catch (const st::Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  fail_otherwise();
  st::check(worker.recv(in, {.tag = 1}, receiving), "recv");
  st::check(self.send(out, 1, sending), "send");
  const st::Status outcome = worker.wait(receiving);
  ASSERT_EQ(outcome, STRIA_ERR_TRUNCATED);
  const std::string what = what_of(outcome);
  EXPECT_NE(what.find("16 bytes"), std::string::npos) << what;
  EXPECT_NE(what.find("8 bytes"), std::string::npos) << what;
  EXPECT_EQ(worker.wait(sending), STRIA_OK);
  // Looked at after another call failed: without a reason rather than with that one's.
  fail_otherwise();
  EXPECT_EQ(what_of(outcome), std::string("the call: ") + stria_status_string(outcome));
  EXPECT_EQ(receiving.test(), STRIA_ERR_TRUNCATED);
  EXPECT_EQ(what_of(outcome), what);
}

TEST(Blocking, calls_answer_the_outcome) {
  const st::Context context;
  st::Worker worker(context);
  st::Endpoint self(worker, worker.address());
  const std::vector<int> sent = {1, 2, 3};
  std::vector<int> got(3);
  st::Info info{};
  EXPECT_EQ(self.send_wait(sent, 1, {.immediate = 4}), STRIA_OK);
  EXPECT_EQ(worker.recv_wait(got, {.tag = 1, .source = &self}, &info), STRIA_OK);
  EXPECT_EQ(info.immediate, 4u);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(self.send_now(sent, 2), STRIA_OK);
  st::Request receiving;
  const st::RecvOptions all{.look = true, .waits = true, .info = &info, .notify = {}};
  ASSERT_GE(worker.recv(got, {.tag = 2}, receiving, all), STRIA_OK);
  EXPECT_EQ(worker.wait(receiving, &info), STRIA_OK);
  EXPECT_EQ(info.tag, 2u);
  std::vector<std::uint64_t> words = {5, 6};
  const st::Region region(worker, words,
                          STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC);
  const st::Key key(self, region.key());
  std::uint64_t word = 0;
  EXPECT_EQ(self.get_wait(std::span(&word, 1), key, 8), STRIA_OK);
  EXPECT_EQ(word, 6u);
  word = 9;
  EXPECT_EQ(self.put_wait(std::span(&word, 1), key, 0), STRIA_OK);
  EXPECT_EQ(self.atomic_wait(st::FetchAdd{1}, key, 0, word), STRIA_OK);
  EXPECT_EQ(word, 9u);
  EXPECT_EQ(self.atomic_wait(st::CompareSwap{10, 20}, key, 0, word), STRIA_OK);
  EXPECT_EQ(word, 10u);
  EXPECT_EQ(words, (std::vector<std::uint64_t>{20, 6}));
  EXPECT_EQ(self.get_wait(std::span(&word, 1), key, 9), STRIA_ERR_ACCESS);
}

TEST(Layouts, a_subarray_is_a_face_of_a_block) {
  constexpr std::int64_t kN = 6;
  std::vector<double> block(kN * kN * kN);
  std::iota(block.begin(), block.end(), 0.0);
  const st::Layout face =
      st::Layout::subarray({kN, kN, kN}, {kN, 1, kN}, {0, 4, 0}, st::Layout::of<double>());
  EXPECT_EQ(face.bounds().size, kN * kN * 8);
  EXPECT_EQ(face.bounds().extent, kN * kN * kN * 8);
  std::vector<double> packed(kN * kN);
  ASSERT_EQ(face.pack(block.data(), 1, 0, std::as_writable_bytes(std::span(packed))), STRIA_OK);
  for (std::int64_t i = 0; i < kN; ++i)
    for (std::int64_t k = 0; k < kN; ++k)
      EXPECT_EQ(packed[static_cast<std::size_t>(i * kN + k)], static_cast<double>((i * kN + 4) * kN + k));
  const std::vector<std::int64_t> sizes = {4, 4}, two = {2, 2}, start = {1, 1};
  EXPECT_EQ(st::Layout::subarray(sizes, two, start, st::Layout::of<int>(), STRIA_ORDER_FORTRAN).dump(),
            st::Layout::subarray(sizes, two, start, st::Layout::of<int>()).dump());
  try {
    st::Layout::subarray({4, 4}, {2, 3}, {1, 2}, st::Layout::of<int>());
    FAIL() << "a box outside of its array was taken";
  } catch (const st::Error& error) {
    EXPECT_NE(std::string(error.what()).find("dimension 1: subsize 3 from start 2 on"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(st::Layout::subarray(sizes, two, std::span(start).first(1), st::Layout::of<int>()), st::Error);
  stria_layout_t* out = nullptr;
  EXPECT_EQ(
      stria_layout_subarray(65, sizes.data(), two.data(), start.data(), STRIA_ORDER_C, face.get(), &out),
      STRIA_ERR_INVALID);
  EXPECT_NE(std::string(stria_last_error()).find("65"), std::string::npos) << stria_last_error();
}

}  // namespace
