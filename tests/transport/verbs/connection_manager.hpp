// A stand-in for the connection manager and its network: rdma_cm's functions, which the provider calls, are
// replaced in the program that is linked with this. Hosts are stand-ins for adapters, found by port. A
// request reaches the host at its port, and what that answers comes back, unless a test says that the host is
// silent. A test can also play a peer itself: it says what comes.
#pragma once

#include <rdma/rdma_cma.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "transport/verbs/adapter.hpp"
#include "transport/verbs/packets.hpp"

namespace stria::verbs::test {

/// One at a time.
class ConnectionManager {
 public:
  ConnectionManager();
  ~ConnectionManager();
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;

  /// The device on the adapter is found at this port from here on.
  void add_host(std::uint16_t port, Adapter& adapter);
  /// Nobody is found at its port any more.
  void remove_host(std::uint16_t port);
  static Address address_of(std::uint16_t port, std::uint64_t worker);

  /// A host that is there and answers no request.
  void silence(std::uint16_t port);
  /// A host whose address is never resolved.
  void hide(std::uint16_t port);

  /// So many calls of rdma_connect fail from here on, because a socket has the port that was picked.
  void take_ports(int calls) { ports_taken_ = calls; }

  /// Of a connection that a test's own peer asks the host for; the provider's from the event on.
  rdma_cm_id* make_id(std::uint16_t port);
  void say(rdma_cm_event_type what, rdma_cm_id* id, const Hello* hello = nullptr);
  /// The ids by which the host at `port` asked silent ones, and that it has not destroyed.
  std::vector<rdma_cm_id*> asked(std::uint16_t port);

  /// rdma_destroy_id waits from here on, as a system call may; then it goes on.
  void hold() { held_ = true; }
  void go_on();
  /// Waits until it does.
  void wait_until_held() { is_held_.wait(false); }

 private:
  friend struct ManagerCalls;
  struct Event {
    rdma_cm_event event{};
    std::vector<std::byte> data;
  };
  struct Host {
    rdma_event_channel channel{-1};
    ibv_context* context = nullptr;
    std::deque<Event> events;
  };
  struct Id {
    rdma_cm_id base{};  // first: the provider has a pointer to it
    Host* host = nullptr;
    Id* other = nullptr;  // of the same connection
    std::uint16_t to = 0;
    bool asked = false;
    bool established = false;
  };
  static Id& of(rdma_cm_id* id) { return *reinterpret_cast<Id*>(id); }
  Id& add_id(Host& host);
  void tell(Id& id, rdma_cm_event_type what, const void* data = nullptr, std::size_t bytes = 0,
            int status = 0);

  std::atomic<int> ports_taken_{0};
  std::mutex mutex_;
  std::map<std::uint16_t, std::unique_ptr<Host>> hosts_;
  std::deque<std::unique_ptr<Host>> gone_;  // whose ids may still be there
  std::set<std::uint16_t> silent_, hidden_;
  std::map<rdma_cm_id*, std::unique_ptr<Id>> ids_;
  std::atomic<bool> held_{false};
  std::atomic<bool> is_held_{false};
};

}  // namespace stria::verbs::test
