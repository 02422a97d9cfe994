// Connecting by rdma_cm, on a thread of its own that sleeps on the connection manager's events: peers can
// connect to a process that computes and does not call the library. The worker's thread asks for a connection
// and goes on at once. The outcome, and connections that peers make on their own, reach the worker's thread
// as news, which progress() takes.
//
//   connect   resolve address ── resolve route ── request{Hello} ──►  worker? secret? version? answer{Hello}
//   both      the connection that the smaller worker id asked for is kept; the other is refused
//   connect   (yours_comes), and the worker that asked for that one waits for the one that comes
//   late      an attempt that has no answer within STRIA_VERBS_CONNECT_MS fails, by the connector's own clock
//   end       disconnect; the queue pair goes to error; news for the worker, which disposes of the connection
//
// The two threads share a mailbox and nothing else (mailbox.hpp), so that the worker never waits for the
// connection manager. Each command `connect` has one answer in the news: `up`, with a connection to that
// worker that either side asked for, or `failed`.
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
    ReceiveBuffers& receives;  ///< only the connector adds buffers
    std::uint64_t worker_id;
  };
  Connector(const Params& params, std::vector<std::byte> secret);
  ~Connector();
  Result<void> start();
  /// Ends the thread, disconnects all connections, and puts their queue pairs into error.
  void stop() noexcept;
  /// Destroys all connections and their queue pairs. To be called after stop(), when no window is bound.
  void destroy_all() noexcept;

  // The worker's thread.
  /// Asks for a connection to a worker; news will say what becomes of it. Throws std::bad_alloc.
  void connect(const Address& address);
  /// Ends the connection; it stays the worker's, and news will say that it is broken.
  void disconnect(Connection& connection) noexcept;
  /// Gives the connection back to the connector, which destroys it.
  void dispose(Connection& connection) noexcept;
  /// Swaps the news since the last call into `out`, which is empty; false: there are none.
  bool take_news(std::vector<News>& out) noexcept { return mailbox_.take_news(out); }
  bool has_news() const noexcept { return mailbox_.has_news(); }
  int fd() const noexcept { return mailbox_.news_fd(); }  ///< readable when news came, until clear()
  void clear() noexcept { mailbox_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// A command `connect` that has no answer yet.
  struct Attempt {
    enum class State : std::uint8_t {
      asking,   ///< this side has sent a request, or prepares it
      awaited,  ///< the peer refused, as its own request is to come
      paused,   ///< the peer is to be asked again soon
    } state = State::asking;
    Connection* connection = nullptr;  ///< while asking
    Address address{};
    Clock::time_point deadline;
    std::string why;  ///< the last refusal: the error if the attempt comes to its deadline
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
  void pause(Attempt& attempt, std::string why);
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

  // Used by the connector's thread; by any thread after that one has ended.
  LinkNumbers numbers_;
  std::map<Connection*, std::unique_ptr<Connection>> connections_;
  /// By worker id: the connections that the worker's thread was told of and has not given back. Of a
  /// connection to ourselves only the asking end.
  std::map<std::uint64_t, Connection*> live_;
  Attempts attempts_;                                       // by worker id
  std::multimap<Clock::time_point, std::uint64_t> timers_;  // when to check the attempt for a worker id
};

}  // namespace stria::verbs
