// Wrong arguments: every function of stria.h answers INVALID, names itself and what is wrong, and starts
// nothing. Missing ones; objects of another worker; flags, modes and classes without a meaning; packed keys
// of another length; counts that no memory holds.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "stria/stria.h"

namespace stria::test {
namespace {

/// The answer of a call was INVALID, and the thread's last error names both.
::testing::AssertionResult refused(stria_status_t answer, const char* function, const char* argument) {
  const std::string text = stria_last_error();
  if (answer != STRIA_ERR_INVALID)
    return ::testing::AssertionFailure() << function << " answered " << stria_status_string(answer);
  if (text.rfind(std::string(function) + ": ", 0) != 0 || text.find(argument) == std::string::npos)
    return ::testing::AssertionFailure() << function << " without " << argument << " says '" << text << "'";
  return ::testing::AssertionSuccess();
}

class Arguments : public testing::Test {
 protected:
  Arguments() {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "fake", "test"), STRIA_OK);
    EXPECT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
    EXPECT_EQ(stria_worker_open(context, nullptr, &worker), STRIA_OK) << stria_last_error();
    char address[STRIA_ADDRESS_MAX];
    size_t size = sizeof(address);
    EXPECT_EQ(stria_worker_address(worker, address, &size), STRIA_OK);
    stria_endpoint_params_t params{};
    params.size = sizeof(params);
    params.address = address;
    params.address_bytes = size;
    EXPECT_EQ(stria_endpoint_open(worker, &params, &endpoint), STRIA_OK);
    EXPECT_EQ(stria_layout_bytes(8, &layout), STRIA_OK);
    EXPECT_EQ(stria_region_register(worker, memory, nullptr, sizeof(memory), kRights, &region), STRIA_OK);
    EXPECT_EQ(stria_region_key(region, packed, &bytes), STRIA_OK);
    EXPECT_EQ(stria_key_open(endpoint, packed, bytes, &key), STRIA_OK) << stria_last_error();
  }
  ~Arguments() override {
    stria_key_close(key);
    EXPECT_EQ(stria_region_deregister(region), STRIA_OK);
    stria_layout_free(layout);
    EXPECT_EQ(stria_worker_close(worker), STRIA_OK);
    EXPECT_EQ(stria_context_close(context), STRIA_OK);
  }
  static constexpr unsigned kRights = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;
  stria_context_t* context = nullptr;
  stria_worker_t* worker = nullptr;
  stria_endpoint_t* endpoint = nullptr;
  stria_layout_t* layout = nullptr;
  stria_region_t* region = nullptr;
  stria_key_t* key = nullptr;
  stria_request_t request, receiving;
  char memory[64] = {};
  char packed[STRIA_KEY_MAX];
  size_t bytes = sizeof(packed);
};

