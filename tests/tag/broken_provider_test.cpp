// A provider that breaks its contract where it is cheap to see: refused with a text that says so.
#include <cstring>

#include "tag/objects.hpp"
#include "tests/tag/world.hpp"
#include "transport/fake/fake.hpp"

namespace stria::test {
namespace {

class BrokenProvider : public testing::Test {
 protected:
  BrokenProvider() : use_(fake::make_fabric({})), table_(fake::fake_provider()) {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "fake", "test"), STRIA_OK);
  }
  void open_context() {
    const stria_provider_t* builtins[] = {&table_};
    auto opened = tag::open_context(nullptr, builtins);
    ASSERT_TRUE(opened.has_value()) << opened.error().context;
    context_ = reinterpret_cast<stria_context_t*>(opened->release());
  }
  ~BrokenProvider() override {
    for (auto* worker : workers_) stria_worker_close(worker);
    stria_context_close(context_);
  }
  fake::UseFabric use_;
  stria_provider_t table_;
  stria_context_t* context_ = nullptr;
  stria_worker_t* workers_[2] = {};
};

TEST_F(BrokenProvider, that_gives_no_link_is_refused) {
  table_.connect = [](stria_device_t*, const void*, std::uint32_t, void*, int, stria_link_t** link, char*,
                      std::uint32_t) {
    *link = nullptr;
    return STRIA_OK;
  };
  open_context();
  for (auto*& worker : workers_) ASSERT_EQ(stria_worker_open(context_, nullptr, &worker), STRIA_OK);
  char address[STRIA_ADDRESS_MAX];
  size_t bytes = sizeof(address);
  ASSERT_EQ(stria_worker_address(workers_[1], address, &bytes), STRIA_OK);
  stria_endpoint_params_t params{};
  params.size = sizeof(params);
  params.address = address;
  params.address_bytes = bytes;
  stria_endpoint_t* endpoint = nullptr;
  ASSERT_EQ(stria_endpoint_open(workers_[0], &params, &endpoint), STRIA_OK);
  EXPECT_EQ(stria_endpoint_connect(endpoint), STRIA_ERR_IO);
  EXPECT_NE(std::strstr(stria_last_error(), "gave no link"), nullptr) << stria_last_error();
  stria_request_t request;
  stria_send_t send{};
  EXPECT_EQ(stria_send(endpoint, &send, &request), STRIA_ERR_IO);
}

TEST_F(BrokenProvider, that_gives_no_device_is_refused) {
  table_.open = [](const stria_device_params_t*, stria_device_t**, char*, std::uint32_t) { return STRIA_OK; };
  open_context();
  EXPECT_EQ(stria_worker_open(context_, nullptr, &workers_[0]), STRIA_ERR_IO);
  EXPECT_NE(std::strstr(stria_last_error(), "gave no device"), nullptr) << stria_last_error();
}

}  // namespace
}  // namespace stria::test
