// A device: one memfd segment with everything peers write to, and the links to them. Parts of it by file:
// device.cpp opens and closes, connect.cpp brings links up, progress.cpp delivers, share.cpp gives windows to
// busy peers, liveness.cpp takes links down. What links use as well is in Shared, keys are made by KeyMaker.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "transport/contract.hpp"
#include "transport/shm/connector.hpp"
#include "transport/shm/key_maker.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/links.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {

/// One thread at a time. progress() and check() must not be called from an upcall; sends may.
class Device {
 public:
  /// Errors: invalid (a STRIA_SHM_* value), io_error (the system refused; names what).
  static Result<std::unique_ptr<Device>> open(const transport::DeviceParams& params);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// From here on nothing is delivered and nothing sent. Waits until peers took out what was sent to them,
  /// are closed themselves or dead, at most timeout_ms.
  void close(int timeout_ms) noexcept;
  void capabilities(transport::Capabilities& out) noexcept;
  std::uint32_t address(void* buffer, std::uint32_t bytes) noexcept;
  /// The link is usable at once unless the peer's inbox is full. Errors: invalid, unreachable, io_error.
  Result<Link*> connect(const void* address, std::uint32_t bytes, void* peer, int low_latency);

  unsigned progress(unsigned budget) noexcept;
  /// Takes down links whose peer closed, died (peer_failed) or refused us (unreachable), after draining them.
  void check() noexcept;
  int event_fd() noexcept { return shared_.bell.fd(); }
  Status arm() noexcept;

  Status fast_register(const Link* /*link*/, const transport::Payload& memory, unsigned access,
                       transport::Key& key) noexcept {
    return keys_.fast_register(memory, access, key);
  }
  Status invalidate(const transport::Key& key) noexcept;
  /// Windows that each progress() looks at, and all that peers opened.
  std::uint32_t windows_polled() const noexcept { return shared_.windows.hot(); }
  std::uint32_t windows_open() const noexcept { return shared_.windows.size(); }

 private:
  friend class Link;

  explicit Device(const transport::DeviceParams& params);
  Result<void> start(const transport::DeviceParams& params);

  // connect.cpp
  Link* welcome(std::uint32_t slot) noexcept;
  Link* refuse(std::uint32_t slot) noexcept;
  /// Whether the peer of a slot could not be attached to yet: look_at_slots() tries again, and its records
  /// wait for that.
  bool is_awaited(std::uint32_t slot) const noexcept {
    return !awaited_.empty() && awaited_.find(slot) != awaited_.end();
  }
  bool keep_record(std::uint32_t slot, const InboxSlot& record) noexcept;
  Link* link_of_slot(std::uint32_t slot) const noexcept {
    return slot < by_slot_.size() ? by_slot_[slot] : nullptr;
  }

  // progress.cpp
  unsigned poll_link(const Link& link, unsigned budget) noexcept;
  unsigned poll_window(Polled& polled, unsigned budget) noexcept;
  bool is_quiet() const noexcept;
  unsigned progress_some(unsigned budget) noexcept;
  unsigned poll_inbox(unsigned budget) noexcept;
  void take_record(std::uint64_t control, const std::byte* record, Link& link) noexcept;
  bool deliver_inbox(std::uint64_t control, const std::byte* record, Incoming& incoming) noexcept;
  [[gnu::cold, gnu::noinline]] void disarm() noexcept;
  [[gnu::cold, gnu::noinline]] void report_broken(Link& link, std::uint64_t control) noexcept;

  // share.cpp
  std::uint32_t windows_wanted() noexcept;
  void adapt_window(Link& link) noexcept;

  // liveness.cpp
  bool is_claimant_gone(std::uint32_t peer) const noexcept;
  bool is_accessor_alive(std::uint32_t slot) const noexcept;
  bool has_room_for(const Identity& identity) const;
  Status fate(const Link& link) const noexcept;
  bool drain_inbox(std::uint32_t peer, bool is_over) noexcept;
  void find_slot(Link& link) noexcept;
  bool drain(Link& link, bool is_over) noexcept;
  void take_down(Link& link, Status why, bool is_over) noexcept;
  void forget(std::uint32_t slot) noexcept;
  void look_at_slots() noexcept;
  void free_slot(std::uint32_t slot) noexcept;
  bool is_needed_by(const Link& link, bool look_closely) const noexcept;
  bool has_slot_here(const Link& link) const noexcept;

  /// A peer that said hello, and whose door does not answer, or for which we have no descriptor.
  struct Awaited {
    struct Record {
      std::uint64_t control;
      std::array<std::byte, sizeof InboxSlot::bytes> bytes;
    };
    Unanswered question;
    std::vector<Record> records;  // that it sent by the inbox
  };

  Shared shared_;
  Connector connector_;
  bool closed_ = false;
  std::uint32_t sleep_ = 0;  // the number of the last one, see bell.hpp

  std::uint32_t poll_first_ = 0;
  InboxReceiver inbox_;
  KeyMaker keys_;
  Links links_;
  std::vector<Link*> by_slot_;
  std::map<std::uint32_t, Awaited> awaited_;  // by peer slot
};

}  // namespace stria::shm