TEST_F(Arguments, of_messages) {
  stria_send_t send{};
  stria_recv_t recv{};
  stria_match_t match{};
  stria_message_t* message = nullptr;
  EXPECT_TRUE(refused(stria_send(nullptr, &send, &request), "stria_send", "endpoint"));
  EXPECT_TRUE(refused(stria_send(endpoint, nullptr, &request), "stria_send", "send"));
  EXPECT_TRUE(refused(stria_send(endpoint, &send, nullptr), "stria_send", "request"));
  EXPECT_TRUE(refused(stria_recv(nullptr, &recv, &request), "stria_recv", "worker"));
  EXPECT_TRUE(refused(stria_recv(worker, nullptr, &request), "stria_recv", "recv"));
  EXPECT_TRUE(refused(stria_recv(worker, &recv, nullptr), "stria_recv", "request"));
  EXPECT_TRUE(refused(stria_probe(nullptr, &match, nullptr), "stria_probe", "worker"));
  EXPECT_TRUE(refused(stria_probe(worker, nullptr, nullptr), "stria_probe", "match"));
  EXPECT_TRUE(refused(stria_mprobe(worker, &match, nullptr, nullptr), "stria_mprobe", "message"));
  EXPECT_TRUE(refused(stria_mprobe(worker, nullptr, &message, nullptr), "stria_mprobe", "match"));
  EXPECT_TRUE(refused(stria_mrecv(worker, nullptr, &recv, &request), "stria_mrecv", "message"));
  EXPECT_TRUE(refused(stria_request_test(nullptr, nullptr), "stria_request_test", "request"));
  EXPECT_TRUE(refused(stria_request_wait(worker, nullptr, nullptr), "stria_request_wait", "request"));
  EXPECT_TRUE(refused(stria_request_wait(nullptr, &request, nullptr), "stria_request_wait", "worker"));
  EXPECT_TRUE(refused(stria_request_cancel(worker, nullptr), "stria_request_cancel", "request"));
  send.count = recv.count = 4;
  EXPECT_TRUE(refused(stria_send(endpoint, &send, &request), "stria_send", "base"));
  EXPECT_TRUE(refused(stria_recv(worker, &recv, &request), "stria_recv", "base"));
  // No bytes need no memory.
  send.count = recv.count = 0;
  EXPECT_GE(stria_send(endpoint, &send, &request), 0);
  EXPECT_GE(stria_recv(worker, &recv, &receiving), 0);
}

TEST_F(Arguments, of_puts_and_gets) {
  stria_rma_t rma{};
  rma.key = key;
  rma.base = memory;
  for (const bool put : {true, false}) {
    const auto call = put ? &stria_put : &stria_get;
    const char* name = put ? "stria_put" : "stria_get";
    EXPECT_TRUE(refused(call(nullptr, &rma, &request), name, "endpoint"));
    EXPECT_TRUE(refused(call(endpoint, nullptr, &request), name, "rma"));
    EXPECT_TRUE(refused(call(endpoint, &rma, nullptr), name, "request"));
    stria_rma_t wrong = rma;
    wrong.key = nullptr;
    EXPECT_TRUE(refused(call(endpoint, &wrong, &request), name, "key"));
    wrong = rma;
    wrong.base = nullptr;
    wrong.count = 1;
    EXPECT_TRUE(refused(call(endpoint, &wrong, &request), name, "base"));
    wrong = rma;
    wrong.count = ~std::uint64_t{0};
    EXPECT_TRUE(refused(call(endpoint, &wrong, &request), name, "64 bits"));
  }
}

TEST_F(Arguments, of_atomics) {
  std::uint64_t before = 0;
  const stria_atomic_t good{sizeof good, STRIA_ATOMIC_FETCH_ADD, key, 0, 1, 0, &before, nullptr, nullptr};
  const char* name = "stria_atomic";
  EXPECT_TRUE(refused(stria_atomic(nullptr, &good, &request), name, "endpoint"));
  EXPECT_TRUE(refused(stria_atomic(endpoint, nullptr, &request), name, "atomic"));
  EXPECT_TRUE(refused(stria_atomic(endpoint, &good, nullptr), name, "request"));
  stria_atomic_t wrong = good;
  wrong.size = 8;
  EXPECT_TRUE(refused(stria_atomic(endpoint, &wrong, &request), name, "size"));
  wrong = good;
  wrong.key = nullptr;
  EXPECT_TRUE(refused(stria_atomic(endpoint, &wrong, &request), name, "key"));
  wrong = good;
  wrong.result = nullptr;
  EXPECT_TRUE(refused(stria_atomic(endpoint, &wrong, &request), name, "result"));
  for (const int op : {0, 3, -1}) {
    wrong = good;
    std::memcpy(&wrong.op, &op, sizeof op);
    EXPECT_TRUE(refused(stria_atomic(endpoint, &wrong, &request), name, "op"));
  }
  wrong = good;
  wrong.remote_offset = 12;
  EXPECT_TRUE(refused(stria_atomic(endpoint, &wrong, &request), name, "offset 12"));
  EXPECT_EQ(stria_atomic(endpoint, &good, &request), STRIA_ERR_ACCESS) << "the region has other rights";
}

