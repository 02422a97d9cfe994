// Connecting by rdma_cm, on a thread of its own that sleeps on the connection manager's events: a process
// that computes is connected to without its help. The worker's thread asks for a connection and goes on at
// once; what becomes of it, and what peers do on their own, comes to it as news, which it takes in
// progress().
//
//   connect   resolve address ── resolve route ── request{Hello} ──►  worker? secret? version? answer{Hello}
//   both      the connection of the smaller worker id is kept; the other is refused (yours_comes), and
//   connect   whoever asked for it waits for the one that comes
//   late      an attempt that has no answer within STRIA_VERBS_CONNECT_MS fails, by the connector's own clock
//   end       disconnect, the queue pair goes to error, news for the worker, which gives the connection back
//
// The two threads share a mailbox and nothing else (mailbox.hpp), so that the worker never waits for the
// connection manager. For each command `connect` there is one answer: a connection to that worker that is up,
// whoever asked for it, or `failed`.
#pragma once

#include <rdma/rdma_cma.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "transport/verbs/adapter.hpp"
#include "transport/verbs/buffers.hpp"
#include "transport/verbs/connection.hpp"
#include "transport/verbs/handshake.hpp"
#include "transport/verbs/link_numbers.hpp"
#include "transport/verbs/mailbox.hpp"
#include "transport/verbs/packets.hpp"
#include "transport/verbs/settings.hpp"

namespace stria::verbs {

class Connector {
 public:
  struct Params {
    const Adapter& adapter;
    const Settings& settings;
    const stria_services_t& services;
    ReceiveBuffers& receives;  ///< to which only the connector adds
    std::uint64_t worker_id;
  };
  Connector(const Params& params, std::vector<std::byte> secret);
  ~Connector();
  Result<void> start();
  /// Ends the thread; all connections are disconnected, and their queue pairs in error.
  void stop() noexcept;
  /// After stop(), when no window is bound any more.
  void destroy_all() noexcept;

  // The worker's thread.
  /// Asks for a connection, of which news will come. Throws std::bad_alloc.
  void connect(const Address& address);
  /// Ends the connection; it stays the worker's, and news will say that it is broken.
  void disconnect(Connection& connection) noexcept;
  /// Gives the connection back.
  void dispose(Connection& connection) noexcept;
  /// News since the last time; false: there are none.
  bool take_news(std::vector<News>& out) noexcept { return mailbox_.take_news(out); }
  bool has_news() const noexcept { return mailbox_.has_news(); }
  int fd() const noexcept { return mailbox_.news_fd(); }
  void clear() noexcept { mailbox_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// A command `connect` that has no answer yet.
  struct Attempt {
    enum class State : std::uint8_t {
      asking,   ///< by a connection of ours
      awaited,  ///< the peer's own request is to come
      paused,   ///< the peer is to be asked again soon
    } state = State::asking;
    Connection* connection = nullptr;
    Address address{};
    Clock::time_point deadline;
    std::string why;  ///< what was last heard, for one that is late
  };
  using Attempts = std::map<std::uint64_t, Attempt>;
  struct Event {
    rdma_cm_event_type type;
    rdma_cm_id* id;
    int status;
    rdma_conn_param param;
    std::byte data[64];
    std::uint8_t data_bytes;
  };

  // The connector's thread: connector.cpp,
  void run() noexcept;
  int wait_ms() const noexcept;
  template <class Step>
  void guard(Step step) noexcept;
  bool next_event(Event& out) noexcept;
  void handle(const Event& event);
  void obey(const Command& command);
  void look_at_clock();
  // and the steps: connecting.cpp.
  void begin(const Address& address);
  void ask(Attempt& attempt);
  void resolved(Connection& connection);
  void request(Connection& connection);
  void welcome(const Event& event);
  void refuse(rdma_cm_id* id, Reason reason) noexcept;
  void answered(Connection& connection, const Event& event);
  void up(Connection& connection);
  void ended(Connection& connection, const Event& event);
  void refused(Connection& connection, const Refusal& refusal);
  void fail(Connection& connection, Error error);
  void give_up(Attempts::iterator attempt, Error error);
  void break_off(Connection& connection);
  void destroy(Connection& connection) noexcept;
  Attempts::iterator attempt_of(const Connection& connection) noexcept;
  Result<void> make_queue_pair(Connection& connection);

  const Params params_;
  std::thread thread_;
  const Handshake handshake_;
  Mailbox mailbox_;

  // The connector's thread, or any when that has ended.
  LinkNumbers numbers_;
  std::map<Connection*, std::unique_ptr<Connection>> connections_;
  /// By worker: told to the worker's thread, and not given back. Not the accepting end of one to ourselves.
  std::map<std::uint64_t, Connection*> live_;
  Attempts attempts_;
  std::multimap<Clock::time_point, std::uint64_t> timers_;  // when to look at an attempt, by its worker
};

}  // namespace stria::verbs
