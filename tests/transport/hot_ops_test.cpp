// The flat table of what engines call: the functions of the declared groups, and an answer for all others.
#include "transport/hot_ops.hpp"

#include <gtest/gtest.h>

namespace stria::transport {
namespace {

TEST(HotOps, answers_for_groups_that_a_provider_does_not_declare) {
  const HotOps ops = flatten(stria_provider_t{});
  EXPECT_EQ(ops.pio_send(nullptr, nullptr, nullptr, 0), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(ops.fast_register(nullptr, nullptr, nullptr, 0, nullptr), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(ops.invalidate(nullptr, nullptr), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(ops.send_invalidate(nullptr, nullptr, nullptr, 0, nullptr), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(ops.get(nullptr, nullptr, nullptr, 0, nullptr), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(ops.put(nullptr, nullptr, nullptr, 0, nullptr), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(ops.atomic(nullptr, nullptr, nullptr, nullptr), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(ops.get_finish(nullptr, nullptr, nullptr, 0, nullptr, nullptr), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(ops.zcopy_send(nullptr, nullptr, nullptr, nullptr), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(ops.take(nullptr, nullptr, nullptr, 0), STRIA_TAKE_OTHER);
  EXPECT_EQ(ops.poll(nullptr, 64), 0u);
  EXPECT_EQ(ops.kept_arrived(nullptr, 1, 700, 5), 700u);
  ops.release(nullptr, 1);
}

TEST(HotOps, are_the_functions_of_the_groups_that_it_declares) {
  const stria_group_pio_t pio = {sizeof pio, [](auto...) { return STRIA_OK; }};
  const stria_group_keys_t keys = {sizeof keys, [](auto...) { return STRIA_OK; },
                                   [](auto...) { return STRIA_ERR_NO_RESOURCE; },
                                   [](auto...) { return STRIA_ERR_ACCESS; }};
  const stria_group_get_t get = {sizeof get, [](auto...) { return STRIA_OK; }};
  const stria_group_put_t put = {sizeof put, [](auto...) { return STRIA_OK; }};
  const stria_group_atomic_t atomic = {sizeof atomic, [](auto...) { return STRIA_OK; }};
  const stria_group_offload_t offload = {sizeof offload, [](auto...) { return STRIA_OK; }};
  const stria_group_bulk_t bulk = {sizeof bulk, [](auto...) { return STRIA_OK; }};
  const stria_group_look_t look = {sizeof look, [](auto...) { return 1u; },
                                   [](auto...) { return std::int32_t{5}; }};
  const stria_group_keep_t keep = {sizeof keep, [](auto...) {}, [](auto...) { return std::uint32_t{9}; }};
  stria_provider_t table{};
  table.eager_send = [](auto...) { return STRIA_OK; };
  table.progress = [](auto...) { return 3u; };
  table.pio = &pio, table.keys = &keys, table.get = &get, table.put = &put, table.atomic = &atomic;
  table.offload = &offload, table.bulk = &bulk, table.look = &look, table.keep = &keep;
  const HotOps ops = flatten(table);
  EXPECT_EQ(ops.eager_send, table.eager_send);
  EXPECT_EQ(ops.progress, table.progress);
  EXPECT_EQ(ops.pio_send, pio.pio_send);
  EXPECT_EQ(ops.fast_register, keys.fast_register);
  EXPECT_EQ(ops.invalidate, keys.invalidate);
  EXPECT_EQ(ops.send_invalidate, keys.send_invalidate);
  EXPECT_EQ(ops.get, get.get);
  EXPECT_EQ(ops.put, put.put);
  EXPECT_EQ(ops.atomic, atomic.atomic);
  EXPECT_EQ(ops.get_finish, offload.get_finish);
  EXPECT_EQ(ops.zcopy_send, bulk.zcopy_send);
  EXPECT_EQ(ops.poll, look.poll);
  EXPECT_EQ(ops.take, look.take);
  EXPECT_EQ(ops.release, keep.release);
  EXPECT_EQ(ops.kept_arrived, keep.kept_arrived);
}

}  // namespace
}  // namespace stria::transport
