// A message of the short classes allocates nothing: neither what is stored inline nor what is packed into
// provider memory, contiguous or not, on either side, expected or not. Every allocation of the process is
// counted (counted_memory.hpp). The first messages make the pools; then there is nothing to be made.
#include <algorithm>
#include <cstring>

#include "tests/tag/counted_memory.hpp"
#include "tests/tag/shm_pair.hpp"

namespace stria::test {
namespace {

constexpr unsigned kWarmUp = 100;
constexpr unsigned kCounted = 200;
constexpr std::size_t kLongest = 16384;
constexpr std::size_t kWord = 8, kSentPitch = 40, kRoomPitch = 24;

struct Case {
  const char* name;
  bool sent_strided, received_strided, expected;
};

class NoAllocation : public ShmPair, public testing::WithParamInterface<Case> {
 protected:
  NoAllocation() {
    team_.progress(0);
    team_.progress(1);
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<unsigned char>(i * 7 + i / 251);
  }
  static stria_layout_t* words(std::size_t bytes, std::size_t pitch) {
    stria_layout_t *word = nullptr, *out = nullptr;
    EXPECT_EQ(stria_layout_bytes(kWord, &word), STRIA_OK);
    EXPECT_EQ(stria_layout_vector(static_cast<std::int64_t>(bytes / kWord), 1,
                                  static_cast<std::int64_t>(pitch), word, &out),
              STRIA_OK);
    stria_layout_free(word);
    return out;
  }
  stria_counters_t counters() {
    stria_counters_t out{};
    out.size = sizeof(out);
    EXPECT_EQ(stria_worker_counters(team_.worker(0), &out), STRIA_OK);
    return out;
  }
  /// A message, sent and received; nothing here allocates. False: it did not go as it should.
  bool exchange(std::size_t bytes, const stria_layout_t* sent, const stria_layout_t* received) {
    stria_send_t send{};
    send.base = data_.data();
    send.layout = sent;
    send.count = sent == nullptr ? bytes : 1;
    send.tag = kTag;
    stria_recv_t recv{};
    recv.base = room_.data();
    recv.layout = received;
    recv.count = received == nullptr ? bytes : 1;
    recv.match = {from_, kTag, 0};
    stria_request_t sending, receiving;
    stria_status_t got = STRIA_IN_PROGRESS;
    if (GetParam().expected) got = stria_recv(team_.worker(1), &recv, &receiving);
    if (stria_send(to_, &send, &sending) != STRIA_OK) return false;  // eager: gone at once
    team_.progress(1, 3);
    if (!GetParam().expected) got = stria_recv(team_.worker(1), &recv, &receiving);
    stria_info_t info{};
    while (got == STRIA_IN_PROGRESS) {
      team_.progress(1, 1);
      got = stria_request_test(&receiving, &info);
    }
    team_.progress(0, 1);
    return got == STRIA_OK;
  }
  bool arrived(std::size_t bytes) const {
    const std::size_t from = GetParam().sent_strided ? kSentPitch : kWord,
                      to = GetParam().received_strided ? kRoomPitch : kWord;
    for (std::size_t i = 0; i < bytes / kWord; ++i)
      if (std::memcmp(&data_[i * from], &room_[i * to], kWord) != 0) return false;
    return std::memcmp(&data_[bytes / kWord * from], &room_[bytes / kWord * to], bytes % kWord) == 0;
  }
  void expect_none(std::size_t bytes) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes");
    stria_layout_t* sent = GetParam().sent_strided ? words(bytes, kSentPitch) : nullptr;
    stria_layout_t* received = GetParam().received_strided ? words(bytes, kRoomPitch) : nullptr;
    for (unsigned i = 0; i < kWarmUp; ++i) ASSERT_TRUE(exchange(bytes, sent, received));
    std::fill(room_.begin(), room_.end(), 0);
    const stria_counters_t before = counters();
    const std::uint64_t made = counted::allocations();
    unsigned right = 0;
    for (unsigned i = 0; i < kCounted; ++i) right += exchange(bytes, sent, received) ? 1 : 0;
    EXPECT_EQ(counted::allocations() - made, 0u) << "of " << kCounted << " messages";
    const stria_counters_t after = counters();
    EXPECT_EQ(right, kCounted);
    EXPECT_TRUE(arrived(bytes)) << "wrong bytes";
    EXPECT_EQ(after.sent_pio + after.sent_buffered - before.sent_pio - before.sent_buffered, kCounted);
    stria_layout_free(sent);
    stria_layout_free(received);
  }

  std::vector<unsigned char> data_ = std::vector<unsigned char>(kLongest / kWord * kSentPitch + kWord);
  std::vector<unsigned char> room_ = std::vector<unsigned char>(kLongest / kWord * kRoomPitch + kWord);
};

TEST_P(NoAllocation, by_a_message_whatever_its_length) {
  if (!GetParam().sent_strided && !GetParam().received_strided)
    for (const std::size_t bytes : {0u, 1u, 7u, 8u, 31u, 32u, 33u, 40u, 41u}) expect_none(bytes);
  for (std::size_t bytes = 64; bytes <= kLongest; bytes *= 2) {
    expect_none(bytes);
    expect_none(bytes - kWord);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, NoAllocation,
    testing::Values(Case{"contiguous", false, false, true},
                    Case{"contiguous_unexpected", false, false, false}, Case{"strided", true, true, true},
                    Case{"strided_unexpected", true, true, false}, Case{"gathered", true, false, true},
                    Case{"scattered", false, true, true}, Case{"scattered_unexpected", false, true, false}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace stria::test
