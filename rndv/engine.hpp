// The rendezvous engine of one worker: starts, advances and ends the operations of operation.hpp. One file a
// scheme: get.cpp reads through the sender's key, pipeline.cpp moves packed fragments, help.cpp reads what
// the sender of a pipeline leaves lying, dividing.cpp has all links of a peer bring pieces of a message,
// share.cpp has both sides copy; remote.cpp serves puts and gets that a provider cannot do itself.
// holding.cpp has what a provider does to memory of operations on its own.
//
// An operation belongs to one link of its peer, which also carries its RTS and FIN and whose death is the
// peer's: the one that a function is given as `link`. Further links of the peer (rails) are named beside it
// where it matters which one a packet came by.
//
// Whatever cannot be sent at once stays in the active list and is tried again by progress(), so that nothing
// is ever lost to back-pressure. Every function that ends an operation calls the owner's event last: the
// owner may free or reuse the operation, and start others, inside it.
#pragma once

#include <cstdint>
#include <span>

#include "rndv/ahead.hpp"
#include "rndv/cost_model.hpp"
#include "rndv/division.hpp"
#include "rndv/op_table.hpp"
#include "rndv/operation.hpp"
#include "rndv/piece_sender.hpp"
#include "rndv/rewriting.hpp"

namespace stria::rndv {

struct Options {
  Force force = Force::automatic;
  std::uint64_t pull_slice = 4u << 20;
  std::uint32_t fragment_bytes = 32768;    ///< of the pipeline, at most
  bool fragment_fixed = false;             ///< the user said so: all but the last have that size
  std::uint32_t patience_us = 5;           ///< a receiver waits so long for a fragment before it helps itself
  bool flows = false;                      ///< as Question's
  bool shares = true;                      ///< both sides may copy a part of a message each
  std::uint64_t rails_from = 1u << 20;     ///< messages so long are divided among the links of a peer
  std::uint64_t piece_bytes = 512u << 10;  ///< what a link is asked for at a time, at most
};

/// What the owner hears; op.outcome has the result.
struct Events {
  void* self = nullptr;
  void (*sent)(void* self, SendOp& op) = nullptr;
  void (*received)(void* self, RecvOp& op) = nullptr;
  /// The provider refused a get or put that the link's limits promise (UNSUPPORTED). Either they changed, and
  /// the owner renews them, or it was the memory of this one operation, and they are as they were.
  void (*refused)(void* self, const transport::LinkRef& link) = nullptr;
  /// The rails of the link's peer, which are valid until the next call, and each until fail_rail(). Sends on
  /// one that is not up yet answer no_resource. Asked for links that are `railed` alone; the owner connects
  /// rails that are missing.
  std::span<const transport::LinkRef* const> (*rails)(void* self, const transport::LinkRef& link) = nullptr;
};

struct Counters {
  std::uint64_t get = 0;
  std::uint64_t mapped = 0;
  std::uint64_t mapped_both = 0;
  std::uint64_t both = 0;
  std::uint64_t pipeline = 0;
  std::uint64_t fallbacks = 0;
  std::uint64_t by_rails = 0;  ///< pieces that came whole by rails
};

/// Threads: the worker's lock is held above.
class Engine {
 public:
  Engine(const Options& options, const Events& events) noexcept;
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Sends the RTS for op (memory, length and link set). ok: announced. no_resource: call again; what was
  /// prepared is kept in op. Anything else: the operation did not start.
  Status announce(SendOp& op, const transport::Header& header) noexcept;

  /// Starts receiving what was announced into op.memory (link and length set, length <= announcement.length).
  /// May end the operation before it returns; what is read from here is read by progress().
  void accept(RecvOp& op, const Announcement& announcement) noexcept;

  /// For a synchronous message that goes at once, with this number: the operation ends with the receiver's
  /// FIN. The flags of its header; 0: no slot is left for it, or no memory. abandon() takes it back.
  std::uint8_t await_match(SendOp& op, std::uint16_t sequence) noexcept;
  /// Its other half: a receive has the message, and the sender is to hear of it. False: out of memory.
  [[nodiscard]] bool confirm_match(const transport::LinkRef& link, wire::SyncName name) noexcept;

  /// Asks the peer's engine for a get (op.length bytes of `region` from `offset` on) or a put.
  void start_remote_get(RecvOp& op, std::uint64_t region, std::uint64_t offset) noexcept;
  void start_remote_put(SendOp& op, std::uint64_t region, std::uint64_t offset) noexcept;
  /// The peer's halves; `memory` is the part of the region asked for, `status` why it is refused.
  void serve_get(const transport::LinkRef& link, std::uint64_t region, const wire::RmaBody& body,
                 const transport::Payload& memory, Status status) noexcept;
  void serve_put(const transport::LinkRef& link, std::uint64_t region, const wire::RmaBody& body,
                 const transport::Payload& memory, Status status) noexcept;

