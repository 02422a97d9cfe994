// Receives: the matching of a worker. Posted receives wait for messages here, and messages that came first
// wait for their receive (UnexpectedStore). What arrives is put back into the order of its sender, matched,
// and handed over: eager payload at once, an announced message to the rendezvous engine.
//
// A message that is delivered to a posted receive touches of this object the posted queue and the eager
// receiver alone.
#pragma once

#include <cstdint>

#include "tag/completion.hpp"
#include "tag/early_messages.hpp"
#include "tag/late_receives.hpp"
#include "tag/memory.hpp"
#include "tag/peers.hpp"
#include "tag/placed_receives.hpp"
#include "tag/posted_queue.hpp"

namespace stria::tag {

/// Threads: the worker's lock.
class alignas(kCacheLine) Receives {
 public:
  /// Does a round of progress of the whole worker.
  struct Progress {
    void* self;
    unsigned (*progress)(void* self) noexcept;
  };
  /// Six parameters: the parts of the worker that receives deal with, each of another kind. `peers` need not
  /// be constructed yet.
  Receives(std::uint64_t budget_bytes, Peers& peers, Activity& activity, rndv::Engine& rndv,
           const FailPeer& fail, const Progress& progress) noexcept;

  eager::Receiver& eager() noexcept { return store_.eager(); }

