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
#include "rndv/atomics.hpp"
#include "rndv/engine.hpp"
#include "tag/activity.hpp"
#include "tag/devices.hpp"
#include "tag/last_error.hpp"
#include "tag/lock.hpp"
#include "tag/objects.hpp"
#include "tag/peers.hpp"
#include "tag/remote_key.hpp"
#include "tag/request.hpp"
#include "tag/sends.hpp"

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
  const Activity& activity() const noexcept { return activity_; }
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
  void counters(stria_counters_t& out) const noexcept;

  Peers& peers() noexcept { return peers_; }

  Sends& sends() noexcept { return sends_; }
  Receives& receives() noexcept { return receives_; }
  /// Receives::try_post() of a receive whose source is one of this worker's endpoints (short_way.hpp).
  Status try_post(const stria_recv_t& recv, stria_request_t* request) noexcept;

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
  static unsigned progress_of(void* self) noexcept;
  static void on_broken(void* self, Peer& peer, Status why) noexcept;
  static void on_refused(void* self, const transport::LinkRef& link) noexcept;
  static void on_atomic_ended(void* self, rndv::AtomicOp& op, Status outcome) noexcept;

  // wait.cpp
  bool open_alarm() noexcept;

  unsigned flush(Peer& peer) noexcept;

  // deliver.cpp
  // What is answered are STRIA_DELIVERED_* bits but for GO_ON.
  std::uint32_t deliver(Peer& peer, const stria_packet_t& packet) noexcept;
  /// The peer broke the protocol: all that names it ends.
  [[gnu::cold, gnu::noinline]] void give_up(Peer& peer, const char* why) noexcept;
  /// A packet that means nothing is dropped; the peer may send as many as it likes, but the log stays short.
  [[gnu::cold, gnu::noinline]] void dropped(Peer& peer, const stria_packet_t& packet,
                                            const char* what) noexcept;
  void serve_rma(Peer& peer, const stria_packet_t& packet, bool is_get) noexcept;

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

  rndv::Engine rndv_;
  Receives receives_;
  Peers peers_;
  Sends sends_;
  rndv::Atomics atomics_;
  std::unordered_map<std::uint32_t, log::Repeated> malformed_;  // packets that were dropped, by peer index

  rndv::NameTable<Region> regions_;
  std::uint64_t rma_in_flight_ = 0;    // puts and gets begun and not ended, also those that wait
  IntrusiveList<RmaOp> provider_rma_;  // puts and gets in the hands of a provider
  std::chrono::steady_clock::time_point next_check_;
};

}  // namespace stria::tag