TEST_F(Arguments, of_regions_and_keys) {
  stria_region_t* other = nullptr;
  stria_key_t* opened = nullptr;
  size_t room = sizeof(packed);
  const char* name = "stria_region_register";
  EXPECT_TRUE(refused(stria_region_register(nullptr, memory, nullptr, 1, kRights, &other), name, "worker"));
  EXPECT_TRUE(refused(stria_region_register(worker, memory, nullptr, 1, kRights, nullptr), name, "out"));
  EXPECT_TRUE(refused(stria_region_register(worker, nullptr, nullptr, 1, kRights, &other), name, "base"));
  EXPECT_TRUE(refused(stria_region_key(nullptr, packed, &room), "stria_region_key", "region"));
  EXPECT_TRUE(refused(stria_region_key(region, packed, nullptr), "stria_region_key", "bytes"));
  EXPECT_TRUE(refused(stria_region_key(region, nullptr, &room), "stria_region_key", "buffer"));
  room = 0;
  EXPECT_EQ(stria_region_key(region, nullptr, &room), STRIA_ERR_INVALID);
  EXPECT_EQ(room, bytes) << "asking for the size";
  EXPECT_TRUE(refused(stria_key_open(nullptr, packed, bytes, &opened), "stria_key_open", "endpoint"));
  EXPECT_TRUE(refused(stria_key_open(endpoint, nullptr, bytes, &opened), "stria_key_open", "packed"));
  EXPECT_TRUE(refused(stria_key_open(endpoint, packed, bytes, nullptr), "stria_key_open", "out"));
  stria_key_close(nullptr);
  EXPECT_EQ(stria_region_deregister(nullptr), STRIA_OK);
}

TEST_F(Arguments, of_layouts) {
  stria_layout_t* out = nullptr;
  const std::int64_t one[] = {1};
  const stria_layout_t* children[] = {nullptr};
  stria_layout_bounds_t bounds;
  EXPECT_TRUE(refused(stria_layout_bytes(8, nullptr), "stria_layout_bytes", "out"));
  EXPECT_TRUE(refused(stria_layout_contiguous(1, nullptr, &out), "stria_layout_contiguous", "child"));
  EXPECT_TRUE(refused(stria_layout_contiguous(1, layout, nullptr), "stria_layout_contiguous", "out"));
  EXPECT_TRUE(refused(stria_layout_vector(1, 1, 8, nullptr, &out), "stria_layout_vector", "child"));
  EXPECT_TRUE(
      refused(stria_layout_indexed(1, nullptr, one, layout, &out), "stria_layout_indexed", "blocklens"));
  EXPECT_TRUE(refused(stria_layout_indexed(1, one, nullptr, layout, &out), "stria_layout_indexed",
                      "displacements_bytes"));
  EXPECT_TRUE(refused(stria_layout_indexed(1, one, one, nullptr, &out), "stria_layout_indexed", "child"));
  EXPECT_TRUE(
      refused(stria_layout_composite(1, one, one, nullptr, &out), "stria_layout_composite", "children"));
  EXPECT_TRUE(
      refused(stria_layout_composite(1, one, one, children, &out), "stria_layout_composite", "children[0]"));
  EXPECT_TRUE(refused(stria_layout_resized(nullptr, 0, 8, &out), "stria_layout_resized", "child"));
  EXPECT_TRUE(refused(stria_layout_bounds(nullptr, &bounds), "stria_layout_bounds", "layout"));
  EXPECT_TRUE(refused(stria_layout_bounds(layout, nullptr), "stria_layout_bounds", "out"));
  EXPECT_TRUE(refused(stria_layout_pack(nullptr, memory, 1, 0, 8, memory), "stria_layout_pack", "layout"));
  EXPECT_TRUE(refused(stria_layout_pack(layout, memory, 1, 0, 8, nullptr), "stria_layout_pack", "out"));
  EXPECT_TRUE(refused(stria_layout_unpack(layout, memory, 1, 0, 8, nullptr), "stria_layout_unpack", "in"));
  EXPECT_EQ(stria_layout_pack(layout, memory, 1, 0, 0, nullptr), STRIA_OK);
  EXPECT_EQ(stria_layout_retain(nullptr), nullptr);
  char text[8] = "x";
  EXPECT_EQ(stria_layout_dump(nullptr, text, sizeof(text)), 1u);
  EXPECT_STREQ(text, "");
  EXPECT_GT(stria_layout_dump(layout, nullptr, 0), 1u);
  // A NULL base with a layout is an address: its displacements may be absolute.
  EXPECT_EQ(stria_layout_pack(layout, nullptr, 0, 0, 0, memory), STRIA_OK);
}