  // Calls of the application (receive.cpp; the first is in short_way.hpp).
  /// Contiguous memory for a message of a named source and tag. ok: it was there; in_progress: posted, or its
  /// data is on its way; no_resource: neither, or an argument is wrong.
  Status try_post(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept;
  Status recv(const stria_recv_t& recv, Unexpected* taken, stria_request_t* request) noexcept;
  Unexpected* probe(const stria_match_t& match, bool take, stria_info_t* info) noexcept;
  /// What a probe that found nothing answers: in_progress, or peer_failed when its source is gone.
  Status probe_later(const stria_match_t& match) noexcept;
  bool has_message(const Unexpected& entry) const noexcept { return store_.queue().has(entry); }
  Status cancel(Request& request) noexcept;

  // What arrives (deliver.cpp). The answers are STRIA_DELIVERED_* bits.
  /// An eager message in its turn and within its credit.
  std::uint32_t arrive_next(Peer& peer, const stria_packet_t& packet, const Device& device) noexcept;
  /// Any matchable packet, whose payload the eager receiver counted; the answer without GO_ON.
  std::uint32_t arrive(Peer& peer, const stria_packet_t& packet) noexcept;
  /// Where the payload of an eager message, which comes by the device of that number, is to go: into the
  /// memory of its receive, which is matched by that. False: it is kept, or has to wait for its turn.
  bool place(Peer& peer, std::uint8_t device, const transport::Header& header, std::uint32_t bytes,
             transport::Payload& memory) noexcept;
  /// A message for which place() named memory is all there. False: it named none.
  bool on_placed(Peer& peer, std::uint8_t device, const transport::Packet& packet) noexcept;
  /// The device writes nothing more into memory that place() has named for messages of the peer.
  void end_placing(const Peer& peer, std::uint8_t device) noexcept { placed_.end(peer, device); }
  /// No device writes anything any more.
  void end_all_placing(Status why) noexcept { placed_.end_all(why); }
  /// The device whose packet is delivered: its payload may stay where it is.
  void set_delivering(std::uint8_t device) noexcept { delivering_ = device; }

  // Messages of the worker to itself (own.cpp).
  bool has_posted() const noexcept { return posted_.size() != 0; }
  /// The receive that a message is for, out of the queue; null when none is posted.
  Request* take_posted(const Peer& source, std::uint64_t tag) noexcept {
    PostedRecv* const posted = posted_.match(source.index, tag);
    return posted != nullptr ? Request::of(*posted) : nullptr;
  }

  unsigned take_late(Peer& peer) noexcept { return late_.take(peer, Status::peer_failed); }
  /// Whether a posted receive names the peer.
  bool names(const Peer& peer) noexcept;
  /// Ends what names the peer, which has failed.
  void fail(Peer& peer, Status why) noexcept;
  /// Nothing is posted by the short way any more: the worker is being closed.
  void stop_short_way() noexcept { stopped_ = true; }
  /// Ends posted receives that name the peer; null: all.
  void end_posted(const Peer* peer, Status why) noexcept;
  void drop_unexpected() noexcept { store_.clear(); }
  void counters(stria_counters_t& out) const noexcept;

 private:
  // receive.cpp
  static constexpr unsigned kNotSoonAgain = 3;   // receives that do not look after one in vain
  static constexpr unsigned kWholeRound = 1024;  // looks between two rounds of progress, which take more
  void post_exact(const stria_recv_t& recv, const Peer& source, stria_request_t* request) noexcept;
  Status recv_beside_unexpected(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept;
  Status look(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept;
  std::int32_t take_from_window(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept;
  [[gnu::noinline]] bool poll_source(const stria_recv_t& recv, Peer& source,
                                     stria_request_t* request) noexcept;
  Status recv_entry(Unexpected& entry, const stria_recv_t& recv, const stria_payload_t& memory,
                    stria_request_t* request) noexcept;
  void take_unexpected(Unexpected& entry, const stria_payload_t& memory, Request& request) noexcept;
  void start_rendezvous(Request& request, Peer& peer, const rndv::Announcement& announced,
                        const stria_payload_t& memory) noexcept;

  // deliver.cpp
  std::uint32_t deliver_in_order(Peer& peer, const stria_packet_t& packet) noexcept;
  std::uint32_t arrive_eager(Peer& peer, const stria_packet_t& packet) noexcept;
  void arrive_announcement(Peer& peer, const stria_packet_t& packet) noexcept;
  std::uint32_t keep(Peer& peer, const stria_packet_t& packet) noexcept;
  bool takes_at_once(const Peer& peer, const stria_header_t& header) const noexcept;
  /// False: its sender stands still, and everything is as it was before the message came.
  bool finish_at_once(Peer& peer, const stria_packet_t& packet) noexcept;
  /// The receive left the queue, and the credit is counted. False: as finish_at_once().
  bool finish_eager(PostedRecv& posted, Peer& peer, const stria_packet_t& packet) noexcept;
  [[gnu::cold, gnu::noinline]] void cut_short(Request& request, Peer& peer,
                                              const stria_packet_t& packet) noexcept;
  [[gnu::cold, gnu::noinline]] bool not_whole(PostedRecv& posted, Peer& peer, const stria_packet_t& packet,
                                              bool is_late) noexcept;
  [[gnu::cold, gnu::noinline]] std::uint32_t comes_later(Peer& peer, const stria_packet_t& packet) noexcept;

  // synchronous.cpp
  /// A receive has the message, and its sender, where it waits for that, is to hear of it. False: out of
  /// memory, it would wait for ever.
  [[nodiscard]] bool notify_matched(Peer& peer, wire::SyncName name) noexcept;

  // What a short message looks at beside the queues, in one line.
  struct {
    const stria_recv_t* recv = nullptr;
    const Peer* source;
    stria_request_t* request;
  } starting_;            // a receive that looks first whether its message is there
  unsigned look_in_ = 0;  // so many receives do not look
  unsigned looks_ = 0;
  std::uint64_t received_ = 0;   // receives that got their eager message when it came
  bool stopped_ = false;         // stop_short_way()
  std::uint8_t delivering_ = 0;  // the device whose packet may have to wait
  Activity& activity_;
  Peers& peers_;

  PostedQueue posted_;
  UnexpectedStore store_;
  rndv::Engine& rndv_;
  const FailPeer fail_;
  const Progress progress_;
  EarlyMessages early_;
  LateReceives late_;
  PlacedReceives placed_;
};

}  // namespace stria::tag
