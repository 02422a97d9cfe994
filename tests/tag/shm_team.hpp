// Workers of one process on the shm provider, each in a context of its own so that their variables may
// differ, and driven one by one: a test decides which one makes progress. The variables are set back when the
// team ends.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <forward_list>
#include <string>
#include <vector>

#include "stria/stria.h"
#include "tests/tag/variable.hpp"

namespace stria::test {

class ShmTeam {
 public:
  using Variables = std::vector<std::array<std::string, 2>>;

  ShmTeam() { set({{{"STRIA_PROVIDERS", "shm"}}, {{"STRIA_CLOSE_TIMEOUT_MS", "20"}}}); }
  ~ShmTeam() {
    for (auto* worker : workers_) stria_worker_close(worker);  // null: it left
    for (auto* context : contexts_) stria_context_close(context);
  }
  ShmTeam(const ShmTeam&) = delete;
  ShmTeam& operator=(const ShmTeam&) = delete;

  /// Opens a worker and returns its rank.
  unsigned join(const Variables& variables, stria_thread_mode_t mode = STRIA_THREAD_SINGLE) {
    set(variables);
    stria_context_t* context = nullptr;
    stria_worker_t* worker = nullptr;
    EXPECT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
    stria_worker_params_t params{};
    params.size = sizeof(params);
    params.thread_mode = mode;
    EXPECT_EQ(stria_worker_open(context, &params, &worker), STRIA_OK) << stria_last_error();
    contexts_.push_back(context);
    workers_.push_back(worker);
    return static_cast<unsigned>(workers_.size() - 1);
  }
  stria_worker_t* worker(unsigned rank) { return workers_[rank]; }
  stria_context_t* context(unsigned rank) { return contexts_[rank]; }
  stria_endpoint_t* endpoint(unsigned from, unsigned to,
                             stria_endpoint_class_t endpoint_class = STRIA_CLASS_DEFAULT) {
    char address[STRIA_ADDRESS_MAX];
    size_t bytes = sizeof(address);
    EXPECT_EQ(stria_worker_address(workers_[to], address, &bytes), STRIA_OK);
    stria_endpoint_params_t params{};
    params.size = sizeof(params);
    params.address = address;
    params.address_bytes = bytes;
    params.endpoint_class = endpoint_class;
    stria_endpoint_t* endpoint = nullptr;
    EXPECT_EQ(stria_endpoint_open(workers_[from], &params, &endpoint), STRIA_OK) << stria_last_error();
    return endpoint;
  }
  void leave(unsigned rank) {
    stria_worker_close(workers_[rank]);
    workers_[rank] = nullptr;
  }
  void progress(unsigned rank, unsigned times = 10) {
    while (times-- > 0) stria_worker_progress(workers_[rank]);
  }

 private:
  void set(const Variables& variables) {
    for (const auto& [name, value] : variables) variables_.emplace_front(name, value);
  }
  std::forward_list<Variable> variables_;  // the last one first, which is set back first
  std::vector<stria_context_t*> contexts_;
  std::vector<stria_worker_t*> workers_;
};

}  // namespace stria::test
