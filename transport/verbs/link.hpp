// One reliable connection. A ring remembers, for every work request under way, what is to be done when it
// completes; completions come in order, so that one says it of all before it (with iWARP they need not, and
// every request has its own). Credits: a link sends no more
// packets than the peer has posted buffers for, so that no receiver is ever found not ready.
//
//   credits_      packets that we may send            owed_   buffers of ours that are free again
//   Each packet brings what is owed back. When half of all credits are owed and nothing is sent, a packet of
//   credits alone goes; it has a buffer of its own at the peer, and the next waits until a packet of the peer
//   says that it was seen. A peer without credits has been sent such a packet or will be; a peer that got it
//   can send, and what it sends says that it got it: nobody waits for ever.
#pragma once

#include <array>
#include <cstdint>

#include "base/intrusive_list.hpp"
#include "transport/contract.hpp"
#include "transport/verbs/adapter.hpp"
#include "transport/verbs/blocks.hpp"
#include "transport/verbs/connection.hpp"
#include "transport/verbs/keys.hpp"
#include "transport/verbs/packets.hpp"
#include "transport/verbs/poster.hpp"

namespace stria::verbs {

class Device;

/// A get or put under way: posted piece by piece as there is room, over when the last piece completed. An
/// atomic is one piece, with a slot of the adapter's memory for what the word was. The device lists those
/// that are free, that wait for room, and that ended.
struct Move : ListNode {
  Link* link = nullptr;
  transport::Completion* completion = nullptr;
  transport::Payload local{};
  Region* region = nullptr;
  Blocks remote;
  std::uint64_t offset = 0;  ///< of the next byte in the remote stream
  std::uint32_t rkey = 0;
  std::uint32_t under_way = 0;  ///< work requests
  bool write = false;
  Status status = Status::ok;
  std::uint64_t* result = nullptr;  ///< of an atomic
  std::uint32_t slot = 0;           ///< of Device::words(), for it
};

class Link {
 public:
  Link(Device& device, std::uint64_t worker) noexcept;

