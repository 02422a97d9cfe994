// Records in a place of fixed length: whenever it is looked at, all of it is records.
#include "transport/tcp/padded_records.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/rounds.hpp"

namespace stria::tcp {
namespace {

struct Seen {
  RecordKind kind;
  std::vector<std::byte> payload;
  bool operator==(const Seen&) const = default;
};

/// The records of a place but for padding, which has to reach its end exactly.
std::vector<Seen> read(std::span<const std::byte> place) {
  std::vector<Seen> out;
  while (!place.empty()) {
    RecordHead head;
    if (place.size() < sizeof head) return ADD_FAILURE() << "half a head at the end", out;
    std::memcpy(&head, place.data(), sizeof head);
    place = place.subspan(sizeof head);
    if (place.size() < head.bytes) return ADD_FAILURE() << "a record beyond the end", out;
    const auto payload = place.first(head.bytes);
    if (head.kind != RecordKind::padding) out.push_back({head.kind, {payload.begin(), payload.end()}});
    place = place.subspan(head.bytes);
  }
  return out;
}

TEST(TcpPaddedRecords, are_records_up_to_the_end_of_the_place_after_each_step) {
  std::mt19937 random(20233);
  for (std::int64_t round = test::rounds(2000); round > 0; --round) {
    std::vector<std::byte> place(sizeof(RecordHead) + random() % 700);
    PaddedRecords records;
    records.begin(place, 0);
    std::vector<Seen> oracle;
    for (int i = 0; i < 20; ++i) {
      const RecordHead head{static_cast<std::uint32_t>(random() % 120), RecordKind::packet, {}};
      const std::span<std::byte> room = records.room(sizeof head + head.bytes);
      const std::size_t left = place.size() - records.used();
      const std::size_t needs = sizeof head + head.bytes;
      ASSERT_EQ(room.data() != nullptr, needs == left || needs + sizeof head <= left);
      if (room.data() == nullptr) continue;
      Seen one{head.kind, std::vector<std::byte>(head.bytes)};
      for (std::byte& byte : one.payload) byte = static_cast<std::byte>(random());
      std::copy(one.payload.begin(), one.payload.end(), room.begin());
      ASSERT_EQ(read(place), oracle) << "a record that is written, but not added, shows";
      records.add(head);
      oracle.push_back(std::move(one));
      ASSERT_EQ(read(place), oracle);
    }
  }
}

TEST(TcpPaddedRecords, have_nothing_in_their_padding_of_what_lay_there) {
  std::vector<std::byte> place(500, std::byte{0x5a});
  PaddedRecords records;
  records.begin(place, 100);
  EXPECT_TRUE(std::all_of(place.begin() + 100 + sizeof(RecordHead), place.end(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

/// What a peer gets whose first `sent` bytes are of the one place, and the others of the other.
std::vector<Seen> read_joined(std::span<const std::byte> one, std::span<const std::byte> other,
                              std::size_t sent) {
  std::vector<std::byte> all(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(sent));
  all.insert(all.end(), other.begin() + static_cast<std::ptrdiff_t>(sent), other.end());
  return read(all);
}

TEST(TcpPaddedRecords, are_records_behind_any_part_that_went_with_or_without_the_last) {
  std::mt19937 random(20235);
  for (std::int64_t round = test::rounds(3000); round > 0; --round) {
    std::vector<std::byte> place(2 * sizeof(RecordHead) + 300 + random() % 400);
    PaddedRecords records;
    records.begin(place, 0);
    const RecordHead first{static_cast<std::uint32_t>(random() % 100), RecordKind::want_bulk, {}};
    static_cast<void>(records.room(sizeof first + first.bytes));
    records.add(first);
    const std::size_t at = records.used();
    const RecordHead last{static_cast<std::uint32_t>(random() % 200), RecordKind::packet, {}};
    std::span<std::byte> room = records.room(sizeof last + last.bytes);
    std::fill(room.begin(), room.end(), std::byte{7});
    const std::vector<std::byte> before = place;
    records.add(last);
    const std::vector<std::byte> after = place;
    const std::size_t sent = at + 1 + (round % 2 == 0 ? random() % 12 : random() % (place.size() - at));
    if (!records.mend(sizeof last + last.bytes, sent)) {
      EXPECT_EQ(sent, at + 1) << "a part that could have been mended";
      continue;
    }
    const std::vector<Seen> with = read_joined(after, place, sent),
                            without = read_joined(before, place, sent);
    ASSERT_GE(with.size(), 1u);
    ASSERT_LE(with.size(), 2u);
    EXPECT_EQ(with[0].kind, RecordKind::want_bulk);
    if (with.size() == 2) {
      EXPECT_EQ(with[1].payload, std::vector<std::byte>(last.bytes, std::byte{7}));
    }
    ASSERT_EQ(without.size(), 1u) << "sent " << sent - at << " of the head";
  }
}

TEST(TcpPaddedRecords, begin_behind_what_the_place_has_already) {
  std::vector<std::byte> place(200);
  const RecordHead head{10, RecordKind::want_bulk, {}};
  std::memcpy(place.data(), &head, sizeof head);
  PaddedRecords records;
  records.begin(place, sizeof head + head.bytes);
  EXPECT_EQ(records.used(), sizeof head + head.bytes);
  EXPECT_EQ(records.length(), place.size());
  ASSERT_EQ(read(place).size(), 1u);
  EXPECT_EQ(read(place)[0].kind, RecordKind::want_bulk);
}

}  // namespace
}  // namespace stria::tcp
