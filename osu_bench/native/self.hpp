// A worker that sends to itself.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "stria/stria.hpp"

namespace stria::bench {

inline void need(stria_status_t status, const char* what) {
  if (status >= STRIA_OK) return;
  fmt::print(stderr, "osu_threads: {}: {}: {}\n", what, stria_status_string(status), stria_last_error());
  std::exit(1);
}

/// A worker and its endpoint to itself.
struct Self {
  Self(const stria::api::Context& context, stria_thread_mode_t mode) : worker(context, mode) {
    const auto address = worker.address();
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = address.data();
    params.address_bytes = address.size();
    params.endpoint_class = STRIA_CLASS_LOW_LATENCY;
    need(stria_endpoint_open(worker.get(), &params, &endpoint), "opening an endpoint");
  }
  Self(const Self&) = delete;
  Self& operator=(const Self&) = delete;
  ~Self() { stria_endpoint_close(endpoint); }

  stria::api::Worker worker;
  stria_endpoint_t* endpoint = nullptr;
};

}  // namespace stria::bench
