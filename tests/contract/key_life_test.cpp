// The life of a key: good once the packet that carries it is delivered, of no use after its end.
#include <algorithm>
#include <random>

#include "tests/contract/key_subject.hpp"

namespace stria::contract {
namespace {

class KeyLifeContract : public KeySubject {};

TEST_P(KeyLifeContract, an_invalidated_key_is_of_no_use_also_when_its_slot_serves_again) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  Bytes remote = pattern(1, 64), local(64);
  const auto old = key_for(contiguous(remote), kRead);
  EXPECT_EQ(move(Way::get, contiguous(local), old, 0), Status::ok);
  EXPECT_EQ(b->invalidate(old), Status::ok);
  if (!refusals_end_links()) {
    EXPECT_EQ(move(Way::get, contiguous(local), old, 0), Status::access_error);
  }
  for (int i = 0; i < 200; ++i) {  // fewer than 256: eight bits of consumer key
    const auto fresh = key_for(contiguous(remote), kRead);
    ASSERT_NE(Bytes(reinterpret_cast<const std::byte*>(fresh.data),
                    reinterpret_cast<const std::byte*>(fresh.data) + 4),
              Bytes(reinterpret_cast<const std::byte*>(old.data),
                    reinterpret_cast<const std::byte*>(old.data) + 4));
    if (!refusals_end_links()) {
      ASSERT_EQ(move(Way::get, contiguous(local), old, 0), Status::access_error)
          << "after " << i << " registrations";
    }
    ASSERT_EQ(b->invalidate(fresh), Status::ok);
  }
  if (!refusals_end_links()) return;
  const Bytes before = local;
  remote = pattern(2, 64);
  const auto valid = key_for(contiguous(remote), kRead);
  EXPECT_EQ(move(Way::get, contiguous(local), valid, 0), Status::ok);
  expect_refusal(contiguous(local), old);
  EXPECT_EQ(local, remote) << "a refused get wrote something";
  start_again();
}

TEST_P(KeyLifeContract, bytes_that_are_no_key_are_refused) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  Bytes remote = pattern(1, 64), local(64);
  const auto good = key_for(contiguous(remote), kRead);
  stria_provider_key_t empty{};
  EXPECT_EQ(move(Way::get, contiguous(local), empty, 0), Status::access_error);
  stria_provider_key_t cut = good;
  --cut.bytes;
  EXPECT_EQ(move(Way::get, contiguous(local), cut, 0), Status::access_error);
  stria_provider_key_t longer = good;
  ++longer.bytes;
  EXPECT_EQ(move(Way::get, contiguous(local), longer, 0), Status::access_error);
  std::mt19937 random(6);
  for (int i = 0; i < 200; ++i) {
    stria_provider_key_t noise = good;
    for (std::uint32_t k = 0; k < noise.bytes; ++k) noise.data[k] = static_cast<std::uint8_t>(random());
    ASSERT_EQ(move(Way::get, contiguous(local), noise, 0), Status::access_error);
  }
  stria_provider_key_t other_index = good;  // the word's low byte is the consumer key, the rest the index
  other_index.data[2] ^= 0x55;
  EXPECT_EQ(move(Way::get, contiguous(local), good, 0), Status::ok);
  if (refusals_end_links()) {
    expect_refusal(contiguous(local), other_index);
    start_again();
    return;
  }
  EXPECT_EQ(move(Way::get, contiguous(local), other_index, 0), Status::access_error);
  EXPECT_EQ(move(Way::get, contiguous(local), good, 0), Status::ok);
  EXPECT_EQ(b->invalidate(good), Status::ok);
}

TEST_P(KeyLifeContract, only_a_valid_key_can_be_ended) {
  if (!b->has(STRIA_CAP_FAST_REGISTER | STRIA_CAP_LOCAL_INVALIDATE)) GTEST_SKIP() << lacks("fast_register");
  Bytes remote = pattern(1, 64);
  const auto key = key_for(contiguous(remote), kRead);
  stria_provider_key_t empty{}, cut = key, longer = key;
  --cut.bytes;
  ++longer.bytes;
  for (const auto& wrong : {empty, cut, longer}) {
    EXPECT_EQ(b->invalidate(wrong), Status::access_error) << wrong.bytes << " bytes";
    if (!a->has(STRIA_CAP_SEND_INVALIDATE)) continue;
    Status status = Status::no_resource;
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] {
      status = a->try_send_invalidate(link, header(1), pattern(1, 8), wrong);
      return status != Status::no_resource;
    }));
    EXPECT_EQ(status, Status::access_error) << wrong.bytes << " bytes";
  }
  EXPECT_EQ(b->invalidate(key), Status::ok) << "none of them ended it";
  EXPECT_EQ(b->invalidate(key), Status::access_error);
}

TEST_P(KeyLifeContract, keys_are_not_used_up_by_registering_and_invalidating) {
  if (!b->has(STRIA_CAP_FAST_REGISTER | STRIA_CAP_LOCAL_INVALIDATE)) GTEST_SKIP() << lacks("fast_register");
  Bytes memory(64);
  const std::uint32_t rounds = 3 * std::min(b->capabilities().max_keys, 20000u) + 5;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    stria_provider_key_t key{};
    ASSERT_EQ(b->fast_register(contiguous(memory), kRead, key, back()), Status::ok) << "after " << i;
    ASSERT_EQ(b->invalidate(key), Status::ok);
  }
}

