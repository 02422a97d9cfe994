// Payloads that the receiver leaves in the sender's cells: they stay as they are until they are released,
// their sender goes on without their cells, and its end does not wait for them, nor do they for it.
#include <fstream>
#include <memory>

#include "tests/transport/shm/inside.hpp"
#include "transport/shm/cells.hpp"

namespace stria::shm::test {
namespace {

constexpr std::uint32_t kBytes = 6000;
constexpr std::size_t kCells = 32;
const Settings kNear = {{"STRIA_SHM_DISTANCE", "near"}, {"STRIA_SHM_CELLS", "32"}};

/// Of devices, this one's and others', in this process.
std::size_t mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  std::size_t out = 0;
  for (std::string line; std::getline(maps, line);)
    out += line.find("memfd:stria") != std::string::npos ? 1 : 0;
  return out;
}

class ShmKept : public ::testing::Test {
 protected:
  explicit ShmKept() : link_(a_.connect(b_)) {}
  void release(stria_link_t* link, const Kept& one) { Node::ops().release(link, one.name); }
  stria_link_t* back() { return b_.ups.at(a_.id()); }
  /// Message `tag` of so many bytes from a to b, which has it on return.
  void send(std::uint64_t tag, std::size_t bytes = kBytes) {
    const std::size_t before = b_.got.size() + b_.kept.size();
    if (tag % 2 == 0) a_.progress();  // the others are a row, and whole when they come
    ASSERT_TRUE(until([&] { return a_.eager(link_, header(tag), pattern(tag, bytes)) == Status::ok; },
                      [&] { b_.progress(); }));
    ASSERT_TRUE(until([&] { return b_.got.size() + b_.kept.size() > before; }, [&] { b_.progress(); }));
  }
  Node a_{1, kNear}, b_{2, kNear};
  stria_link_t* link_;
};

TEST_F(ShmKept, a_payload_stays_as_it_is_while_others_come_and_go) {
  b_.keeps = true;
  for (std::uint64_t tag = 0; tag < 3; ++tag) send(tag);
  ASSERT_EQ(b_.kept.size(), 3u);
  b_.keeps = false;
  for (std::uint64_t tag = 3; tag < 500; ++tag) send(tag, tag * 37 % 12000);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(b_.kept[i].tag, i);
    EXPECT_EQ(b_.kept[i].copy(), pattern(i, kBytes));
    release(back(), b_.kept[i]);
  }
  for (std::uint64_t i = 0; i < b_.got.size(); ++i)
    ASSERT_EQ(b_.got[i].payload, pattern(i + 3, (i + 3) * 37 % 12000)) << i;
}

TEST_F(ShmKept, cells_come_back_when_they_are_released) {
  b_.keeps = true;
  std::size_t kept = 0;
  for (std::uint64_t tag = 0; tag < 2000; ++tag) {
    send(tag);
    for (const Kept& one : b_.kept) {
      ASSERT_EQ(one.copy(), pattern(tag, kBytes));
      release(back(), one);
    }
    kept += b_.kept.size();
    b_.kept.clear();
  }
  EXPECT_GT(kept, 1000u) << "but for those that are sent before the sender looks which came back";
}

TEST_F(ShmKept, a_quarter_of_the_cells_and_no_short_payloads) {
  b_.keeps = true;
  for (std::uint64_t tag = 0; tag < 10; ++tag) send(tag, kKeepLeast - 1);
  EXPECT_TRUE(b_.kept.empty());
  for (std::uint64_t tag = 0; tag < 400; ++tag) send(tag);
  EXPECT_EQ(b_.kept.size(), kCells / 4);
  EXPECT_EQ(b_.got.size(), 10 + 400 - b_.kept.size()) << "the others go on without them";
}

TEST_F(ShmKept, many_receivers_together_no_more_than_one_and_others_are_sent_to) {
  std::vector<std::unique_ptr<Node>> others;
  std::size_t kept = 0, got = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    others.push_back(std::make_unique<Node>(100 + i, kNear));
    Node& other = *others.back();
    other.keeps = true;
    stria_link_t* const to = a_.connect(other);
    for (std::uint64_t tag = 0; tag < 3; ++tag)
      ASSERT_TRUE(until([&] { return a_.eager(to, header(tag), pattern(tag, kBytes)) == Status::ok; },
                        [&] { other.progress(); }));
    ASSERT_TRUE(until([&] { return other.got.size() + other.kept.size() == 3; }, [&] { other.progress(); }));
    kept += other.kept.size(), got += other.got.size();
  }
  EXPECT_EQ(kept, kCells / 4);
  EXPECT_EQ(got, 60 - kept);
  for (std::uint64_t tag = 0; tag < 100; ++tag) {
    ASSERT_EQ(a_.eager(link_, header(tag), pattern(tag, kBytes)), Status::ok) << "at once";
    ASSERT_TRUE(until([&] { return b_.got.size() == tag + 1; }, [&] { b_.progress(); }));
  }
}