TEST_F(Arguments, of_contexts_workers_and_endpoints) {
  stria_worker_t* opened = nullptr;
  stria_endpoint_t* connected = nullptr;
  void* block = nullptr;
  size_t room = 0;
  stria_counters_t counters{};
  counters.size = sizeof(counters);
  stria_endpoint_state_t state{};
  state.size = sizeof(state);
  EXPECT_TRUE(refused(stria_context_open(nullptr, nullptr), "stria_context_open", "out"));
  EXPECT_TRUE(refused(stria_worker_open(nullptr, nullptr, &opened), "stria_worker_open", "context"));
  EXPECT_TRUE(refused(stria_mem_alloc(nullptr, 64, &block), "stria_mem_alloc", "context"));
  EXPECT_TRUE(refused(stria_worker_address(worker, memory, nullptr), "stria_worker_address", "bytes"));
  EXPECT_EQ(stria_worker_address(worker, nullptr, &room), STRIA_ERR_INVALID);
  EXPECT_TRUE(refused(stria_worker_address(worker, nullptr, &room), "stria_worker_address", "buffer"));
  EXPECT_TRUE(refused(stria_worker_event_fd(worker, nullptr), "stria_worker_event_fd", "fd"));
  EXPECT_TRUE(refused(stria_worker_arm(nullptr), "stria_worker_arm", "worker"));
  EXPECT_TRUE(refused(stria_worker_wait(nullptr, 0), "stria_worker_wait", "worker"));
  EXPECT_TRUE(refused(stria_worker_counters(nullptr, &counters), "stria_worker_counters", "worker"));
  EXPECT_TRUE(refused(stria_endpoint_open(worker, nullptr, &connected), "stria_endpoint_open", "params"));
  EXPECT_TRUE(refused(stria_endpoint_connect(nullptr), "stria_endpoint_connect", "endpoint"));
  EXPECT_TRUE(refused(stria_endpoint_info(nullptr, &state), "stria_endpoint_info", "endpoint"));
  EXPECT_TRUE(refused(stria_config_set(nullptr, "1", "test"), "stria_config_set", "name"));
  stria_config_variable_t variable;
  EXPECT_TRUE(refused(stria_config_get(0, nullptr), "stria_config_get", "out"));
  EXPECT_TRUE(refused(stria_config_get(100000, &variable), "stria_config_get", "100000"));
  EXPECT_EQ(stria_worker_progress(nullptr), 0u);
  EXPECT_TRUE(refused(stria_last_error_status(), "stria_worker_progress", "worker"));
  EXPECT_EQ(stria_worker_id(nullptr), 0u);
  EXPECT_TRUE(refused(stria_last_error_status(), "stria_worker_id", "worker"));
  EXPECT_EQ(stria_worker_close(nullptr), STRIA_OK);
  EXPECT_EQ(stria_endpoint_close(nullptr), STRIA_OK);
  EXPECT_EQ(stria_context_close(nullptr), STRIA_OK);
  EXPECT_TRUE(refused(stria_mem_free(context, memory), "stria_mem_free", "stria_mem_alloc"));
  EXPECT_TRUE(refused(stria_worker_wait(worker, -2), "stria_worker_wait", "-2"));
}