TEST_P(KeyLifeContract, a_full_key_table_says_no_resource_until_one_is_invalidated) {
  if (!b->has(STRIA_CAP_FAST_REGISTER | STRIA_CAP_LOCAL_INVALIDATE)) GTEST_SKIP() << lacks("fast_register");
  const std::uint32_t max = b->capabilities().max_keys;
  ASSERT_GT(max, 0u);
  if (max > 1u << 20) GTEST_SKIP() << lacks("a small key table");
  Bytes memory(64);
  std::vector<stria_provider_key_t> keys;
  stria_provider_key_t key{};
  Status status = Status::ok;
  while (keys.size() <= max &&
         (status = b->fast_register(contiguous(memory), kRead, key, back())) == Status::ok)
    keys.push_back(key);
  EXPECT_EQ(status, Status::no_resource);
  EXPECT_LE(keys.size(), max);
  ASSERT_FALSE(keys.empty());
  EXPECT_EQ(b->invalidate(keys.back()), Status::ok);
  keys.pop_back();
  EXPECT_EQ(b->fast_register(contiguous(memory), kRead, key, back()), Status::ok);
  keys.push_back(key);
  for (const auto& each : keys) ASSERT_EQ(b->invalidate(each), Status::ok);
}

TEST_P(KeyLifeContract, a_key_works_when_the_packet_that_carries_it_is_delivered) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  Bytes remote = pattern(8, 5000), local(5000);
  Ending ending;
  Status answer = Status::no_resource;
  stria_provider_key_t carried{};
  const auto start = [&] { answer = a->get(link, contiguous(local), carried, 0, ending); };
  a->on_deliver = [&](const Received& got) {
    carried.bytes = static_cast<std::uint32_t>(got.payload.size());
    std::copy(got.payload.begin(), got.payload.end(), reinterpret_cast<std::byte*>(carried.data));
    start();
  };
  stria_provider_key_t key{};
  ASSERT_EQ(b->fast_register(contiguous(remote), kRead, key, back()), Status::ok);
  const auto* bytes = reinterpret_cast<const std::byte*>(key.data);
  ASSERT_EQ(send({a.get(), b.get()}, *b, back(), Path::buffered, header(1), Bytes(bytes, bytes + key.bytes)),
            Status::ok);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] {
    if (carried.bytes != 0 && answer == Status::no_resource) start();
    return answer == Status::ok || ending.calls == 1;
  }));
  EXPECT_TRUE(answer == Status::ok || ending.status == Status::ok);
  EXPECT_EQ(local, remote);
}

TEST_P(KeyLifeContract, send_invalidate_ends_the_key_before_its_packet_is_delivered) {
  if (!a->has(STRIA_CAP_SEND_INVALIDATE) || !b->has(STRIA_CAP_FAST_REGISTER))
    GTEST_SKIP() << lacks("send_invalidate");
  Bytes remote = pattern(1, 64), local(64);
  for (std::uint16_t i = 0; i < 50; ++i) {
    const auto key = key_for(contiguous(remote), kRead);
    const auto witness = key_for(contiguous(remote), kRead);
    b->received.clear();
    Status inside = Status::ok;  // the owner cannot end it a second time
    b->on_deliver = [&](const Received&) { inside = b->invalidate(key); };
    const Bytes body = pattern(i, 8);
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] {
      const Status status = a->try_send_invalidate(link, header(i), body, key);
      EXPECT_TRUE(status == Status::ok || status == Status::no_resource);
      return status == Status::ok;
    }));
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
    EXPECT_EQ(b->received[0].payload, body);
    EXPECT_EQ(b->received[0].header.sequence, i);
    EXPECT_NE(inside, Status::ok) << "still valid inside deliver";
    if (can_get()) {
      EXPECT_EQ(move(Way::get, contiguous(local), witness, 0), Status::ok) << "another key was ended";
      if (refusals_end_links() && i % 25 != 0) {
        EXPECT_EQ(b->invalidate(witness), Status::ok);
        continue;
      }
      if (refusals_end_links()) {
        expect_refusal(contiguous(local), key);
        start_again();
        continue;
      }
      EXPECT_EQ(move(Way::get, contiguous(local), key, 0), Status::access_error);
    }
    EXPECT_EQ(b->invalidate(witness), Status::ok);
  }
}

TEST_P(KeyLifeContract, access_to_a_peer_that_left_fails) {
  if (!can_get()) GTEST_SKIP() << lacks("get");
  Bytes remote = pattern(1, 64), local(64);
  const auto key = key_for(contiguous(remote), kRead);
  b->close(100);
  Ending ending;
  Status status = Status::no_resource;
  ASSERT_TRUE(drive({}, [&] {
    if (a->downs.empty() && status == Status::no_resource)
      status = a->get(link, contiguous(local), key, 0, ending);
    a->progress();
    if (a->downs.empty()) a->check();
    return !a->downs.empty() && (status != Status::in_progress || ending.calls == 1);
  }));
  if (status == Status::in_progress) status = ending.status;
  EXPECT_TRUE(status == Status::peer_failed || status == Status::access_error ||
              status == Status::no_resource)
      << to_string(status);
}

STRIA_CONTRACT_OF_GROUP(KeyLifeContract, keys);

}  // namespace
}  // namespace stria::contract