  // Packets. One that names no operation under way is dropped: it may have been overtaken by the operation's
  // end. False or `misfit`: it names one and does not fit it, or is no such packet at all, as only a confused
  // peer sends. `later`: nothing changed, its sender stands still while it writes it. `rail`: the rail that
  // it came by; null: it came by the link itself.
  [[nodiscard]] bool on_rtr(const transport::LinkRef& link, const transport::Packet& packet,
                            const transport::LinkRef* rail = nullptr) noexcept;
  enum class Taken : std::uint8_t { well, misfit, later };
  [[nodiscard]] Taken on_frag(const transport::LinkRef& link, const transport::Packet& packet,
                              const transport::LinkRef* rail = nullptr) noexcept;
  void on_fin(const transport::LinkRef& link, const transport::Packet& packet) noexcept;

  /// Where a fragment's payload is to go, before it is there. False: nowhere, the operation has no such
  /// memory, or the fragment does not fit it. `device`: the number of the one whose link it comes by.
  [[nodiscard]] bool place(const transport::LinkRef& link, std::uint8_t device,
                           const transport::Header& header, std::uint32_t bytes, transport::Payload& memory,
                           const transport::LinkRef* rail = nullptr) noexcept;
  /// It is there. Also of a link whose peer was given up.
  [[nodiscard]] Taken on_placed(const transport::LinkRef& link, const transport::Packet& packet,
                                const transport::LinkRef* rail = nullptr) noexcept;
  /// The link of this device is dead: nothing is placed by it any more. Comes after fail_link or fail_rail.
  void end_placing(const transport::LinkRef& link, std::uint8_t device) noexcept;

  /// Reads an RTS's body; false when it is malformed.
  static bool parse_announcement(const transport::Packet& packet, Announcement& out) noexcept;

  /// Advances everything in the active list once. Returns how many operations moved.
  unsigned progress() noexcept;
  /// Nothing is under way at all.
  bool idle() const noexcept { return live_ == 0; }
  /// As Question's.
  bool flows() const noexcept { return options_.flows; }
  /// Bytes that one side copies before it looks after others.
  std::uint64_t pull_slice() const noexcept { return options_.pull_slice; }
  /// progress() has nothing to do: everything under way waits for a peer.
  bool resting() const noexcept { return active_.empty() && helpers_.empty() && pieces_.resting(); }

  /// Ends every operation of the link with `why`. The link is down: nothing begins on it any more. Returns
  /// how many steps that took, which is linear in the number of operations under way, of all links.
  std::uint64_t fail_link(const transport::LinkRef& link, Status why) noexcept;
  /// A rail of the link's peer is dead. Nothing ends: what it was to bring is asked of the other links.
  void fail_rail(const transport::LinkRef& link, const transport::LinkRef& rail) noexcept;
  /// Ends whatever is still under way; only after the provider is closed, which writes no memory any more.
  void end_all(Status why) noexcept;
  /// Whether a peer's put or get is under way on `region`.
  bool region_busy(std::uint64_t region) noexcept;
  /// Takes a waiting send back.
  void abandon(SendOp& op) noexcept;
  const Counters& counters() const noexcept { return counters_; }

