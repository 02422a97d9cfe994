// Worker: the progress engine. It owns the devices, the peers, the matching queues and the rendezvous engine,
// and puts the protocols together: which way a message leaves (send.cpp), what an arriving packet means
// (deliver.cpp), where it waits (store.cpp), what a receive finds (receive.cpp), regions (remote_memory.cpp),
// puts and gets (one_sided.cpp), atomics (atomic.cpp), and the life of peers (peers.cpp).
//
// Threads: who calls a public function holds the worker's lock (Locked in api/convert.hpp), except for
// wait(), which takes it itself.
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/log.hpp"
#include "eager/receive.hpp"
#include "eager/send.hpp"
#include "rndv/atomics.hpp"
#include "rndv/engine.hpp"
#include "tag/activity.hpp"
#include "tag/devices.hpp"
#include "tag/early_messages.hpp"
#include "tag/last_error.hpp"
#include "tag/lock.hpp"
#include "tag/objects.hpp"
#include "tag/peers.hpp"
#include "tag/posted_queue.hpp"
#include "tag/remote_key.hpp"
#include "tag/request.hpp"
#include "tag/unexpected_queue.hpp"

namespace stria::tag {

class Worker {
 public:
  static Result<std::unique_ptr<Worker>> open(Context& context, stria_thread_mode_t mode);
  /// Drains for at most STRIA_CLOSE_TIMEOUT_MS, ends what is left with CANCELLED, closes the devices.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::uint64_t id() const noexcept { return activity_.worker_id(); }
  const char* provider_name(std::size_t device) const noexcept { return devices_[device].name(); }
  const std::vector<std::byte>& address() const noexcept { return devices_.address(); }
  WorkerLock& lock() noexcept { return lock_; }
  /// Whether the calling thread is inside a callback of this worker. Every callback runs inside a round, and
  /// no other thread makes calls meanwhile, unless the lock tells the threads apart.
  bool inside_callback() const noexcept {
    return (!lock_.shared() || lock_.is_mine()) && activity_.in_progress();
  }

  // Progress and waiting.
  unsigned progress() noexcept;
  Status wait(int timeout_ms) noexcept;
  int event_fd() noexcept;
  Status arm() noexcept;
  void counters(stria_counters_t& out) noexcept;

  Peers& peers() noexcept { return peers_; }

