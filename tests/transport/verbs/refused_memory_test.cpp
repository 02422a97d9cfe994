// Memory that the driver does not register, or not for writing: what goes another way, what is registered for
// reads alone, and how often the driver is asked again. On a stand-in for the adapter.
#include "tests/transport/verbs/plain_world.hpp"

namespace stria::verbs::test {
namespace {

constexpr std::size_t kBytes = 100000;

class RefusedMemoryOfAdapter : public PlainWorld {
 protected:
  RefusedMemoryOfAdapter() : bytes(contract::pattern(3, kBytes)), other(contract::pattern(4, kBytes)) {}
  /// The answer of a get or put by `a`, or how it ended.
  Status move(bool is_get, Bytes& local, const transport::Key& key) {
    Ending ending;
    const auto what = contract::contiguous(local);
    const Status answer =
        is_get ? a->link->get(what, key, 0, &ending.base) : a->link->put(what, key, 0, &ending.base);
    return answer == Status::in_progress ? ended(ending) : answer;
  }
  Status make_key(const Bytes& memory_of_b, unsigned access, transport::Key& key) {
    return b->device->fast_register(b->link, contract::contiguous(memory_of_b), access, key);
  }
  static void refuse(StandIn& adapter, const Bytes& memory, bool only_writes) {
    adapter.refused.push_back({memory.data() + memory.size() / 2, 1, only_writes});
  }
  /// Both links live, and take what they took before.
  void expect_links_as_before() {
    EXPECT_EQ(a->downs + b->downs, 0);
    EXPECT_FALSE(a->link->dying || b->link->dying);
    transport::Key key = key_of(contract::contiguous(other));
    Bytes in(kBytes);
    EXPECT_EQ(move(true, in, key), Status::ok);
    EXPECT_EQ(in, other);
    EXPECT_EQ(b->device->invalidate(key), Status::ok);
    transport::LinkLimits limits{};
    a->link->limits(limits);
    EXPECT_EQ(limits.can_get, 1u);
    EXPECT_EQ(limits.can_put, 1u);
  }
  Bytes bytes, other;
};

TEST_F(RefusedMemoryOfAdapter, has_no_key) {
  open();
  refuse(b_adapter, bytes, false);
  for (const unsigned access : {unsigned{STRIA_ACCESS_REMOTE_READ}, unsigned{STRIA_ACCESS_REMOTE_WRITE},
                                unsigned{STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE}}) {
    transport::Key key{};
    EXPECT_EQ(make_key(bytes, access, key), Status::unsupported);
    EXPECT_EQ(b->device->fast_register(nullptr, contract::contiguous(bytes), access, key),
              Status::unsupported);
  }
  expect_links_as_before();
}

TEST_F(RefusedMemoryOfAdapter, of_the_reader_or_writer_is_unsupported_for_this_memory_alone) {
  open();
  const transport::Key key =
      key_of(contract::contiguous(other), STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE);
  refuse(a_adapter, bytes, false);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(move(true, bytes, key), Status::unsupported);
    EXPECT_EQ(move(false, bytes, key), Status::unsupported);
  }
  expect_links_as_before();
}

TEST_F(RefusedMemoryOfAdapter, that_may_not_be_written_is_a_source_of_gets) {
  open();
  refuse(b_adapter, bytes, true);
  const Bytes before = bytes;
  for (int i = 0; i < 5; ++i) {
    transport::Key key = key_of(contract::contiguous(bytes));
    Bytes in(kBytes);
    ASSERT_EQ(move(true, in, key), Status::ok);
    EXPECT_EQ(in, before);
    EXPECT_EQ(move(false, in, key), Status::access_error) << "the key is for reads";
    Ending ending;
    EXPECT_EQ(a->link->get_finish(contract::contiguous(in), key, 0, contract::header(9), &ending.base),
              Status::unsupported)
        << "no message ends it";
    EXPECT_EQ(b->device->invalidate(key), Status::ok);
    EXPECT_NE(b->device->invalidate(key), Status::ok);
  }
  transport::Key key{};
  EXPECT_EQ(make_key(bytes, STRIA_ACCESS_REMOTE_WRITE, key), Status::unsupported);
  expect_links_as_before();
}

TEST_F(RefusedMemoryOfAdapter, that_may_not_be_written_is_a_source_of_puts_and_no_sink) {
  open();
  const transport::Key key =
      key_of(contract::contiguous(other), STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE);
  refuse(a_adapter, bytes, true);
  const Bytes before = bytes;
  for (int i = 0; i < 5; ++i) {
    std::fill(other.begin(), other.end(), std::byte{0});
    ASSERT_EQ(move(false, bytes, key), Status::ok);
    EXPECT_EQ(other, before);
    EXPECT_EQ(move(true, bytes, key), Status::unsupported) << "also when a registration for reads is kept";
  }
  expect_links_as_before();
}

TEST_F(RefusedMemoryOfAdapter, is_tried_again_at_a_bounded_rate) {
  open();
  refuse(b_adapter, bytes, false);
  for (int i = 0; i < 1000; ++i) {
    transport::Key key{};
    ASSERT_EQ(make_key(bytes, STRIA_ACCESS_REMOTE_READ, key), Status::unsupported);
  }
  EXPECT_GE(b_adapter.refusals, 20u) << "with rights to write, and for reads alone";
  EXPECT_LE(b_adapter.refusals, 50u);
  // Other memory is not passed over.
  transport::Key key{};
  ASSERT_EQ(make_key(other, STRIA_ACCESS_REMOTE_READ, key), Status::ok);
  EXPECT_EQ(b->device->invalidate(key), Status::ok);
  // A key that is for good is tried each time; and what became registrable is seen to be soon.
  const unsigned before = b_adapter.refusals;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(b->device->fast_register(nullptr, contract::contiguous(bytes), STRIA_ACCESS_REMOTE_READ, key),
              Status::unsupported);
  EXPECT_EQ(b_adapter.refusals, before + 3);
  b_adapter.refused.clear();
  unsigned passed_over = 0;
  while (make_key(bytes, STRIA_ACCESS_REMOTE_READ, key) != Status::ok && passed_over < 1000) ++passed_over;
  EXPECT_LE(passed_over, Backoff::kMost);
  EXPECT_EQ(b->device->invalidate(key), Status::ok);
  expect_links_as_before();
}

}  // namespace
}  // namespace stria::verbs::test
