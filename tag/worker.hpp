// Worker: the progress engine. It owns the objects that do its work, and has itself only the tasks that need
// several of them: a round of progress, what waits for a peer, the kinds of packets, the end of a peer,
// sleeping and closing.
//
//   Devices       open devices of the providers        Activity      what is under way, sleeping threads
//   Peers         endpoints, links, which peers live   Sends         eager or announced, in order
//   Receives      matching, and what came too early    Regions       memory that peers reach
//   rndv::Engine  long messages                        RemoteAccess  puts, gets, atomics
//   Rails         further links to a peer              Farewells     peers that are to hear of their end
//
// None of these objects knows the worker. What one of them needs of another is given to it when it is made
// (docs/architecture.md).
//
// Threads: the caller of a public function holds the worker's lock (Locked in api/convert.hpp), except for
// wait(), which takes the lock itself.
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/log.hpp"
#include "rndv/engine.hpp"
#include "tag/activity.hpp"
#include "tag/clock_pace.hpp"
#include "tag/devices.hpp"
#include "tag/farewells.hpp"
#include "tag/last_error.hpp"
#include "tag/lock.hpp"
#include "tag/objects.hpp"
#include "tag/peers.hpp"
#include "tag/rails.hpp"
#include "tag/remote_access.hpp"
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
  const Device& device(std::size_t number) const noexcept { return devices_[number]; }
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

  // The parts, for the functions of stria.h.
  Peers& peers() noexcept { return peers_; }
  Sends& sends() noexcept { return sends_; }
  Receives& receives() noexcept { return receives_; }
  Regions& regions() noexcept { return regions_; }
  RemoteAccess& remote() noexcept { return remote_; }
  /// Receives::try_post() of a receive whose source is one of this worker's endpoints (short_way.hpp).
  Status try_post(const stria_recv_t& recv, stria_request_t* request) noexcept;
  /// Waits until nothing of peers is under way on the region, and deletes it.
  void deregister_region(Region* region) noexcept;

 private:
  Worker(Context& context, stria_thread_mode_t mode);
  FailPeer peer_failer() noexcept;
  [[gnu::noinline]] unsigned end_round(unsigned handled) noexcept;

  // Upcalls of providers; self is the Device.
  static std::uint32_t on_deliver(void* self, void* peer, const stria_packet_t* packet) noexcept;
  static void* on_peer_up(void* self, std::uint64_t worker_id, stria_link_t* link) noexcept;
  static void on_link_down(void* self, void* peer, stria_status_t why) noexcept;
  static void on_link_changed(void* self, void* peer) noexcept;
  static int on_place(void* self, void* peer, const stria_header_t* header, std::uint32_t bytes,
                      stria_payload_t* memory) noexcept;
  // The rendezvous engine ended an operation; self is the worker.
  static void on_sent(void* self, rndv::SendOp& op) noexcept;
  static void on_received(void* self, rndv::RecvOp& op) noexcept;

  bool open_alarm() noexcept;
  unsigned flush(Peer& peer) noexcept;
  /// By which links a peer that is given up is told so.
  enum class Tell : std::uint8_t { by_none, by_rails, by_all };
  void fail_peer(Peer& peer, Status why, Tell tell) noexcept;
  // refused_link.cpp
  struct Waiting;
  bool take_back(Peer& peer, Waiting& waiting) noexcept;
  void give_back(Peer& peer, Waiting& waiting) noexcept;
  /// The provider of the peer's main link could not reach the peer. False: the peer was reached before, or
  /// there is no other way to it; it is to be failed.
  bool refused(Peer& peer) noexcept;
  Peer& joined(const Device& device, std::uint64_t worker_id, stria_link_t* link) noexcept;
  void check_liveness(bool force) noexcept;
  void drain(std::chrono::milliseconds limit) noexcept;

  // deliver.cpp
  // deliver() answers STRIA_DELIVERED_* bits other than GO_ON.
  std::uint32_t deliver(Peer& peer, const stria_packet_t& packet, const Device& device) noexcept;
  void deliver_placed(Peer& peer, const stria_packet_t& packet, const Device& device) noexcept;
  bool admit(Peer& peer, const stria_packet_t& packet) noexcept;
  /// The rail of the peer by that device; null when it has the peer's main link, or none that is up.
  const transport::LinkRef* rail_of(const Peer& peer, const Device& device) const noexcept {
    return peer.device == device.number ? nullptr : rails_.find(peer, device.number);
  }
  /// The peer broke the protocol: fails it, which ends everything that names it.
  [[gnu::cold, gnu::noinline]] void give_up(Peer& peer, const char* why) noexcept;
  /// Logs a packet that means nothing and is dropped. The peer may send as many as it likes, but the log
  /// stays short.
  [[gnu::cold, gnu::noinline]] void dropped(Peer& peer, const stria_packet_t& packet,
                                            const char* what) noexcept;

  Context& context_;
  WorkerLock lock_;
  Activity activity_;
  Devices devices_;
  Rails rails_;
  Farewells farewells_;
  ClockPace clock_pace_;
  rndv::Engine rndv_;
  Receives receives_;
  Peers peers_;
  Sends sends_;
  Regions regions_;
  RemoteAccess remote_;
  std::unordered_map<std::uint32_t, log::Repeated> malformed_;  // packets that were dropped, by peer index
  std::chrono::steady_clock::time_point next_check_;
};

}  // namespace stria::tag
