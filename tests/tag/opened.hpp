// One worker in a context of its own.
#pragma once

#include <gtest/gtest.h>

#include "stria/stria.h"

namespace stria::test {

/// A worker with the providers named, of which `fake` is in the fabric that is selected.
class Opened {
 public:
  explicit Opened(const char* providers = "shm") {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", providers, "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_CLOSE_TIMEOUT_MS", "20", "test"), STRIA_OK);
    EXPECT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
    EXPECT_EQ(stria_worker_open(context, nullptr, &worker), STRIA_OK) << stria_last_error();
  }
  ~Opened() {
    stria_worker_close(worker);
    stria_context_close(context);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  stria_endpoint_t* to(const Opened& peer) const {
    char address[STRIA_ADDRESS_MAX];
    size_t bytes = sizeof(address);
    EXPECT_EQ(stria_worker_address(peer.worker, address, &bytes), STRIA_OK);
    stria_endpoint_params_t params{};
    params.size = sizeof(params);
    params.address = address;
    params.address_bytes = bytes;
    stria_endpoint_t* endpoint = nullptr;
    EXPECT_EQ(stria_endpoint_open(worker, &params, &endpoint), STRIA_OK) << stria_last_error();
    return endpoint;
  }
  stria_context_t* context = nullptr;
  stria_worker_t* worker = nullptr;
};

}  // namespace stria::test
