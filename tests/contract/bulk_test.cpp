// The group bulk: a packet is sent out of the caller's memory, which is the caller's again at the completion,
// told once for each send, and not before.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "datatype/layout.hpp"
#include "tests/contract/subject.hpp"
#include "transport/payload.hpp"

namespace stria::contract {
namespace {

class BulkContract : public Contract {
 protected:
  BulkContract() : a(open(1)), b(open(2)), link(a->connect(*b)) {}
  /// False: the test is skipped.
  bool can() const { return a->has(STRIA_CAP_ZCOPY); }
  std::size_t most() const { return a->limits(link).zcopy_max; }
  /// Sends, progressing both while there is no resource.
  Status send(const stria_header_t& header, const stria_payload_t& payload, Ending& ending) {
    Status answer = Status::no_resource;
    drive({a.get(), b.get()}, [&] {
      answer = a->zcopy_send(link, header, payload, ending);
      return answer != Status::no_resource;
    });
    return answer;
  }
  bool drive_until_received(std::size_t count) {
    return drive({a.get(), b.get()}, [&] { return b->received.size() == count; });
  }
  std::unique_ptr<Peer> a, b;
  stria_link_t* link;
};

TEST_P(BulkContract, payloads_of_every_size_arrive_and_each_send_that_is_under_way_ends_once) {
  if (!can()) GTEST_SKIP() << lacks("zero-copy sends");
  ASSERT_GT(most(), 0u);
  std::uint16_t sequence = 0;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{33}, most() / 3 + 1, most() - 1, most()}) {
    for (int round = 0; round < 8; ++round, ++sequence) {
      const Bytes data = pattern(sequence, bytes);
      Ending ending;
      stria_header_t sent = header(sequence);
      stria_payload_t payload = contiguous(data);
      const Status answer = send(sent, payload, ending);
      std::memset(&sent, 0xff, sizeof sent);  // both are the caller's on return
      std::memset(&payload, 0xff, sizeof payload);
      ASSERT_TRUE(answer == Status::ok || answer == Status::in_progress);
      ASSERT_TRUE(drive({a.get(), b.get()}, [&] {
        return b->received.size() == 1 && (answer == Status::ok || ending.calls == 1);
      }));
      const Received& got = b->received.front();
      EXPECT_EQ(got.payload, data);
      EXPECT_EQ(got.path, Path::buffered);
      EXPECT_EQ(got.header.sequence, sequence);
      EXPECT_EQ(got.header.tag, header(sequence).tag);
      b->received.clear();
      drive_for({a.get(), b.get()}, 5);
      EXPECT_EQ(ending.calls, answer == Status::ok ? 0 : 1);
      if (ending.calls != 0) {
        EXPECT_EQ(ending.status, Status::ok);
      }
    }
  }
}

TEST_P(BulkContract, memory_that_is_written_anew_right_after_its_completion_was_sent_as_it_was) {
  if (!can()) GTEST_SKIP() << lacks("zero-copy sends");
  struct Send : Ending {
    Bytes memory;
  };
  const std::uint16_t count = packets(40);
  std::vector<std::unique_ptr<Send>> sends;
  for (std::uint16_t i = 0; i < count; ++i) {
    Send& one = *sends.emplace_back(std::make_unique<Send>());
    one.memory = pattern(i, most() / (1 + i % 7u));
    one.base.done = [](stria_completion_t* self, stria_status_t) {
      auto& ended = *static_cast<Send*>(reinterpret_cast<Ending*>(self));
      ++ended.calls;
      std::fill(ended.memory.begin(), ended.memory.end(), std::byte{0xdd});
    };
    const Status answer = send(header(i), contiguous(one.memory), one);
    ASSERT_TRUE(answer == Status::ok || answer == Status::in_progress);
    if (answer == Status::ok) std::fill(one.memory.begin(), one.memory.end(), std::byte{0xdd});
  }
  ASSERT_TRUE(drive_until_received(count));
  for (std::uint16_t i = 0; i < count; ++i) {
    const Received& got = b->received[i];
    ASSERT_EQ(got.header.sequence, i);
    EXPECT_EQ(got.payload, pattern(i, most() / (1 + i % 7u))) << i;
  }
}

TEST_P(BulkContract, keeps_the_order_of_buffered_packets) {
  if (!can()) GTEST_SKIP() << lacks("zero-copy sends");
  const std::uint16_t count = packets(60);
  const std::size_t eager = std::min<std::size_t>(a->limits(link).eager_max, 500);
  std::deque<Bytes> memory;
  std::deque<Ending> endings;
  for (std::uint16_t i = 0; i < count; ++i) {
    memory.push_back(pattern(i, i % 3 == 0 ? eager : most() / 2));
    if (i % 3 == 0) {
      ASSERT_EQ(contract::send({a.get(), b.get()}, *a, link, Path::buffered, header(i), memory.back()),
                Status::ok);
    } else {
      const Status answer = send(header(i), contiguous(memory.back()), endings.emplace_back());
      ASSERT_TRUE(answer == Status::ok || answer == Status::in_progress);
    }
  }
  ASSERT_TRUE(drive_until_received(count));
  for (std::uint16_t i = 0; i < count; ++i) {
    EXPECT_EQ(b->received[i].header.sequence, i);
    EXPECT_EQ(b->received[i].payload, memory[i]);
  }
}

