// Records in a place of fixed length: whenever it is looked at, all of it is records.
#include "transport/tcp/padded_records.hpp"

#include <gtest/gtest.h>

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