TEST_F(ShmKept, its_senders_end_does_not_wait_and_leaves_it_where_it_is) {
  b_.keeps = true;
  send(1);
  send(2);
  ASSERT_EQ(b_.kept.size(), 2u);
  stria_link_t* const link = back();
  const auto begin = std::chrono::steady_clock::now();
  a_.close(60000);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30)) << "they count as delivered";
  ASSERT_TRUE(until([&] { return b_.downs.count(a_.id()) == 1; }, [&] { b_.progress(), b_.check(); }));
  for (const Kept& one : b_.kept) EXPECT_EQ(one.copy(), pattern(one.tag, kBytes));
  release(link, b_.kept[0]);
  EXPECT_EQ(b_.kept[1].copy(), pattern(2, kBytes));
  release(link, b_.kept[1]);
}

TEST_F(ShmKept, what_is_kept_at_the_receivers_end_is_its_senders_again) {
  b_.keeps = true;
  send(1);
  ASSERT_EQ(b_.kept.size(), 1u);
  b_.close(0);
  ASSERT_TRUE(until([&] { return a_.downs.count(b_.id()) == 1; }, [&] { a_.progress(), a_.check(); }));
  const auto begin = std::chrono::steady_clock::now();
  a_.close(60000);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(ShmKeptOfTheDead, is_there_until_it_is_released) {
  Child other([](Child& up) {
    Node node(2, kNear);
    stria_link_t* link = node.connect(up.receive(), 1);
    if (link == nullptr) return 2;
    if (node.send(link, header(7), pattern(7, kBytes), false) != Status::ok) return 3;
    up.send(Bytes(1));
    while (up.receive().empty()) continue;
    return 0;
  });
  Node node(1, kNear);
  node.keeps = true;
  other.send(node.address());
  ASSERT_FALSE(other.receive().empty());
  ASSERT_TRUE(until([&] { return node.kept.size() == 1; }, [&] { node.progress(); }));
  stria_link_t* const link = node.ups.at(2);
  other.kill();
  ASSERT_TRUE(until([&] { return node.downs.count(2) == 1; }, [&] { node.progress(), node.check(); }));
  EXPECT_EQ(node.kept[0].copy(), pattern(7, kBytes));
  const std::size_t mapped = mapped_segments();
  Node::ops().release(link, node.kept[0].name);
  EXPECT_EQ(mapped_segments(), mapped - 1) << "it goes with the last payload";
}

// It is wrong about what it writes, and nothing says that it does not go on reading.
TEST(ShmKeptByOne, who_was_given_up_stays_until_its_end) {
  constexpr std::size_t kMost = kCells / 4;
  Visitor visitor(
      2,
      [](const Visit& visit) {
        visit.node.keeps = true;
        if (visit.order.size() == 1)
          return until([&] { return visit.node.kept.size() == kMost; }, [&] { visit.node.progress(); });
        if (visit.order.size() == 2)
          return forge(visit, make_control(RecordKind::cell, 1), CellPlace{65535, 0, 1}.word());
        bool same = true;
        for (const Kept& one : visit.node.kept) same = same && one.copy() == pattern(one.tag, kBytes);
        return same;
      },
      kNear);
  Node hub(1, kNear), other(3, kNear);
  visitor.connect_to(hub);
  ASSERT_TRUE(until([&] { return hub.ups.count(2) > 0; }, [&] { hub.progress(); }));
  for (std::uint64_t tag = 0; tag < kMost; ++tag)
    ASSERT_EQ(hub.eager(hub.ups.at(2), header(tag), pattern(tag, kBytes)), Status::ok);
  visitor.act(Bytes(1));
  visitor.act(Bytes(2));
  ASSERT_TRUE(until([&] { return hub.downs.count(2) > 0; }, [&] { hub.progress(), hub.check(); }));
  EXPECT_EQ(hub.downs[2], Status::io_error);
  stria_link_t* const link = hub.connect(other);
  const auto send_some = [&] {
    for (std::uint64_t tag = 0; tag < 200; ++tag) {
      const std::size_t before = other.got.size() + other.kept.size();
      ASSERT_TRUE(until([&] { return hub.eager(link, header(tag), pattern(tag + 1, kBytes)) == Status::ok; },
                        [&] { other.progress(); }));
      ASSERT_TRUE(
          until([&] { return other.got.size() + other.kept.size() > before; }, [&] { other.progress(); }));
    }
  };
  send_some();
  visitor.act(Bytes(3));  // they are as they were
  other.keeps = true;
  send_some();
  EXPECT_TRUE(other.kept.empty()) << "as many as may be are kept already";
  visitor.kill();
  ASSERT_TRUE(until(
      [&] {
        send_some();
        return other.kept.size() == kMost;
      },
      [&] { hub.check(); }));
}

}  // namespace
}  // namespace stria::shm::test