 private:
  bool step(Operation& op) noexcept;  // true when something moved
  bool step_reading(RecvOp& op) noexcept;
  [[gnu::cold, gnu::noinline]] void go_packed(RecvOp& op) noexcept;
  void get_was_refused(RecvOp& op) noexcept;
  [[gnu::cold, gnu::noinline]] void was_refused(const transport::LinkRef& link) noexcept;
  bool step_rtr(RecvOp& op) noexcept;
  void wait_for_fragments(RecvOp& op) noexcept;
  bool is_wanted(const RecvOp& op, const transport::LinkRef* rail, std::uint64_t place,
                 std::uint64_t bytes) noexcept;
  bool has_come(RecvOp& op, const transport::LinkRef* rail, std::uint64_t place,
                std::uint64_t bytes) noexcept;
  bool came_ahead(RecvOp& op, std::uint64_t place, std::uint64_t bytes) noexcept;
  Ahead* take_ahead();
  void drop_ahead(RecvOp& op) noexcept;
  static void pass_ahead(RecvOp& op) noexcept;
  void refuse_fragments(RecvOp& op) noexcept;
  bool help() noexcept;
  static bool is_silent(transport::Silence& silence, std::uint32_t patience_us) noexcept;
  bool read_slice(RecvOp& op) noexcept;
  Status read_end(RecvOp& op, std::uint64_t bytes) noexcept;
  void moved_on(RecvOp& op) noexcept;
  void end_receiving(RecvOp& op) noexcept;
  bool step_remote(Operation& op) noexcept;
  bool step_streaming(SendOp& op) noexcept;
  [[gnu::cold, gnu::noinline]] bool divide(RecvOp& op) noexcept;
  bool step_asking(RecvOp& op) noexcept;
  static Status ask_for_piece(const RecvOp& op, const transport::LinkRef& link,
                              const Division::Range& range) noexcept;
  void piece_moved_on(RecvOp& op, const transport::LinkRef& link, std::uint64_t place,
                      std::uint64_t bytes) noexcept;
  void end_division(RecvOp& op) noexcept;
  [[gnu::noinline]] bool on_piece_request(SendOp& op, const transport::LinkRef& via,
                                          const wire::RtrBody& rtr) noexcept;
  bool refuse_request(SendOp& op, const wire::RtrBody& rtr, Status why) noexcept;
  static bool is_held(const Operation& op) noexcept;
  void hold(Operation& op) noexcept;
  void end(Operation& op) noexcept;
  void end_sending(SendOp& op, Status outcome) noexcept;
  void zcopy_ended(SendOp& op, Status status) noexcept;
  bool start_placing(RecvOp& op, std::uint64_t begin, std::uint64_t end, std::uint8_t device) noexcept;
  bool can_share(const transport::LinkRef& link, bool mapped) const noexcept;
  bool offer_key(RecvOp& op, bool mapped) noexcept;
  static void end_offered_key(RecvOp& op) noexcept;
  bool step_sharing(RecvOp& op) noexcept;
  bool go_on_without_get(RecvOp& op) noexcept;
  bool step_putting(SendOp& op) noexcept;
  Status put_piece(SendOp& op) noexcept;
  bool tell_piece(SendOp& op) noexcept;
  void wait_for_fin(SendOp& op) noexcept;
  void was_put(SendOp& op, Status status) noexcept;
  bool step_fin(RecvOp& op) noexcept;
  static transport::Header fin_of(const RecvOp& op) noexcept;
  bool give_key(SendOp& op, unsigned access) noexcept;
  void finish(Operation& op) noexcept;
  std::uint32_t fragment_of(const Question& question, const transport::LinkRef& link) const noexcept;
  bool owe_fin(const transport::LinkRef& link, wire::OpId peer_op, Status status) noexcept;
  static void helped(RecvOp& op, Status status) noexcept;
  static void on_get_done(stria_completion_t* completion, stria_status_t status) noexcept;
  static void on_put_done(stria_completion_t* completion, stria_status_t status) noexcept;
  static void on_zcopy_done(stria_completion_t* completion, stria_status_t status) noexcept;

  void began(Operation& op) noexcept;
  void ended(const Operation& op) noexcept;
  bool name(Operation& op) noexcept;  // gives it an id; false when out of memory
  void activate(Operation& op) noexcept;
  static void activate_in(IntrusiveList<Operation>& list, Operation& op) noexcept;
  void deactivate(Operation& op) noexcept;
  Operation* find(wire::OpId id, Operation::Kind kind, const transport::LinkRef& link) noexcept;
  Operation* ended_by(const transport::Header& fin) const noexcept;

  Options options_;
  Events events_;
  OpTable table_;
  KeyPool keys_;  // of operations whose keys are long
  IntrusiveList<Operation> active_;
  IntrusiveList<Operation> round_;    // active ones that a progress() under way has not advanced yet
  IntrusiveList<Operation> helpers_;  // receives of the pipeline that may read for themselves (help.cpp)
  IntrusiveList<Operation> held_;  // over, but for what a provider still does to their memory (holding.cpp)
  std::uint32_t rounds_ = 0;       // of progress() with helpers
  std::uint64_t live_ = 0;         // operations started and not ended
  std::uint64_t sends_ = 0;        // sends among them
  std::uint8_t sends_begun_ = 0;   // so many, modulo 256
  bool both_ways_ = false;         // the last receive that ended had a send beside it
  unsigned tries_ = 0;             // receives whose scheme depends on how far the peer is
  Ahead* spare_ahead_ = nullptr;   // for receives whose fragments overtake each other
  PieceSender pieces_;
  Divisions divisions_;
  Rewriting rewriting_;
  Counters counters_;
};

}  // namespace stria::rndv
