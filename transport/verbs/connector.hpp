// Connecting by rdma_cm, on a thread of its own that sleeps on the connection manager's events: a process
// that computes is connected to without its help. The worker's thread asks for connections and waits; what
// peers do on their own comes to it as news, which it takes in progress().
//
//   connect   resolve address ── resolve route ── request{Hello} ──►  worker? secret? version? answer{Hello}
//   both      the connection of the smaller worker id is kept; the other is refused (yours_comes), and
//   connect   whoever asked for it waits for the one that comes
//   end       disconnect, the queue pair goes to error, news for the worker, which gives the link back
#pragma once

#include <rdma/rdma_cma.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/verbs/link.hpp"
#include "transport/verbs/packets.hpp"

namespace stria::verbs {

class Device;

struct Connection {
  rdma_cm_id* id = nullptr;
  std::uint64_t worker = 0;
  bool asked = false;   ///< by us
  bool up = false;      ///< the link may be used, or will be when the peer greets
  bool broken = false;  ///< its end was told
  std::unique_ptr<Link> link;
};

struct News {
  enum class What : std::uint8_t { arrived, broken } what;
  Link* link;
};

class Connector {
 public:
  Connector(Device& device, std::uint64_t worker_id, std::vector<std::byte> secret);
  ~Connector();
  Result<void> start();
  /// Ends the thread; all connections are disconnected, and their queue pairs in error.
  void stop() noexcept;
  /// After stop(), when no window is bound any more.
  void destroy_all() noexcept;

  // The worker's thread.
  /// The link that is there or coming from the peer, or a new one; waits for it.
  Result<Link*> connect(const Address& address);
  /// News since the last time; false: there are none.
  bool take_news(std::vector<News>& out) noexcept;
  bool has_news() const noexcept { return has_news_.load(std::memory_order_acquire); }
  void disconnect(Link& link) noexcept;
  void dispose(Link& link) noexcept;
  int fd() const noexcept { return news_fd_.get(); }
  void silence() noexcept;

 private:
  struct Attempt {
    enum class State : std::uint8_t { pending, superseded, busy, failed } state = State::pending;
    Connection* connection = nullptr;
    Error error;
  };
  struct Event {
    rdma_cm_event_type type;
    rdma_cm_id* id;
    int status;
    rdma_conn_param param;
    std::byte data[64];
    std::uint8_t data_bytes;
  };
  enum class Command : std::uint8_t { connect, disconnect, dispose };

  void run() noexcept;
  bool next_event(Event& out) noexcept;
  void handle(const Event& event);
  void begin(Connection& connection, const Address& address);
  void resolved(Connection& connection);
  void request(Connection& connection);
  void welcome(const Event& event);
  void refuse(rdma_cm_id* id, Reason reason) noexcept;
  void answered(Connection& connection, const Event& event);
  void ended(Connection& connection, const Event& event);
  void fail(Connection& connection, Attempt::State state, Error error);
  void break_off(Connection& connection);
  void destroy(Connection& connection) noexcept;
  Result<void> make_link(Connection& connection);
  rdma_conn_param parameters(const Hello& hello) const noexcept;
  Hello hello_to(const Connection& connection) const noexcept;
  bool is_good(const Hello& hello, std::uint64_t from, Reason& reason) const noexcept;
  void tell(News news);
  void wake() noexcept;

  Device& device_;
  const std::uint64_t worker_id_;
  const std::vector<std::byte> secret_;
  std::thread thread_;
  UniqueFd wake_fd_;
  UniqueFd news_fd_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<std::pair<Command, Connection*>> commands_;
  std::map<Connection*, Address> targets_;
  std::map<Connection*, std::unique_ptr<Connection>> connections_;
  std::map<std::uint64_t, Connection*> live_;  // by worker: up and not broken; not the echo of our own
  std::map<std::uint64_t, Attempt> attempts_;
  std::vector<News> news_;
  std::atomic<bool> has_news_{false};
};

}  // namespace stria::verbs