TEST_F(Arguments, that_are_no_value_of_their_type) {
  stria_worker_t* opened = nullptr;
  stria_worker_params_t mode{sizeof mode, STRIA_THREAD_SINGLE};
  const int seventeen = 17;
  std::memcpy(&mode.thread_mode, &seventeen, sizeof seventeen);
  EXPECT_TRUE(refused(stria_worker_open(context, &mode, &opened), "stria_worker_open", "thread_mode 17"));
  mode.size = 1;
  EXPECT_TRUE(refused(stria_worker_open(context, &mode, &opened), "stria_worker_open", "size is 1"));

  stria_context_t* other = nullptr;
  const stria_context_params_t cut{sizeof cut, nullptr, 5, nullptr};
  EXPECT_TRUE(refused(stria_context_open(&cut, &other), "stria_context_open", "job_secret_bytes is 5"));
  const stria_context_params_t empty{sizeof empty, "x", 0, nullptr};
  EXPECT_TRUE(refused(stria_context_open(&empty, &other), "stria_context_open", "job_secret_bytes is 0"));

  char address[STRIA_ADDRESS_MAX];
  size_t size = sizeof(address);
  ASSERT_EQ(stria_worker_address(worker, address, &size), STRIA_OK);
  stria_endpoint_params_t params{sizeof params, address, size, STRIA_CLASS_DEFAULT, nullptr};
  stria_endpoint_t* connected = nullptr;
  std::memcpy(&params.endpoint_class, &seventeen, sizeof seventeen);
  EXPECT_TRUE(refused(stria_endpoint_open(worker, &params, &connected), "stria_endpoint_open", "class 17"));

  const stria_send_t send{memory, nullptr, 8, 1, 0, 0xff00, nullptr, nullptr};
  EXPECT_TRUE(refused(stria_send(endpoint, &send, &request), "stria_send", "0xff00"));
  stria_recv_t recv{};
  recv.base = memory;
  recv.count = 8;
  recv.flags = 4;
  for (stria_endpoint_t* source : {endpoint, static_cast<stria_endpoint_t*>(nullptr)}) {
    recv.match.source = source;
    EXPECT_TRUE(refused(stria_recv(worker, &recv, &receiving), "stria_recv", "0x4"));
  }
  stria_layout_t* out = nullptr;
  const std::int64_t one[] = {1};
  for (const std::int64_t count : {std::int64_t{1} << 60, std::int64_t{-1}}) {
    EXPECT_TRUE(refused(stria_layout_indexed(count, one, one, layout, &out), "stria_layout_indexed",
                        std::to_string(count).c_str()));
    EXPECT_TRUE(refused(stria_layout_composite(count, one, one, &layout, &out), "stria_layout_composite",
                        std::to_string(count).c_str()));
  }
}

TEST_F(Arguments, of_memory_at_no_address) {
  char out[8];
  EXPECT_TRUE(refused(stria_layout_pack(layout, nullptr, 1, 0, 8, out), "stria_layout_pack", "base is NULL"));
  EXPECT_TRUE(
      refused(stria_layout_unpack(layout, nullptr, 1, 0, 8, out), "stria_layout_unpack", "base is NULL"));
  EXPECT_TRUE(
      refused(stria_layout_pack(layout, memory, 1, 4, 5, out), "stria_layout_pack", "5 bytes from byte 4"));
  const stria_send_t send{nullptr, layout, 1, 1, 0, 0, nullptr, nullptr};
  EXPECT_TRUE(refused(stria_send(endpoint, &send, &request), "stria_send", "base is NULL"));
  // With addresses for displacements it is right.
  stria_layout_t* absolute = nullptr;
  const std::int64_t eight[] = {8}, where[] = {reinterpret_cast<std::int64_t>(memory)};
  stria_layout_t* byte = nullptr;
  ASSERT_EQ(stria_layout_bytes(1, &byte), STRIA_OK);
  ASSERT_EQ(stria_layout_indexed(1, eight, where, byte, &absolute), STRIA_OK);
  memory[3] = 'm';
  EXPECT_EQ(stria_layout_pack(absolute, nullptr, 1, 0, 8, out), STRIA_OK);
  EXPECT_EQ(out[3], 'm');
  stria_layout_free(absolute);
  stria_layout_free(byte);
}

