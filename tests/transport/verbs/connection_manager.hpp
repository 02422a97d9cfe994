// A stand-in for the connection manager: rdma_cm's functions, which the provider calls, are replaced in the
// program that is linked with this. It answers what is asked at once, and a test says what peers do. One at
// a time.
#pragma once

#include <rdma/rdma_cma.h>

#include <atomic>
#include <deque>
#include <mutex>

#include "transport/verbs/packets.hpp"

namespace stria::verbs::test {

class ConnectionManager {
 public:
  explicit ConnectionManager(ibv_context* context);
  ~ConnectionManager();
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;

  rdma_event_channel* channel() { return &channel_; }
  /// Of a connection that a peer asks for; the provider's from the event on.
  rdma_cm_id* make_id() const;
  void say(rdma_cm_event_type what, rdma_cm_id* id, const Hello* hello = nullptr);
  /// The peer's answer to rdma_connect. It is there when events are looked for the next time after none was:
  /// as if it came with what else woke the provider.
  void answer_late(const Hello& hello) { answer_ = hello; }
  /// rdma_destroy_id waits from here on, as a system call may; then it goes on.
  void hold() { held_ = true; }
  void go_on();
  /// Waits until it does.
  void wait_until_held() { is_held_.wait(false); }

 private:
  friend struct ManagerCalls;
  ibv_context* context_;
  rdma_event_channel channel_{-1};
  std::mutex mutex_;
  std::deque<rdma_cm_event> events_;
  Hello answer_{};
  rdma_cm_id* asked_ = nullptr;
  unsigned looks_ = 0;  // that found nothing, since rdma_connect
  std::atomic<bool> held_{false};
  std::atomic<bool> is_held_{false};
};

}  // namespace stria::verbs::test
