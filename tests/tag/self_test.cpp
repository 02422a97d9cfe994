// A worker that sends to itself, as to any other peer: one copy from 4 KiB on, whatever the layouts are, and
// every byte right. What is copied without a packet is own_test.cpp's.
#include <algorithm>
#include <numeric>

#include "rndv/cost_model.hpp"
#include "tests/tag/shm_team.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

class Self : public testing::Test {
 protected:
  Self() {
    team_.join({{{"STRIA_SELF_COPY", "off"}}});
    endpoint_ = team_.endpoint(0, 0);
  }
  stria_counters_t counters() {
    stria_counters_t out{};
    out.size = sizeof(out);
    EXPECT_EQ(stria_worker_counters(team_.worker(0), &out), STRIA_OK);
    return out;
  }
  /// One message; the receive is posted first, or afterwards.
  void message(const void* from, const stria_layout_t* from_layout, std::uint64_t from_count, void* to,
               const stria_layout_t* to_layout, std::uint64_t to_count, bool posted) {
    Op sending, receiving;
    const auto receive = [&] {
      stria_recv_t recv{};
      recv.base = to;
      recv.layout = to_layout;
      recv.count = to_count;
      recv.match = {endpoint_, 7, 0};
      recv.callback = &Op::on_done;
      recv.user = &receiving;
      receiving.answer = stria_recv(team_.worker(0), &recv, &receiving.request);
    };
    if (posted) receive();
    stria_send_t send{};
    send.base = from;
    send.layout = from_layout;
    send.count = from_count;
    send.tag = 7;
    send.callback = &Op::on_done;
    send.user = &sending;
    sending.answer = stria_send(endpoint_, &send, &sending.request);
    for (int i = 0; i < 50; ++i) stria_worker_progress(team_.worker(0));
    if (!posted) receive();
    for (int i = 0; i < 10000 && !(sending.ended() && receiving.ended()); ++i)
      stria_worker_progress(team_.worker(0));
    ASSERT_TRUE(sending.ended() && receiving.ended());
  }

  ShmTeam team_;
  stria_endpoint_t* endpoint_ = nullptr;
};

TEST_F(Self, copies_once_what_is_long) {
  const std::size_t most = rndv::kSelfEager;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, most, most + 1, std::size_t{65536},
                                  std::size_t{131072}, std::size_t{3000001}})
    for (const bool posted : {true, false}) {
      SCOPED_TRACE(bytes);
      std::vector<unsigned char> from(bytes), to(bytes);
      std::iota(from.begin(), from.end(), static_cast<unsigned char>(bytes));
      const std::uint64_t before = counters().received_get;
      message(from.data(), nullptr, bytes, to.data(), nullptr, bytes, posted);
      EXPECT_EQ(to, from);
      EXPECT_EQ(counters().received_get - before, bytes > most ? 1u : 0u);
    }
  EXPECT_EQ(counters().received_pipeline, 0u);
}

TEST_F(Self, copies_from_layout_to_layout) {
  constexpr std::size_t kN = 300;
  stria_layout_t *real = nullptr, *column = nullptr;
  ASSERT_EQ(stria_layout_bytes(8, &real), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(kN, 3, 8 * kN, real, &column), STRIA_OK);
  std::vector<double> from(kN * kN), to(kN * kN, -1);
  std::iota(from.begin(), from.end(), 0.0);
  for (const bool posted : {true, false}) {
    std::fill(to.begin(), to.end(), -1.0);
    message(&from[5], column, 1, &to[100], column, 1, posted);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t row = i / kN, at = i % kN;
      ASSERT_EQ(to[i], at >= 100 && at < 103 ? static_cast<double>(row * kN + 5 + at - 100) : -1.0) << i;
    }
  }
  EXPECT_EQ(counters().received_get, 2u);
  EXPECT_EQ(counters().received_pipeline, 0u);
  stria_layout_free(column);
  stria_layout_free(real);
}

}  // namespace
}  // namespace stria::test
