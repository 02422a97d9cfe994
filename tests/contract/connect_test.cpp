// Opening, addresses, and how links come up.
#include <algorithm>

#include "hw/capabilities.hpp"
#include "tests/contract/subject.hpp"
#include "transport/capabilities.hpp"
#include "transport/group_rows.hpp"
#include "transport/loader.hpp"

namespace stria::contract {
namespace {

using ConnectContract = Contract;

bool exchange(Peer& from, stria_link_t* link, Peer& to, std::uint16_t sequence) {
  const std::size_t before = to.received.size();
  const Bytes data = pattern(sequence, 16);
  EXPECT_EQ(send({&from, &to}, from, link, Path::buffered, header(sequence), data), Status::ok);
  EXPECT_TRUE(drive({&from, &to}, [&] { return to.received.size() > before; })) << "the packet never came";
  return to.received.size() == before + 1 && to.received.back().payload == data &&
         to.received.back().header.sequence == sequence;
}

TEST_P(ConnectContract, the_table_is_complete_and_of_this_version) {
  const auto checked = transport::check_provider(table(), table().name, "table");
  EXPECT_TRUE(checked.has_value()) << checked.error().context;
  EXPECT_NE(std::string(table().description), "");
  for (const std::string& group : transport::groups_of(table())) std::printf("group %s\n", group.c_str());
}

TEST_P(ConnectContract, a_device_states_facts_and_what_it_lacks_of_its_table_and_nothing_twice) {
  auto a = open(1);
  stria_capabilities_t stated{};
  a->table().capabilities(a->device(), &stated);
  const std::uint64_t of_table = transport::table_bits(a->table());
  EXPECT_EQ(stated.flags & of_table, 0u)
      << "stated though it follows from the table: " << hw::names_of(stated.flags & of_table);
  EXPECT_EQ(stated.lacks & ~of_table, 0u)
      << "lacking what the table has not: " << hw::names_of(stated.lacks & ~of_table);
  EXPECT_EQ(a->capabilities().flags & stated.lacks, 0u);
  EXPECT_EQ(a->capabilities().flags & stated.flags, stated.flags);
}

TEST_P(ConnectContract, devices_open_and_close_again_and_again) {
  for (std::uint64_t i = 1; i <= 20; ++i) {
    auto a = open(i);
    EXPECT_EQ(a->progress(), 0u) << "a device without peers has nothing to do";
    a->close(0);
  }
}

TEST_P(ConnectContract, a_device_without_a_worker_id_is_refused_or_opened_but_never_half) {
  stria_device_params_t params{};
  params.size = 4;  // too small for anything
  stria_device_t* device = reinterpret_cast<stria_device_t*>(&params);
  char error[64] = "";
  EXPECT_LT(table().open(&params, &device, error, sizeof error), 0);
  EXPECT_EQ(device, nullptr);
  EXPECT_NE(std::string(error), "") << "the refusal gives a reason";
}

TEST_P(ConnectContract, an_address_stays_the_same_and_a_short_buffer_is_left_alone) {
  auto a = open(1);
  auto b = open(2);
  const Bytes first = a->address();
  EXPECT_EQ(first, a->address());
  EXPECT_NE(first, b->address());
  Bytes small(first.size(), std::byte{0x77});
  const auto needed =
      a->table().address(a->device(), small.data(), static_cast<std::uint32_t>(first.size() - 1));
  EXPECT_EQ(needed, first.size());
  EXPECT_EQ(small.back(), std::byte{0x77}) << "written beyond the buffer";
}

TEST_P(ConnectContract, an_address_that_is_none_is_refused_with_a_reason) {
  auto a = open(1);
  auto b = open(2);
  Contact contact{.worker = 2};
  stria_status_t status = STRIA_OK;
  Bytes cut = b->address();
  cut.pop_back();
  for (const Bytes& bad : {Bytes{}, Bytes(3), pattern(5, 256), Bytes(b->address().size()), cut}) {
    EXPECT_EQ(a->try_connect(bad, contact, status), nullptr) << bad.size() << " bytes";
    EXPECT_LT(status, 0);
    EXPECT_NE(a->error(), "");
  }
  EXPECT_TRUE(exchange(*a, a->connect(*b), *b, 1)) << "the good address still works";
}

TEST_P(ConnectContract, a_closed_device_is_gone) {
  auto a = open(1);
  auto b = open(2);
  const Bytes address = b->address();
  b->close(0);
  Contact contact{.worker = 2};
  stria_status_t status = STRIA_OK;
  if (a->try_connect(address, contact, status) == nullptr) {
    EXPECT_EQ(status, STRIA_ERR_PEER_FAILED);
    EXPECT_NE(a->error(), "");
    return;
  }
  // A provider that has to ask the network says it when the answer is there.
  ASSERT_TRUE(drive({a.get()}, [&] { return contact.down; }));
  EXPECT_EQ(contact.why, Status::peer_failed);
}

TEST_P(ConnectContract, a_peer_that_closes_is_gone_as_one_that_dies_is) {
  auto a = open(1);
  auto b = open(2);
  ASSERT_TRUE(exchange(*a, a->connect(*b), *b, 1));
  ASSERT_TRUE(exchange(*b, b->ups[1], *a, 2));
  b->close(0);
  ASSERT_TRUE(drive({a.get()}, [&] {
    a->check();
    return !a->downs.empty();
  }));
  EXPECT_EQ(a->downs[0]->worker, 2u);
  EXPECT_EQ(a->downs[0]->why, Status::peer_failed);
}

TEST_P(ConnectContract, one_side_connects_and_the_other_learns_its_worker_before_the_first_packet) {
  auto a = open(101);
  auto b = open(202);
  stria_link_t* link = a->connect(*b);
  ASSERT_TRUE(exchange(*a, link, *b, 1));
  ASSERT_EQ(b->ups.size(), 1u);
  EXPECT_EQ(b->ups.begin()->first, 101u);
  EXPECT_EQ(b->received.back().from->worker, 101u);
  EXPECT_TRUE(exchange(*b, b->ups.begin()->second, *a, 2)) << "the announced link sends back";
  EXPECT_EQ(a->received.back().from->worker, 202u);
  EXPECT_TRUE(a->ups.empty()) << "who connects is not told that he did";
}

TEST_P(ConnectContract, both_sides_connect_and_have_one_link_each) {
  auto a = open(1);
  auto b = open(2);
  stria_link_t* ab = a->connect(*b);
  stria_link_t* ba = b->connect(*a);
  for (std::uint16_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(exchange(*a, ab, *b, i));
    ASSERT_TRUE(exchange(*b, ba, *a, i));
  }
  EXPECT_EQ(a->connect(*b), ab) << "connecting again returns the link that is there";
  EXPECT_TRUE(a->ups.empty());
  EXPECT_TRUE(b->ups.empty());
}

TEST_P(ConnectContract, connecting_after_peer_up_returns_that_link_with_the_new_cookie) {
  auto a = open(1);
  auto b = open(2);
  stria_link_t* ab = a->connect(*b);
  ASSERT_TRUE(exchange(*a, ab, *b, 1));
  ASSERT_EQ(b->ups.count(1), 1u);
  Contact fresh{.worker = 1};
  stria_status_t status = STRIA_OK;
  stria_link_t* ba = b->try_connect(a->address(), fresh, status);
  EXPECT_EQ(ba, b->ups[1]);
  ASSERT_TRUE(exchange(*a, ab, *b, 2));
  EXPECT_EQ(b->received.back().from, &fresh);
}

TEST_P(ConnectContract, a_device_reaches_itself) {
  auto a = open(1);
  stria_link_t* link = a->connect(*a);
  for (std::uint16_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(exchange(*a, link, *a, i));
    EXPECT_EQ(a->received.back().from->worker, 1u);
  }
  EXPECT_TRUE(a->ups.empty());
  EXPECT_TRUE(a->downs.empty());
}

TEST_P(ConnectContract, many_devices_all_reach_each_other) {
  constexpr std::uint64_t kPeers = 8;
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<Peer*> all;
  for (std::uint64_t i = 0; i < kPeers; ++i) {
    peers.push_back(open(i + 1));
    all.push_back(peers.back().get());
  }
  for (auto& from : peers) {
    for (auto& to : peers) {
      stria_link_t* link = from->connect(*to);
      const auto sequence = static_cast<std::uint16_t>(from->worker_id() * 100 + to->worker_id());
      const Bytes data = pattern(sequence, 24);
      ASSERT_TRUE(drive(all, [&] {
        return from->try_send(link, Path::buffered, header(sequence), data.data(), data.size()) == Status::ok;
      }));
    }
  }
  ASSERT_TRUE(drive(all, [&] {
    return std::all_of(all.begin(), all.end(), [](Peer* p) { return p->received.size() == kPeers; });
  }));
  for (Peer* peer : all) {
    std::uint64_t seen = 0;
    for (const Received& got : peer->received) {
      const std::uint64_t source = got.from->worker;
      EXPECT_EQ(got.header.sequence, source * 100 + peer->worker_id());
      EXPECT_EQ(got.payload, pattern(got.header.sequence, 24));
      seen |= 1ull << source;
    }
    EXPECT_EQ(seen, 0x1feu) << "one from each";
  }
}

STRIA_CONTRACT_OF_CORE(ConnectContract);

}  // namespace
}  // namespace stria::contract
