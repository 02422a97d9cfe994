// A world of workers in one process on the fake provider: the test bed of the tag engine. Every choice of the
// scheduler comes from the options' seed.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "stria/stria.h"
#include "transport/fake/control.hpp"

namespace stria::test {

/// An operation whose request memory, outcome and call-back count live together.
struct Op {
  stria_request_t request;
  stria_info_t info{};
  int callbacks = 0;
  stria_status_t answer = STRIA_ERR_INVALID;  // of the call that started it

  static void on_done(stria_request_t* request, const stria_info_t* info, void* user) {
    auto* op = static_cast<Op*>(user);
    EXPECT_EQ(request, &op->request);
    op->info = *info;
    ++op->callbacks;
  }
  bool ended() {
    if (answer == STRIA_OK) return true;
    return answer == STRIA_IN_PROGRESS && callbacks > 0;
  }
};

class World {
 public:
  World(unsigned size, const fake::FabricOptions& options,
        const std::vector<std::array<std::string, 2>>& config = {})
      : fabric_(fake::make_fabric(options)) {
    fake::UseFabric use(fabric_);
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "fake", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_CLOSE_TIMEOUT_MS", "5", "test"), STRIA_OK);
    for (const auto& [name, value] : config)
      EXPECT_EQ(stria_config_set(name.c_str(), value.c_str(), "test"), STRIA_OK) << stria_last_error();
    EXPECT_EQ(stria_context_open(nullptr, &context_), STRIA_OK) << stria_last_error();
    workers_.resize(size);
    for (auto& worker : workers_)
      EXPECT_EQ(stria_worker_open(context_, nullptr, &worker), STRIA_OK) << stria_last_error();
    endpoints_.resize(static_cast<std::size_t>(size) * size);
    for (unsigned from = 0; from < size; ++from) {
      for (unsigned to = 0; to < size; ++to) {
        std::array<char, STRIA_ADDRESS_MAX> address;
        std::size_t bytes = address.size();
        EXPECT_EQ(stria_worker_address(workers_[to], address.data(), &bytes), STRIA_OK);
        stria_endpoint_params_t params{};
        params.size = sizeof(params);
        params.address = address.data();
        params.address_bytes = bytes;
        EXPECT_EQ(stria_endpoint_open(workers_[from], &params, &endpoints_[from * size + to]), STRIA_OK);
      }
    }
  }
  ~World() {
    for (auto* worker : workers_) stria_worker_close(worker);
    stria_context_close(context_);
    EXPECT_EQ(fake::statistics(*fabric_).kept, 0u) << "every payload that was kept is released";
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  unsigned size() const { return static_cast<unsigned>(workers_.size()); }
  stria_worker_t* worker(unsigned rank) { return workers_[rank]; }
  stria_endpoint_t* endpoint(unsigned from, unsigned to) { return endpoints_[from * size() + to]; }
  fake::Fabric& fabric() { return *fabric_; }
  stria_context_t* context() { return context_; }
  const std::shared_ptr<fake::Fabric>& shared_fabric() { return fabric_; }
  void kill(unsigned rank, fake::Loss loss) { fake::kill(*fabric_, stria_worker_id(workers_[rank]), loss); }
  void close(unsigned rank) {
    stria_worker_close(workers_[rank]);
    workers_[rank] = nullptr;
  }

  /// One progress call of every worker; returns what they handled.
  unsigned step() {
    unsigned handled = 0;
    for (auto* worker : workers_)
      if (worker != nullptr) handled += stria_worker_progress(worker);
    return handled;
  }
  /// Steps until `done` holds; false after `limit` rounds without it (a hang, told by the test).
  template <class F>
  bool run_until(F&& done, unsigned limit = 200000) {
    for (unsigned i = 0; i < limit; ++i) {
      if (done()) return true;
      step();
    }
    return done();
  }

  /// Sends from one worker to another. Nine parameters, the last three mostly left out: a test is read by the
  /// numbers in its calls.
  stria_status_t send(Op& op, unsigned from, unsigned to, std::uint64_t tag, const void* data,
                      std::uint64_t bytes, std::uint32_t immediate = 0, std::uint32_t flags = 0,
                      const stria_layout_t* layout = nullptr) {
    stria_send_t send{};
    send.base = data;
    send.layout = layout;
    send.count = bytes;
    send.tag = tag;
    send.immediate = immediate;
    send.flags = flags;
    send.callback = &Op::on_done;
    send.user = &op;
    op.answer = stria_send(endpoint(from, to), &send, &op.request);
    return op.answer;
  }
  static constexpr unsigned kAny = ~0u;
  /// Receives at one worker from another, or from kAny. Eight parameters, as send().
  stria_status_t recv(Op& op, unsigned at, unsigned from, std::uint64_t tag, std::uint64_t ignore, void* data,
                      std::uint64_t bytes, const stria_layout_t* layout = nullptr) {
    stria_recv_t recv{};
    recv.base = data;
    recv.layout = layout;
    recv.count = bytes;
    recv.match = {from == kAny ? nullptr : endpoint(at, from), tag, ignore};
    recv.callback = &Op::on_done;
    recv.user = &op;
    op.answer = stria_recv(worker(at), &recv, &op.request);
    if (op.answer == STRIA_OK) {
      EXPECT_NE(stria_request_test(&op.request, &op.info), STRIA_IN_PROGRESS);
    }
    return op.answer;
  }

 private:
  std::shared_ptr<fake::Fabric> fabric_;
  stria_context_t* context_ = nullptr;
  std::vector<stria_worker_t*> workers_;
  std::vector<stria_endpoint_t*> endpoints_;
};

/// Peers share memory with the provider for some values of `random`: payloads grow while they are read, and
/// may stay; memory of stria_mem_alloc is mapped; caches are far apart, and come nearer.
template <class Random>
void share_memory(fake::FabricOptions& options, Random& random) {
  if (random() % 3 == 0) return;
  options.maps = random() % 3 != 0;
  options.keeps = random() % 2 != 0;
  options.grows_percent = static_cast<std::uint32_t>(random() % 2 * (random() % 101));
  options.far_percent = static_cast<std::uint32_t>(random() % 3 * 50);
  options.far_changes_percent = static_cast<std::uint32_t>(random() % 2 * 3);
}

/// A fabric without delay, whose queues are short.
inline fake::FabricOptions quick() {
  fake::FabricOptions options;
  options.delay = 0;
  options.queue = 64;
  return options;
}

inline stria_counters_t counters(World& world, unsigned rank) {
  stria_counters_t out{};
  out.size = sizeof(out);
  EXPECT_EQ(stria_worker_counters(world.worker(rank), &out), STRIA_OK);
  return out;
}

}  // namespace stria::test
