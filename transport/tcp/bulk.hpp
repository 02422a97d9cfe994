// The bulk connections of a link, called lanes. Gets of this side are requested in pieces, each over the lane
// that has the least to do; the pieces that the peer requests are sent.
//
//   get ──► waiting ── all of it requested ──► under way ── its last piece came ──► completion
//
// The side that made the link's first connection makes the lanes, when a get needs them, because its way is
// known to be open. When a lane's connection has ended, the requester asks for the rest of its pieces once
// more, over any other lane; a get that waits, or the next one, has the lane made anew. The side that learns
// of the end first tells the other side. A connection ends because it was reset or fell silent, or because a
// side that needs its descriptor has closed it.
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

/// What bulk connections ask of their link: to send records over the link's first connection, and to act on
/// their end.
class Requester {
 public:
  /// Sends a record. NO_RESOURCE: there is no room for it, or the first connection is not up; nothing was
  /// sent.
  virtual Status send_control(RecordKind kind, std::span<const std::byte> payload) noexcept = 0;
  /// Keeps a record until send_held(), which is to follow at once. False: there is no room for it, or the
  /// first connection is not up.
  virtual bool hold_control(RecordKind kind, std::span<const std::byte> payload) noexcept = 0;
  /// Sends the records that were kept.
  virtual void send_held() noexcept = 0;
  /// To be called after a lane has ended, whichever side ended it: lanes are made anew if a get needs them.
  virtual void lane_has_ended() noexcept = 0;
  /// To be called when lanes end again and again before a requested byte comes: gets are refused from now on.
  /// Calls completions.
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

  /// Begins the contract's get: IN_PROGRESS, or NO_RESOURCE when there is no memory. Not for a link that
  /// refuses gets.
  Status get(const transport::Payload& local, const KeyName& key, std::uint64_t offset,
             transport::Completion* completion) noexcept;

  // Making and ending lanes. `purpose`: as in Hello.
  /// Has this side make so many lanes by each of `routes` from now on, but no more than kLanesMost in all.
  void go_by(std::vector<Route> routes, std::uint32_t lanes_of_each) noexcept;
  bool knows_routes() const noexcept { return !routes_.empty(); }
  /// The number of lanes that this side is to make; 0: the routes are not known yet.
  std::uint32_t wanted_lanes() const noexcept { return wanted_; }
  const Route& route_of(std::uint32_t number) const noexcept { return routes_[number % routes_.size()]; }
  /// Whether a lane is neither there, nor being made by this side, nor given up.
  bool is_missing(std::uint32_t number) const noexcept;
  /// For the side that makes lanes: whether a lane is missing, or the routes are not known yet.
  bool lacks_lanes() const noexcept;
  /// Notes that this side is making a lane: pieces that the peer requests of it wait until it is up. Returns
  /// the purpose of the connection. Throws bad_alloc.
  std::uint32_t begin(std::uint32_t number);
  /// Takes over the connection of a lane, and sends and requests what waited for it.
  void come_up(std::uint32_t number, UniqueFd socket) noexcept;
  /// Takes over the connection of a lane that the peer has made, or closes it when the peer has begun a later
  /// one. Calls completions. Throws bad_alloc.
  void welcome(std::uint32_t purpose, UniqueFd socket);
  /// Notes that a lane cannot be made. True: all lanes are given up now.
  bool give_up(std::uint32_t number) noexcept;
  /// Ends a lane because the peer has found that its connection has ended. Calls completions.
  void lose(std::uint32_t purpose) noexcept;
  /// Whether some lane is there, and neither side requests anything.
  bool is_idle() const noexcept;
  /// Ends all lanes, and tells the peer. Only while is_idle().
  void close_idle() noexcept;
  /// Orders links by their last use: the later this side began a get, or the peer requested a piece, the
  /// larger.
  std::uint64_t used() const noexcept { return used_; }

  /// Takes the peer's request of a piece. `found`: OK, and the piece is `memory`; any other status: the piece
  /// is refused. The piece is sent by send_requested(), so that the kernel is asked for all pieces that are
  /// requested together.
  struct Taken {
    bool makes_sense;  ///< false: the peer has requested what it may not
    /// False: the requested connection has ended, and the peer requests the piece of another one.
    bool heard;
  };
  Taken supply(const PieceRequest& request, Status found, const transport::Payload& memory) noexcept;
  /// Begins to send the pieces that supply() has taken.
  void send_requested() noexcept;
  /// Goes on behind a refused piece, because the peer has read the refusal. False: no piece was refused.
  bool resume(const Resume& where) noexcept;

  enum class After : std::uint8_t {
    idle,
    more,  ///< the budget is used up
    wrong  ///< what the peer sent makes no sense, or memory cannot be accessed
  };
  struct Outcome {
    unsigned pieces;
    After after;
  };
  /// Takes up to `budget` pieces that have come: from all lanes if `all`, else only from those with
  /// outstanding requests. Calls completions.
  Outcome receive(bool all, unsigned budget) noexcept;
  /// Whether a get waits for a lane, or for room to request a piece.
  bool has_waiting() noexcept { return !waiting_.empty() || !again_.empty(); }
  /// Sends and requests what had no room before.
  void flush() noexcept;
  /// Shuts down connections whose far end has acknowledged nothing for `limit_ms`; receive() then finds their
  /// end. `now`: of now_ms().
  void end_silent(std::uint64_t now, std::uint64_t limit_ms) noexcept;
  /// Closes all lanes: nothing is sent, received or requested any more.
  void cut() noexcept;
  /// Ends all gets with `why`. Only when no lane can bring anything more: before any is up, or after cut().
  /// Calls completions.
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
    std::uint32_t generation = 0;  // how often a connection of this lane was begun; a part of purpose_of()
    bool is_coming = false;        // this side is making the connection
    bool is_given_up = false;
    bool waits_for_room = false;
    bool owes_resume = false;   // the peer waits for Resume, for which there was no room
    bool owes_loss = false;     // the peer is to be told that the lane has ended, and there was no room
    bool is_requested = false;  // a piece was requested since the last send_requested()
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
  void piece_has_ended(Get& get, Status status) noexcept;
  void complete_get(Get& get, Status status) noexcept;

  Shared& shared_;
  Requester& requester_;
  const Token token_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by number; null: never begun
  std::vector<Part> again_;  // what is left of the pieces of lanes that have ended, to be requested once more
  std::vector<Route> routes_;
  std::uint32_t wanted_ = 0;
  unsigned fruitless_ = 0;  // lanes in a row that ended before a requested byte came
  std::uint64_t used_ = 0;
  IntrusiveList<Get> waiting_;
  IntrusiveList<Get> under_way_;
  After broken_ = After::idle;  // `wrong`: the link has to end; else idle
};

}  // namespace stria::tcp