  // The contract.
  Status pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept;
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                         const transport::Key& key) noexcept;
  Status get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
             transport::Completion* completion) noexcept;
  Status put(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
             transport::Completion* completion) noexcept;
  Status get_finish(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                    const transport::Header& header, transport::Completion* completion) noexcept;
  Status atomic(const transport::Atomic& atomic, const transport::Key& key,
                transport::Completion* completion) noexcept;
  void limits(transport::LinkLimits& out) noexcept;

  // For the device.
  /// Gives the link its connection, whose queue pair it uses from here on. Until then sends answer
  /// no_resource.
  void attach(Connection& connection) noexcept;
  bool is_attached() const noexcept { return connection_ != nullptr; }
  void set_echo(Link& link) noexcept;  ///< of a connection to ourselves: the end that packets come out of
  /// The other end of a connection to ourselves, while there is one; else null.
  Link* other_end() const noexcept { return echo_ != nullptr ? echo_ : origin; }
  /// The other end of a connection to ourselves knows it no more.
  void part() noexcept;
  std::uint32_t queue_pair_number() const noexcept { return poster_.queue_pair()->qp_num; }
  /// The side that connected speaks first (iWARP's rule, and a sign that the other side may send).
  bool has_to_greet() const noexcept { return is_attached() && connection_->asked && !ready_; }
  bool greet() noexcept;
  /// Greets a peer that has not been heard of since, where a greeting may be lost.
  void greet_again(std::uint64_t now_ms) noexcept;
  /// Asks for the completion of what was posted without; true: nothing is under way.
  bool settle() noexcept;
  /// What the prefix of an arrived packet says. False: no packet that the peer may send.
  bool take(const Prefix& prefix) noexcept;
  /// One of our buffers, which held a packet of the peer, is posted again. True: credits are due.
  bool give_back() noexcept {
    ++owed_;
    return wants_to_return();
  }
  bool wants_to_return() const noexcept { return owed_ >= half_ && !control_out_; }
  bool return_credits() noexcept;  ///< false: there was no room, call again
  void complete(std::uint32_t sequence, ibv_wc_status status) noexcept;
  /// Its queue pair is in error: one more request is flushed behind all that is under way, also what
  /// succeeded without a completion of its own.
  void flush() noexcept;
  /// Completes all that is under way, as its queue pair is gone.
  void abandon() noexcept;
  bool idle() const noexcept { return head_ == tail_; }
  bool has_moves() const noexcept { return pieces_ > 0; }
  Status choose(Window& window) noexcept;  ///< its bind goes out before the next packet
  bool withdraw(Window& window) noexcept;  ///< true: it was never posted
  Status end_window(Window& window) noexcept;
  void resume(Move& move) noexcept;  ///< there was no room for its next piece
  /// Posts something that the peer's adapter has to answer, if nothing is under way. False: what is under way
  /// has not moved for longer than all repetitions take, or a greeting did not come.
  bool probe(std::uint64_t now_ms) noexcept;
  Link& responder() noexcept { return echo_ != nullptr ? *echo_ : *this; }

  std::uint64_t worker() const noexcept { return worker_; }
  LinkNumber number() const noexcept { return connection_->number; }
  Connection* connection() const noexcept { return connection_; }  ///< null: none yet
  bool ready() const noexcept { return ready_; }
  IntrusiveList<Window>& windows() noexcept { return windows_; }

  void* cookie = nullptr;
  Link* origin = nullptr;  ///< of a connection to ourselves: the end that we send on; else null
  std::size_t place = 0;   ///< in the table of links
  bool announced = false;  ///< the worker has a cookie for it
  bool dying = false;
  bool broken = false;  ///< its queue pair is known to be in error: all of it will be flushed
  Status why = Status::ok;
  std::uint64_t dying_since_ms = 0;

 private:
  enum class Doing : std::uint8_t { nothing, slot, move };
  struct Entry {
    Doing doing = Doing::nothing;
    std::uint32_t slot = 0;
    Move* move = nullptr;
    bool done = false;  ///< where completions come out of order
  };
  static constexpr unsigned kMostChosen = 8;
  static constexpr unsigned kMostPieces = 16;
  static constexpr unsigned kMostChain = 4;
  static constexpr unsigned kMostUnderWay = kSendDepth / 2;  ///< of one move: others want room too
  static constexpr std::uint32_t kMask = kSendDepth - 1;
  static_assert((kSendDepth & kMask) == 0);

  bool has_room_now(unsigned requests) const noexcept {
    return kSendDepth - (head_ - tail_) >= requests + chosen_count_;
  }
  bool has_room(unsigned requests) noexcept;
  void end(const Entry& entry, ibv_wc_status status) noexcept;
  Status can_send() noexcept;
  bool binds_have_to_wait() noexcept;
  Prefix next_prefix(PacketKind kind) noexcept;
  /// Posts what was chosen and then these, at one doorbell. There is room.
  Status post(ibv_send_wr* requests, const Entry* entries, unsigned count, bool signal) noexcept;
  Status send_short(PacketKind kind, const transport::Header& header, const void* payload,
                    std::uint32_t bytes, const KeyContent* closes) noexcept;
  Status send_slot(PacketKind kind, const transport::Header& header, const transport::Payload& payload,
                   const KeyContent* closes) noexcept;
  Status send_prefix(PacketKind kind) noexcept;
  Status send_nothing() noexcept;
  template <class Done>
  void await(Done done) noexcept;

  // move.cpp
  Status start(bool write, const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
               transport::Completion* completion, const transport::Header* finish) noexcept;
  Status advance(Move& move, const transport::Header* finish) noexcept;
  void advance_further(Move& move) noexcept;
  void piece_done(Move& move, ibv_wc_status status) noexcept;
  void end(Move& move) noexcept;
  // atomic.cpp
  void end_atomic(Move& move) noexcept;

  Device& device_;
  const std::uint64_t worker_;
  Connection* connection_ = nullptr;  // its queue pair is ready
  Poster poster_;
  std::uint32_t head_ = 0;  // requests posted, and completed, in all
  std::uint32_t tail_ = 0;
  std::uint32_t unsignalled_ = 0;
  std::uint32_t pieces_ = 0;  // of moves, under way
  std::uint16_t credits_ = 0;
  std::uint16_t owed_ = 0;
  std::uint16_t half_ = 1;
  std::uint16_t most_credits_ = 0;
  bool control_out_ = false;
  bool control_seen_ = false;
  bool ready_ = false;
  bool flushed_ = false;
  bool heard_ = false;  // something came
  std::uint8_t greetings_ = 0;
  std::uint64_t greeted_ms_ = 0;
  bool asked_ = false;           // the last probe left something under way,
  std::uint32_t seen_tail_ = 0;  // behind this,
  std::uint64_t looked_ms_ = 0;  // and was then;
  std::uint64_t silent_ms_ = 0;  // what is under way has not moved for so long
  std::uint64_t waits_ms_ = 0;   // for the greeting, since
  std::uint32_t peer_link_ = 0;
  std::uint32_t peer_eager_ = 0;
  Link* echo_ = nullptr;
  unsigned chosen_count_ = 0;
  bool binds_wait_ = false;  // until all that is under way is acknowledged: no move posts more
  std::array<Window*, kMostChosen> chosen_{};
  IntrusiveList<Window> windows_;
  std::array<Entry, kSendDepth> ring_{};
};

}  // namespace stria::verbs
