// The group offload: a get and the packet that ends its key are one piece of work.
#include <algorithm>

#include "tests/contract/key_subject.hpp"

namespace stria::contract {
namespace {

class OffloadContract : public KeySubject {};

TEST_P(OffloadContract, get_finish_reads_and_then_ends_the_key_with_its_packet) {
  if (a->limits(link).offload == 0 || !can_get()) GTEST_SKIP() << lacks("an adapter that moves what is got");
  if (!a->has(STRIA_CAP_SEND_INVALIDATE)) GTEST_SKIP() << lacks("send_invalidate");
  for (std::uint16_t round = 0; round < 20; ++round) {
    const Bytes remote = pattern(round, 5000);
    const auto key = key_for(contiguous(remote), kRead);
    Bytes local(3000);
    const stria_payload_t payload = contiguous(local);
    const stria_header_t last = header(round);
    Ending ending;
    Status status = Status::no_resource;
    b->received.clear();
    bool packet_came_first = false;
    b->on_deliver = [&](const Received&) { packet_came_first = local.back() != remote.back(); };
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] {
      if (status == Status::no_resource)
        status = transport::from_c(a->ops().get_finish(link, &payload, &key, 2000, &last, &ending.base));
      return status != Status::no_resource && (status != Status::in_progress || ending.calls > 0) &&
             !b->received.empty();
    }));
    EXPECT_EQ(status == Status::in_progress ? ending.status : status, Status::ok);
    EXPECT_TRUE(std::equal(local.begin(), local.end(), remote.begin() + 2000));
    EXPECT_FALSE(packet_came_first) << "the packet that ends the key overtook its get";
    EXPECT_EQ(b->received.front().header.sequence, round);
    EXPECT_TRUE(b->received.front().payload.empty());
    EXPECT_EQ(b->invalidate(key), Status::access_error) << "the packet did not end the key";
    b->on_deliver = nullptr;
  }
}

/// The fake is an adapter when it is told so.
std::vector<Subject> adapters() {
  std::vector<Subject> list =
      subjects_with([](const stria_provider_t& table) { return table.offload != nullptr; });
  if (!list.empty() && list.front().label.starts_with("fake"))
    list.push_back(
        fake_subject("fake_adapter", {.seed = 14, .delay = 5, .async_percent = 50, .offload = true}));
  return list;
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OffloadContract);
STRIA_CONTRACT_ON(OffloadContract, adapters());

}  // namespace
}  // namespace stria::contract
