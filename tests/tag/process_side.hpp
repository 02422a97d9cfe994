// One of two processes that exchange their addresses through pipes: a worker on one provider, which is shm
// unless a test says otherwise, and an endpoint to the other.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>

#include "stria/stria.h"

namespace stria::test {

/// The provider that the environment asks for, of tests that hold for several; else shm.
inline const char* provider_under_test() {
  const char* const asked = std::getenv("STRIA_TEST_PROVIDER");
  return asked != nullptr ? asked : "shm";
}

struct ProcessSide {
  /// Variables of the configuration are set before. Errors are the test's.
  ProcessSide(int out, int in, const char* provider = "shm") {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", provider, "test"), STRIA_OK) << stria_last_error();
    EXPECT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
    EXPECT_EQ(stria_worker_open(context, nullptr, &worker), STRIA_OK) << stria_last_error();
    std::array<char, STRIA_ADDRESS_MAX> mine{}, theirs{};
    std::size_t bytes = mine.size();
    EXPECT_EQ(stria_worker_address(worker, mine.data(), &bytes), STRIA_OK);
    const auto room = static_cast<ssize_t>(mine.size());
    EXPECT_EQ(::write(out, mine.data(), mine.size()), room);  // both have one length: the host is the same
    EXPECT_EQ(::read(in, theirs.data(), theirs.size()), room);
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = theirs.data();
    params.address_bytes = bytes;
    EXPECT_EQ(stria_endpoint_open(worker, &params, &peer), STRIA_OK) << stria_last_error();
  }
  ~ProcessSide() {
    stria_worker_close(worker);
    stria_context_close(context);
  }
  ProcessSide(const ProcessSide&) = delete;
  ProcessSide& operator=(const ProcessSide&) = delete;

  stria_context_t* context = nullptr;
  stria_worker_t* worker = nullptr;
  stria_endpoint_t* peer = nullptr;
};

}  // namespace stria::test
