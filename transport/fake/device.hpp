// A worker's device in a fabric: it owns its links and keys, and its progress is the scheduler: among
// everything that is due it picks the next event at random. Upcalls are made without the fabric's lock, so
// they may call back.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/contract.hpp"
#include "transport/fake/fabric.hpp"
#include "transport/fake/keys.hpp"
#include "transport/fake/link.hpp"

namespace stria::fake {

/// Ends the process: the code above broke the provider contract.
[[noreturn, gnu::cold]] void broken_contract(const char* call, const char* what) noexcept;

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

  /// Marks the device as in use by this thread; two threads at once break the contract. Nests.
  class Use {
   public:
    Use(Device& device, const char* call) noexcept;
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Device& device_;
  };

  Fabric& fabric() noexcept { return *fabric_; }
  std::uint64_t worker_id() const noexcept { return worker_id_; }
  // Under the fabric's lock.
  std::uint32_t number() const noexcept { return number_; }
  std::uint64_t step() const noexcept { return step_; }
  bool dead() const noexcept { return dead_; }
  KeyTable& keys() noexcept { return *keys_; }
  Link* link_to(const Device& peer) noexcept;
  void die(Loss loss) noexcept;
  void wake() noexcept;
  /// The link has something for progress.
  void make_busy(Link& link);
  void complete_later(const Access& access) { accesses_.push_back(access); }
  /// One that `link` of this device sends. The caller is its first reader (ZcopySend::was_read).
  std::shared_ptr<ZcopySend> add_zcopy_send(Link& link, const transport::Payload& memory,
                                            transport::Completion* completion);
  /// False: nothing was kept by that name.
  bool release(std::uint64_t keep) noexcept { return kept_.erase(keep) == 1; }

 private:
  struct Event;
  Device(std::shared_ptr<Fabric> fabric, const transport::DeviceParams& params);
  Link* add_link(Device& peer, Link::Params params, bool low_latency);
  Event next_event() noexcept;
  Event next_event_of_lost(Link& link) noexcept;
  Event next_packet(Link& link) noexcept;
  Event finish(std::size_t access) noexcept;
  Event deliver(Link& link, Path path) noexcept;
  Event place_more(Link& link, QueuedPacket& packet) noexcept;
  Event end_zcopy_send(std::size_t at) noexcept;
  void ask(Event& event) noexcept;
  void dispatch(Event event) noexcept;
  void leave(Loss loss) noexcept;
  void abandon_peers(Loss loss) noexcept;
  void drain_event_fd() noexcept;

  std::shared_ptr<Fabric> fabric_;
  const transport::Sink* sink_;
  std::uint64_t worker_id_;
  std::uint32_t number_ = 0;
  std::uint64_t step_ = 0;
  std::uint32_t windows_used_ = 0;
  std::unique_ptr<KeyTable> keys_;
  std::vector<std::unique_ptr<Link>> links_;
  std::unordered_map<std::uint32_t, Link*>
      by_peer_;  // by the peer device's number, which is never used again
  std::vector<Link*>
      busy_;  // in the order of links_: those that progress looks at; some of them for the last time
  std::vector<Access> accesses_;
  std::vector<std::shared_ptr<ZcopySend>> zcopy_sends_;
  std::unordered_map<std::uint64_t, std::vector<std::byte>> kept_;  // by their names
  std::uint64_t payloads_ = 0;
  UniqueFd event_fd_;
  bool armed_ = false;
  bool signalled_ = false;
  bool dead_ = false;
  bool in_progress_ = false;
  bool asking_ = false;                     // the sink is in `place`
  std::atomic<const void*> user_{nullptr};  // identifies the thread inside
  unsigned depth_ = 0;                      // of that thread
};

}  // namespace stria::fake
