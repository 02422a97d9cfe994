// A worker's device in a fabric: it owns its links and keys, and its progress is the scheduler: among
// everything that is due it picks the next event at random. Upcalls are made without the fabric's lock, so
// they may call back.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "transport/contract.hpp"
#include "transport/fake/callers.hpp"
#include "transport/fake/fabric.hpp"
#include "transport/fake/kept.hpp"
#include "transport/fake/keys.hpp"
#include "transport/fake/links.hpp"
#include "transport/fake/wakeup.hpp"

namespace stria::fake {

/// A get, put or atomic under way; performed when it is due, so that an invalidate can overtake it.
struct Access {
  Link* link;
  bool write;
  transport::Payload local;
  transport::Key key;
  std::uint64_t offset;
  transport::Completion* completion;
  std::uint64_t due = 0;
  transport::Header finish{};  ///< of get_finish; kind 0: none
  transport::Atomic atomic{};  ///< op 0: it is a get or put
};

/// It has more than forty methods: a third are the contract's, and the rest are steps of the scheduler, each
/// in the file that the comment before it names.
class Device {
 public:
  // The contract.
  static Result<std::unique_ptr<Device>> open(const transport::DeviceParams& params);
  void close(int timeout_ms) noexcept;
  void capabilities(transport::Capabilities& out) noexcept;
  std::uint32_t address(void* buffer, std::uint32_t bytes) noexcept;
  Result<Link*> connect(const void* address, std::uint32_t bytes, void* peer, int low_latency);
  void check() noexcept;
  int event_fd() noexcept;
  Status arm() noexcept;
  Status fast_register(const Link* link, const transport::Payload& memory, unsigned access,
                       transport::Key& key) noexcept;
  Status invalidate(const transport::Key& key) noexcept;
  unsigned progress(unsigned budget) noexcept;
  unsigned poll(Link& link, unsigned budget) noexcept;
  std::int32_t take(Link& link, transport::Header& header, void* memory, std::uint32_t capacity) noexcept;

  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Fabric& fabric() noexcept { return *fabric_; }
  Callers& callers() noexcept { return callers_; }
  std::uint64_t worker_id() const noexcept { return worker_id_; }
  /// Its place among the worker's devices.
  std::uint32_t index() const noexcept { return index_; }
  // Under the fabric's lock.
  std::uint32_t number() const noexcept { return number_; }
  std::uint64_t step() const noexcept { return step_; }
  bool dead() const noexcept { return dead_; }
  bool is_cut_off() const noexcept { return cut_off_; }
  KeyTable& keys() noexcept { return *keys_; }
  /// The link to a device; null: there is none, or its peer is gone.
  Link* link_to(const Device& peer) noexcept;
  void die(Loss loss) noexcept;
  /// Ends all links, and takes no new ones.
  void cut_off(Loss loss) noexcept;
  /// Ends one link of this device at both ends.
  void cut(Link& link, Loss loss) noexcept;
  void wake() noexcept { wakeup_.notify(); }
  void make_busy(Link& link) { links_.make_busy(link); }
  void complete_later(const Access& access) { accesses_.push_back(access); }
  /// One that `link` of this device sends. The caller is its first reader (ZcopySend::was_read).
  std::shared_ptr<ZcopySend> add_zcopy_send(Link& link, const transport::Payload& memory,
                                            transport::Completion* completion);
  KeptPayloads& kept() noexcept { return kept_; }

 private:
  struct Event;
  struct Delivered;
  Device(std::shared_ptr<Fabric> fabric, const transport::DeviceParams& params);
  // scheduler.cpp
  template <class Begin, class Next>
  unsigned run(const char* call, Begin&& begin, Next&& next) noexcept;
  Event next_event() noexcept;
  Event next_event_of_lost(Link& link) noexcept;
  Event finish(std::size_t access) noexcept;
  Event deliver(Link& link, Path path) noexcept;
  void dispatch(Event event) noexcept;
  void hand_over(Event& event) noexcept;
  Event change_a_distance() noexcept;
  // look.cpp
  bool sees_nothing() noexcept;
  Event next_packet(Link& link) noexcept;
  // bulk.cpp
  Event place_more(Link& link, QueuedPacket& packet) noexcept;
  Event end_zcopy_send(std::size_t at) noexcept;
  void ask(Event& event) noexcept;
  // ending.cpp
  void leave() noexcept;
  void abandon_peers(Loss loss) noexcept;
  std::uint64_t end_of_link(std::uint64_t longest) noexcept;

  std::shared_ptr<Fabric> fabric_;
  const transport::Sink* sink_;
  std::uint64_t worker_id_;
  std::uint32_t index_;
  std::uint32_t number_ = 0;
  std::uint64_t step_ = 0;
  std::unique_ptr<KeyTable> keys_;
  Links links_;
  std::vector<Access> accesses_;
  std::vector<std::shared_ptr<ZcopySend>> zcopy_sends_;
  KeptPayloads kept_;
  std::uint64_t payloads_ = 0;
  Wakeup wakeup_;
  Callers callers_;
  bool dead_ = false;
  bool cut_off_ = false;
};

}  // namespace stria::fake
