// The bulk connections of a link, its lanes: gets of this side, in pieces over whichever lane has the least
// to do, and pieces that the peer requests.
//
//   get ──► waiting ── all of it requested ──► under way ── its last piece came ──► completion
//
// Lanes are made when a get needs them, by the side that made the link's first connection, since its way is
// known to be open. Of a lane whose connection has ended the requester asks for the rest once more, over
// whichever lane there is; the next get makes another. Whoever hears of the end first tells the other side. A
// lane ends because its connection was reset, or because a side that needs its descriptor has closed it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fd.hpp"
#include "base/intrusive_list.hpp"
#include "transport/tcp/fetch.hpp"
#include "transport/tcp/route.hpp"
#include "transport/tcp/shared.hpp"
#include "transport/tcp/silence.hpp"
#include "transport/tcp/supply.hpp"

namespace stria::tcp {

/// Sends what bulk connections have to say over the link's first connection.
class Requester {
 public:
  virtual Status send_control(RecordKind kind, std::span<const std::byte> payload) noexcept = 0;
  /// The record waits for send_held(), which is to follow at once. False: there is no room for it.
  virtual bool hold_control(RecordKind kind, std::span<const std::byte> payload) noexcept = 0;
  virtual void send_held() noexcept = 0;
  /// A lane is not there any more, and the peer has been told so.
  virtual void lane_has_ended() noexcept = 0;
  /// Lanes are of no use: they end again and again before a byte comes. Calls completions.
  virtual void do_without_bulk() noexcept = 0;

 protected:
  ~Requester() = default;
};

class Bulk {
 public:
  Bulk(Shared& shared, Requester& requester, Token token) noexcept
      : shared_(shared), requester_(requester), token_(token) {}
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;
  ~Bulk() { cut(); }

  /// The contract's get, of a link whose gets are not refused.
  Status get(const transport::Payload& local, const KeyName& key, std::uint64_t offset,
             transport::Completion* completion) noexcept;

  // How lanes come. `purpose`: as in Hello.
  /// The side that makes them is to make so many by each of `routes`, from now on.
  void go_by(std::vector<Route> routes, std::uint32_t lanes_of_each) noexcept;
  bool knows_routes() const noexcept { return !routes_.empty(); }
  /// How many there are to be; 0: the routes are not known yet.
  std::uint32_t wanted_lanes() const noexcept { return wanted_; }
  const Route& route_of(std::uint32_t number) const noexcept { return routes_[number % routes_.size()]; }
  /// The lane is neither there, nor on its way, nor given up.
  bool is_missing(std::uint32_t number) const noexcept;
  /// Of the side that makes lanes: some is missing.
  bool lacks_lanes() const noexcept;
  /// The lane is being made by this side; what the peer requests of it waits. Returns the connection's
  /// purpose. Throws bad_alloc.
  std::uint32_t begin(std::uint32_t number);
  void come_up(std::uint32_t number, UniqueFd socket) noexcept;
  /// The peer has made a lane. Calls completions. Throws bad_alloc.
  void welcome(std::uint32_t purpose, UniqueFd socket);
  /// The lane cannot be made. True: it was the last one.
  bool give_up(std::uint32_t number) noexcept;
  /// The connection has ended, as the peer says, which has heard of it first. Calls completions.
  void lose(std::uint32_t purpose) noexcept;
  /// Nothing is requested, by either side, and some lane is there.
  bool is_idle() const noexcept;
  /// Ends the lanes of an idle link.
  void close_idle() noexcept;
  /// The larger, the later has a piece been requested, by either side.
  std::uint64_t used() const noexcept { return used_; }

  /// The peer requests a piece, for which its key gives `memory`, or nothing (ACCESS). False: it may not.
  /// It goes out with send_requested(), so that the kernel is asked for all pieces that are requested
  /// together. `heard`: the peer has the lane of the request.
  struct Taken {
    bool makes_sense;
    bool heard;
  };
  Taken supply(const PieceRequest& request, Status found, const transport::Payload& memory) noexcept;
  void send_requested() noexcept;
  /// The peer has heard that a piece is refused. False: it may not say so.
  bool resume(const Resume& where) noexcept;

  enum class After : std::uint8_t {
    idle,
    more,  ///< the budget is used up
    wrong  ///< what the peer sent makes no sense
  };
  struct Outcome {
    unsigned pieces;
    After after;
  };
  /// Takes up to `budget` pieces, of all lanes or of those that something is to come of. Calls completions.
  Outcome receive(bool all, unsigned budget) noexcept;
  /// Gets wait for lanes, or for room to request.
  bool has_waiting() noexcept { return !waiting_.empty() || !again_.empty(); }
  /// Goes on with what had no room.
  void flush() noexcept;
  /// Ends the connections whose far end has acknowledged nothing for `limit_ms`: receive() hears of it.
  void end_silent(std::uint64_t now, std::uint64_t limit_ms) noexcept;
  /// Nothing is sent, received or made any more.
  void cut() noexcept;
  /// All gets end so. Only when nothing more can come: before any lane is up, or behind cut(). Calls
  /// completions.
  void end_gets(Status why) noexcept;

 private:
  struct Lane {
    Lane(const Shared& shared, BufferPool& pool, Token token) noexcept
        : supply(pool, shared.services, token, shared.queue.get()),
          fetch(pool, shared.services, token, shared.queue.get()) {}
    UniqueFd socket;
    Supply supply;
    Fetch fetch;
    Silence silence;
    std::uint32_t generation = 0;  // how often it has been begun
    bool is_coming = false;        // this side is making it
    bool is_given_up = false;
    bool waits_for_room = false;
    bool owes_resume = false;
    bool owes_loss = false;     // the peer is to be told that it has ended
    bool is_requested = false;  // since the last send_requested()
  };
  Lane* least_busy() noexcept;
  Lane& lane(std::uint32_t number);
  std::uint32_t purpose_of(const Lane& lane) const noexcept;
  Lane* find(std::uint32_t purpose) const noexcept;
  void request() noexcept;
  bool request_next() noexcept;
  bool request_piece(const Part& part, Lane& lane) noexcept;
  void send(Lane& lane) noexcept;
  void say_resume(Lane& lane) noexcept;
  void say_loss(Lane& lane) noexcept;
  void lose(Lane& lane) noexcept;
  void close(Lane& lane) noexcept;
  void over(Get& get, Status status) noexcept;
  void finish(Get& get, Status status) noexcept;

  Shared& shared_;
  Requester& requester_;
  const Token token_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // null: it was never begun
  std::vector<Part> again_;                   // what lanes were asked for that have ended
  std::vector<Route> routes_;
  std::uint32_t wanted_ = 0;
  unsigned fruitless_ = 0;  // lanes in a row that ended before a byte came that they were asked for
  std::uint64_t used_ = 0;
  IntrusiveList<Get> waiting_;
  IntrusiveList<Get> under_way_;
  After broken_ = After::idle;  // or wrong
};

}  // namespace stria::tcp