  // Messages; the first two are in short_way.hpp.
  bool try_send_inline(Peer& peer, const stria_send_t& send, std::uint32_t below) noexcept;
  Status try_post(const stria_recv_t& recv, stria_request_t* request) noexcept;
  Status recv_beside_unexpected(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept;
  Status send(Peer& peer, const stria_send_t& send, stria_request_t* request) noexcept;
  Status recv(const stria_recv_t& recv, Unexpected* taken, stria_request_t* request) noexcept;
  Unexpected* probe(const stria_match_t& match, bool take, stria_info_t* info) noexcept;
  /// What a probe that found nothing answers: in_progress, or peer_failed when its source is gone.
  Status probe_later(const stria_match_t& match) noexcept;
  bool has_message(const Unexpected& entry) const noexcept { return unexpected_.has(entry); }
  Status cancel(Request& request) noexcept;

  // Remote memory.
  Result<Region*> register_region(void* base, const stria_layout_t* layout, std::uint64_t count,
                                  unsigned access);
  void deregister_region(Region* region) noexcept;
  /// Finds the parts of a key for the devices of this worker.
  void take_up(RemoteKey& key) const noexcept;
  Status rma(RequestKind kind, Peer& peer, const stria_rma_t& rma, stria_request_t* request) noexcept;
  Status atomic(Peer& peer, const stria_atomic_t& atomic, stria_request_t* request) noexcept;

 private:
  Worker(Context& context, stria_thread_mode_t mode);
  [[gnu::noinline]] unsigned end_round(unsigned handled) noexcept;

  // Upcalls of providers; self is the Device.
  static std::uint32_t on_deliver(void* self, void* peer, const stria_packet_t* packet) noexcept;
  static void* on_peer_up(void* self, std::uint64_t worker_id, stria_link_t* link) noexcept;
  static void on_link_down(void* self, void* peer, stria_status_t why) noexcept;
  static void on_link_changed(void* self, void* peer) noexcept;
  static void on_sent(void* self, rndv::SendOp& op) noexcept;
  static void on_received(void* self, rndv::RecvOp& op) noexcept;
  static void on_broken(void* self, Peer& peer, Status why) noexcept;
  static void on_refused(void* self, const transport::LinkRef& link) noexcept;
  static void on_atomic_ended(void* self, rndv::AtomicOp& op, Status outcome) noexcept;

  // wait.cpp
  bool open_alarm() noexcept;

  // send.cpp
  Status start_send(Peer& peer, Request& request) noexcept;
  Status send_eager(Peer& peer, const stria_header_t& header, const stria_payload_t& memory) noexcept;
  Status send_immediate(Peer& peer, const stria_send_t& send, const stria_payload_t& memory) noexcept;
  [[gnu::noinline]] Status send_later(Peer& peer, const stria_send_t& send, const stria_payload_t& memory,
                                      bool full, stria_request_t* request) noexcept;
  unsigned flush(Peer& peer) noexcept;

  // own.cpp
  bool send_own(Peer& peer, const stria_send_t& send, const stria_payload_t& memory) noexcept;
  bool copy_own(Peer& peer, const stria_send_t& send, const stria_payload_t& memory) noexcept;

  // deliver.cpp
  // What is answered are STRIA_DELIVERED_* bits but for GO_ON.
  std::uint32_t deliver(Peer& peer, const stria_packet_t& packet) noexcept;
  std::uint32_t deliver_matchable(Peer& peer, const stria_packet_t& packet) noexcept;
  /// The peer broke the protocol: all that names it ends.
  [[gnu::cold, gnu::noinline]] void give_up(Peer& peer, const char* why) noexcept;
  /// A packet that means nothing is dropped; the peer may send as many as it likes, but the log stays short.
  [[gnu::cold, gnu::noinline]] void dropped(Peer& peer, const stria_packet_t& packet,
                                            const char* what) noexcept;
  [[gnu::cold, gnu::noinline]] std::uint32_t keep_early(Peer& peer, const stria_packet_t& packet) noexcept;
  [[gnu::cold, gnu::noinline]] void deliver_early(Peer& peer) noexcept;
  std::uint32_t deliver_in_order(Peer& peer, const stria_packet_t& packet) noexcept;
  std::uint32_t arrive_eager(Peer& peer, const stria_packet_t& packet) noexcept;
  bool takes_at_once(const Peer& peer, const stria_header_t& header) const noexcept;
  /// False: its sender stands still, and everything is as it was before the message came.
  bool finish_at_once(Peer& peer, const stria_packet_t& packet) noexcept;
  [[gnu::cold, gnu::noinline]] void cut_short(Request& request, Peer& peer) noexcept;
  [[gnu::cold, gnu::noinline]] void cut_short(Request& request, Peer& peer,
                                              const transport::Packet& packet) noexcept;
  /// The receive left the queue, and the credit is counted. False: as finish_at_once().
  bool finish_eager(PostedRecv& posted, Peer& peer, const stria_packet_t& packet) noexcept;
  [[gnu::cold, gnu::noinline]] bool not_whole(PostedRecv& posted, Peer& peer, const stria_packet_t& packet,
                                              bool is_late) noexcept;
  [[gnu::cold, gnu::noinline]] std::uint32_t comes_later(Peer& peer, const stria_packet_t& packet) noexcept;
  void arrive_announcement(Peer& peer, const stria_packet_t& packet) noexcept;
  void top_up(Peer& peer) noexcept;
  void serve_rma(Peer& peer, const stria_packet_t& packet, bool is_get) noexcept;

  // store.cpp
  bool may_stay(const Peer& peer, const stria_packet_t& packet) const noexcept;
  std::uint32_t store_payload(Peer& peer, const stria_packet_t& packet) noexcept;
  void store_announcement(Peer& peer, const stria_header_t& header,
                          const rndv::Announcement& announced) noexcept;

  // synchronous.cpp
  Status send_synchronous(Peer& peer, Request& request) noexcept;
  /// A receive has the message, and its sender, where it waits for that, is to hear of it. False: out of
  /// memory, it would wait for ever.
  [[gnu::cold, gnu::noinline]] void cannot_tell(Request& request, Peer& peer) noexcept;
  [[nodiscard]] bool tell_matched(Peer& peer, wire::SyncName name) noexcept;

  // receive.cpp
  static constexpr unsigned kNotSoonAgain = 3;   // receives that do not look after one in vain
  static constexpr unsigned kWholeRound = 1024;  // looks between two rounds of progress, which take more
  Status look(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept;
  std::int32_t take(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept;
  /// Of a receive that is complete at once, where its caller wants it.
  static void tell_outcome(const stria_recv_t& recv, const Request& request) noexcept {
    if (recv.info != nullptr) copy_info(*recv.info, request.info);
    if (request.info.status < STRIA_OK) [[unlikely]]
      static_cast<void>(explain_outcome(request));
  }
  bool look_first(const stria_recv_t& recv, Peer& source, stria_request_t* request) noexcept;
  void post_exact(const stria_recv_t& recv, const Peer& source, stria_request_t* request) noexcept;
  Status recv_entry(Unexpected& entry, const stria_recv_t& recv, const stria_payload_t& memory,
                    stria_request_t* request) noexcept;
  void take_unexpected(Unexpected& entry, const stria_payload_t& memory, Request& request) noexcept;
  void start_rendezvous(Request& request, Peer& peer, const rndv::Announcement& announced,
                        const stria_payload_t& memory) noexcept;
  void free_unexpected(Unexpected& entry) noexcept;
  void finish_unexpected(Unexpected& entry, const stria_payload_t& memory, Request& request) noexcept;

  // late.cpp
  struct Coming;
  bool take_in_place(const Unexpected& entry, const stria_payload_t& memory) noexcept;
  bool is_half(const Unexpected& entry) const noexcept;
  [[gnu::cold, gnu::noinline]] void wait_for_rest(Unexpected& entry, const stria_payload_t& memory,
                                                  Request& request) noexcept;
  [[gnu::cold, gnu::noinline]] unsigned take_late(Peer& peer, Status why) noexcept;

  rndv::Announcement announcement_of(const Unexpected& entry) noexcept;
  void describe(const Unexpected& entry, stria_info_t& info) noexcept;
  /// Posted receives that name the peer; null: all.
  void end_receives(const Peer* peer, Status why) noexcept;
  static void complete(Request& request, Status status) noexcept;
  /// outcome.cpp: what explain_outcome() needs to know of an operation that ends with an error.
  [[gnu::cold, gnu::noinline]] static void remember_failure(Request& request) noexcept;
  /// Ends a request that has a callback. That may reuse the request's memory, and so may a thread that tests,
  /// before the callback runs: so `info` lies elsewhere.
  static void call_back(Request& request, const stria_info_t& info) noexcept {
    if (info.status < STRIA_OK) [[unlikely]]
      static_cast<void>(explain_outcome(request));
    const stria_callback_t callback = request.callback;
    void* const user = request.user;
    stria_request_t* const handle = request.handle();
    request.state.store(RequestState::done, std::memory_order_release);
    callback(handle, &info, user);
  }

  // one_sided.cpp
  const stria_provider_key_t& key_part(const RemoteKey& key, const Peer& peer) const noexcept;
  static void on_rma_done(stria_completion_t* completion, stria_status_t status) noexcept;
  Status try_rma(Request& request, const stria_provider_key_t& key) noexcept;
  void end_rma(Request& request, Status answered) noexcept;
  void ask_peer(Request& request) noexcept;
  void wait_for_room(Peer& peer, ListNode& op) noexcept;
  unsigned flush_one_sided(Peer& peer) noexcept;
  void end_one_sided(Peer& peer, Status why) noexcept;

  // atomic.cpp
  /// What of `access` the device is asked for in a region's key.
  unsigned rights_for(const Device& device, unsigned access) const noexcept;
  Status start_atomic(Peer& peer, rndv::AtomicOp& op, const RemoteKey& key) noexcept;
  Status try_atomic(Peer& peer, rndv::AtomicOp& op) noexcept;
  void serve_atomic(Peer& peer, const stria_packet_t& packet) noexcept;
  Status perform(std::uint64_t region_id, const transport::Atomic& what, std::uint64_t& before) noexcept;
  unsigned flush_answers(Peer& peer) noexcept;

  // worker.cpp
  void fail_peer(Peer& peer, Status why) noexcept;
  void check_liveness(bool force) noexcept;
  void drain(std::chrono::milliseconds limit) noexcept;

  Context& context_;
  WorkerLock lock_;
  Activity activity_;
  Devices devices_;
  unsigned quiet_ = 0;  // progress calls since the clock was looked at

  eager::Receiver receiver_;
  Peers peers_;
  EarlyMessages early_;
  std::unordered_map<std::uint32_t, log::Repeated> malformed_;  // packets that were dropped, by peer index
  IntrusiveList<LateRecv> late_;                                // of peers in the backlog

  PostedQueue posted_;
  UnexpectedQueue unexpected_;
  struct {
    const stria_recv_t* recv = nullptr;
    const Peer* source;
    stria_request_t* request;
  } starting_;            // a receive that looks first whether its message is there
  unsigned look_in_ = 0;  // so many receives do not look
  unsigned looks_ = 0;
  std::uint8_t delivering_ = 0;  // the device whose packet may have to wait
  eager::Sender sender_;
  rndv::Engine rndv_;
  rndv::Atomics atomics_;
  bool overlaps_packing_;  // announces what packs_long(), although it is short enough to go eagerly
  unsigned own_messages_ = 0;

  rndv::NameTable<Region> regions_;
  std::uint64_t rma_in_flight_ = 0;    // puts and gets begun and not ended, also those that wait
  IntrusiveList<RmaOp> provider_rma_;  // puts and gets in the hands of a provider
  std::chrono::steady_clock::time_point next_check_;
  stria_counters_t counters_{};
};

/// `count` bytes at an address; a length below 0 when they are more than 2^63 - 1.
inline stria_payload_t plain_memory(const void* base, std::uint64_t count) noexcept {
  const auto bytes = static_cast<std::int64_t>(count);
  return {nullptr, const_cast<void*>(base), bytes, 0, bytes};
}

/// As describe_memory, of a layout.
Status describe_layout(const void* base, const stria_layout_t& layout, std::uint64_t count,
                       stria_payload_t& out) noexcept;
/// The bytes a send or receive means: a layout that is contiguous for this count becomes plain memory. ok, or
/// invalid for a negative or overflowing amount.
inline Status describe_memory(const void* base, const stria_layout_t* layout, std::uint64_t count,
                              stria_payload_t& out) noexcept {
  if (layout != nullptr) return describe_layout(base, *layout, count, out);
  out = plain_memory(base, count);
  return out.length < 0 ? Status::invalid : Status::ok;
}

}  // namespace stria::tag