TEST_F(Arguments, that_belong_to_another_worker) {
  stria_worker_t* other = nullptr;
  ASSERT_EQ(stria_worker_open(context, nullptr, &other), STRIA_OK);
  stria_recv_t recv{};
  recv.base = memory;
  recv.count = 8;
  recv.match = {endpoint, 1, 0};
  EXPECT_TRUE(refused(stria_recv(other, &recv, &receiving), "stria_recv", "source"));
  recv.match.ignore = 1;  // by the long way
  EXPECT_TRUE(refused(stria_recv(other, &recv, &receiving), "stria_recv", "source"));
  EXPECT_TRUE(refused(stria_recv_wait(other, &recv, nullptr), "stria_recv", "source"));
  EXPECT_TRUE(refused(stria_probe(other, &recv.match, nullptr), "stria_probe", "source"));
  stria_message_t* message = nullptr;
  EXPECT_TRUE(refused(stria_mprobe(other, &recv.match, &message, nullptr), "stria_mprobe", "source"));
  recv.match = {nullptr, 1, 0};
  ASSERT_EQ(stria_recv(worker, &recv, &receiving), STRIA_IN_PROGRESS);
  EXPECT_TRUE(refused(stria_request_cancel(other, &receiving), "stria_request_cancel", "request"));
  EXPECT_TRUE(refused(stria_request_wait(other, &receiving, nullptr), "stria_request_wait", "request"));
  EXPECT_EQ(stria_request_cancel(worker, &receiving), STRIA_OK);

  const stria_send_t send{memory, nullptr, 8, 9, 0, 0, nullptr, nullptr};
  ASSERT_EQ(stria_send_wait(endpoint, &send), STRIA_OK);
  const stria_match_t nine{nullptr, 9, 0};
  while (message == nullptr) {
    (void)stria_worker_progress(worker);
    ASSERT_GE(stria_mprobe(worker, &nine, &message, nullptr), STRIA_OK);
  }
  EXPECT_TRUE(refused(stria_mrecv(other, message, &recv, &receiving), "stria_mrecv", "message"));
  EXPECT_EQ(stria_mrecv(worker, message, &recv, &receiving), STRIA_OK);
  EXPECT_EQ(stria_worker_close(other), STRIA_OK);
  EXPECT_EQ(stria_endpoint_close(endpoint), STRIA_OK);
  recv.match.source = endpoint;
  EXPECT_TRUE(refused(stria_recv(worker, &recv, &receiving), "stria_recv", "closed"));
  EXPECT_TRUE(refused(stria_endpoint_close(endpoint), "stria_endpoint_close", "closed"));
}

TEST_F(Arguments, of_a_packed_key_that_is_cut_short_or_has_bytes_behind_it) {
  std::vector<char> longer(packed, packed + bytes);
  longer.resize(STRIA_KEY_MAX + 8, '\xff');
  for (size_t length = 0; length <= longer.size(); ++length) {
    stria_key_t* opened = nullptr;
    // In memory of its own, so that a read behind it is seen by a sanitizer.
    const std::vector<char> given(longer.begin(), longer.begin() + static_cast<long>(length));
    const char* data = given.empty() ? packed : given.data();
    const stria_status_t answer = stria_key_open(endpoint, data, length, &opened);
    EXPECT_EQ(answer, length == bytes ? STRIA_OK : STRIA_ERR_INVALID) << length << " of " << bytes;
    stria_key_close(opened);
  }
  packed[1] = 9;  // parts
  stria_key_t* opened = nullptr;
  EXPECT_EQ(stria_key_open(endpoint, packed, bytes, &opened), STRIA_ERR_INVALID);
}

}  // namespace
}  // namespace stria::test