TEST_P(BulkContract, one_completion_stands_for_many_sends) {
  if (!can()) GTEST_SKIP() << lacks("zero-copy sends");
  const std::uint16_t count = packets(30);
  const Bytes data = pattern(1, most());
  Ending all;
  int wanted = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    const Status answer = send(header(i), contiguous(data), all);
    ASSERT_TRUE(answer == Status::ok || answer == Status::in_progress);
    wanted += answer == Status::in_progress ? 1 : 0;
  }
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == count && all.calls == wanted; }));
  drive_for({a.get(), b.get()}, 20);
  EXPECT_EQ(all.calls, wanted);
}

TEST_P(BulkContract, sends_out_of_layouts_or_refuses_them_and_then_nothing_is_sent) {
  if (!can()) GTEST_SKIP() << lacks("zero-copy sends");
  using datatype::Layout;
  const Layout layouts[] = {*Layout::vector(7, 1, 3000, Layout::bytes(1200)),
                            *Layout::vector(100, 1, 24, Layout::bytes(8))};
  std::uint16_t sequence = 0;
  for (const Layout& layout : layouts) {
    const std::int64_t fits = static_cast<std::int64_t>(most()) / layout.size();
    if (fits == 0) continue;
    for (const std::int64_t count : {std::int64_t{1}, fits}) {
      Bytes memory = pattern(9, static_cast<std::size_t>(layout.extent() * count));
      const std::int64_t all = layout.size() * count;
      for (const auto& [offset, length] :
           {std::pair<std::int64_t, std::int64_t>{0, all}, {all / 3, all / 2}}) {
        const stria_payload_t payload{&layout, memory.data(), count, offset, length};
        Bytes packed(static_cast<std::size_t>(length));
        transport::pack(payload, packed.data());
        Ending ending;
        const Status answer = send(header(++sequence), payload, ending);
        if (answer == Status::unsupported) {
          drive_for({a.get(), b.get()}, 20);
          EXPECT_TRUE(b->received.empty());
          EXPECT_EQ(ending.calls, 0);
          continue;
        }
        ASSERT_TRUE(drive({a.get(), b.get()}, [&] {
          return b->received.size() == 1 && (answer == Status::ok || ending.calls == 1);
        }));
        EXPECT_EQ(b->received.front().payload, packed);
        b->received.clear();
      }
    }
  }
}

TEST_P(BulkContract, what_is_outstanding_when_the_peer_closes_ends_once_before_link_down) {
  if (!can()) GTEST_SKIP() << lacks("zero-copy sends");
  const Bytes data = pattern(1, most());
  for (std::uint16_t i = 0; i < 3; ++i) {
    Ending warm;
    static_cast<void>(send(header(i), contiguous(data), warm));
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == i + 1u; }));
    drive_for({a.get(), b.get()}, 20);
  }
  std::vector<std::unique_ptr<Ending>> sends;
  for (std::uint16_t i = 0; i < 50; ++i) {
    auto one = std::make_unique<Ending>();
    const Status answer = a->zcopy_send(link, header(i), contiguous(data), *one);
    if (answer == Status::in_progress) sends.push_back(std::move(one));
    if (answer == Status::no_resource && i > 10) break;
  }
  b->close(100);
  ASSERT_TRUE(drive({a.get()}, [&] { return a->downs.size() == 1; }));
  for (const auto& one : sends) {
    EXPECT_EQ(one->calls, 1) << "before link_down";
  }
  drive_for({a.get()}, 50);
  for (const auto& one : sends) EXPECT_EQ(one->calls, 1);
}

TEST_P(BulkContract, no_memory_is_read_and_no_completion_called_once_close_has_returned) {
  if (!can()) GTEST_SKIP() << lacks("zero-copy sends");
  const Bytes original = pattern(1, most());
  Bytes data = original;
  Ending all;
  const Status first = send(header(0), contiguous(data), all);  // until the link is up
  ASSERT_TRUE(first == Status::ok || first == Status::in_progress);
  std::uint16_t sent = 1;
  for (int i = 0; i < 50; ++i) {
    const Status answer = a->zcopy_send(link, header(sent), contiguous(data), all);
    if (answer == Status::ok || answer == Status::in_progress) ++sent;
    if (i % 10 == 9) a->progress();
  }
  a->close(0);
  std::fill(data.begin(), data.end(), std::byte{0xdd});
  const int calls = all.calls;
  ASSERT_TRUE(drive({b.get()}, [&] { return b->downs.size() == 1; }));
  EXPECT_EQ(all.calls, calls);
  EXPECT_LE(b->received.size(), sent);
  for (const Received& got : b->received) EXPECT_EQ(got.payload, original);
}

/// The fake once more, with memory that is only sent from when it is in one run.
std::vector<Subject> senders() {
  std::vector<Subject> list =
      subjects_with([](const stria_provider_t& table) { return table.bulk != nullptr; });
  if (!list.empty() && list.front().label.starts_with("fake"))
    list.push_back(fake_subject("fake_one_run", {.seed = 14, .delay = 5, .contiguous_zcopy_only = true}));
  return list;
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BulkContract);
STRIA_CONTRACT_ON(BulkContract, senders());

}  // namespace
}  // namespace stria::contract
