// One end of a connection. What the peer sends waits at this end, in two queues of packets in order (PIO and
// buffered) that overtake each other; the peer's end only looks at how full they are.
#pragma once

#include <array>
#include <cstdint>
#include <list>

#include "base/status.hpp"
#include "transport/contract.hpp"
#include "transport/fake/control.hpp"
#include "transport/fake/packet.hpp"

namespace stria::fake {

class Device;
struct Access;

/// It has more than forty methods: a third are the contract's, and most others answer one question of the
/// scheduler.
class Link {
 public:
  struct Params {
    std::uint64_t peer_worker = 0;
    std::size_t number = 0;  ///< of the owner's links
    void* cookie = nullptr;
    bool announced = false;      ///< the owner knows of it; else peer_up is due at `ready_at`
    std::uint64_t ready_at = 0;  ///< step of the owner from which on it can send
    bool window = false;
    bool low_latency = false;
  };
  Link(Device& owner, const Params& params);

  // The contract.
  Status pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept;
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status zcopy_send(const transport::Header& header, const transport::Payload& payload,
                    transport::Completion* completion) noexcept;
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
  unsigned poll(unsigned budget) noexcept;
  std::int32_t take(transport::Header& header, void* memory, std::uint32_t capacity) noexcept;
  void release(std::uint64_t keep) noexcept;
  std::uint32_t kept_arrived(std::uint64_t keep, std::uint32_t all, std::uint32_t bytes) noexcept;

  // Under the fabric's lock, for the device.
  void join(Link& twin) noexcept { twin_ = &twin; }
  Link* twin() noexcept { return twin_; }
  Device& owner() noexcept { return owner_; }
  void* cookie() const noexcept { return params_.cookie; }
  void set_cookie(void* cookie) noexcept;
  void set_blocked(bool blocked) noexcept;
  std::uint64_t peer_worker() const noexcept { return params_.peer_worker; }
  bool announced() const noexcept { return params_.announced; }
  bool announce_due(std::uint64_t step) const noexcept {
    return !params_.announced && params_.ready_at <= step;
  }
  void set_announced() noexcept { params_.announced = true; }
  /// The other side's cache came nearer, or went away.
  void change_distance() noexcept { is_far_ = !is_far_; }
  bool is_far() const noexcept { return is_far_; }
  std::size_t number() const noexcept { return params_.number; }
  /// Whether progress may find something here, now or in a later step. A link that becomes so says it to its
  /// owner.
  bool is_busy() const noexcept { return !down_ && (has_arriving() || !params_.announced || gone_); }
  /// The peer is gone; of what it sent, `loss` decides. link_down is due at `step` of the owner, and has the
  /// reason `why`.
  void lose_peer(Loss loss, std::uint64_t step, Status why) noexcept;
  /// Drops all that arrived and was not delivered: the owner dies or leaves.
  void discard() noexcept { lose_all_but(0, 0); }
  bool peer_gone() const noexcept { return gone_; }
  Status why_gone() const noexcept { return why_gone_; }
  bool is_down() const noexcept { return down_; }
  void set_down() noexcept { down_ = true; }
  /// Whether the head of a queue may be delivered at `step`.
  bool due(Path path, std::uint64_t step) const noexcept;
  bool down_due(std::uint64_t step) const noexcept;
  bool has_arriving() const noexcept { return !queue(Path::pio).empty() || !queue(Path::buffered).empty(); }
  /// Anything that progress would see to in this or a later step.
  bool waits() const noexcept;
  QueuedPacket take(Path path) noexcept;
  /// The packet that was taken last is not delivered yet after all.
  void put_back(QueuedPacket packet) noexcept;
  QueuedPacket& front(Path path) noexcept { return arriving_[static_cast<std::size_t>(path)].front(); }
  /// The packet that the sink was just asked for, at the head of its queue; null: it was lost meanwhile.
  QueuedPacket* find(Path path, std::uint64_t order) noexcept;
  /// Copies what the owner's peer sends without a copy and nobody has read yet.
  void read_from(const Link& sender) noexcept;
  /// The packet behind a get_finish, which had room when it was accepted.
  void send_finish(const transport::Header& header, const transport::Key& key) noexcept;
  /// One that was to complete later is performed now.
  void access_ended() noexcept { --accesses_; }
  /// Does it to the peer's memory now.
  Status perform(const Access& access) noexcept;

 private:
  struct Message {
    const transport::Header& header;
    const transport::Payload& payload;
    const transport::Key* ends_key;
    Path path;
    transport::Completion* completion = nullptr;  ///< of a zero-copy send
  };
  Status send(const Message& message, const char* call) noexcept;
  bool can_move(bool has, const transport::Key& key) const noexcept;
  bool maps(const transport::Key& key) const noexcept;
  Status remote_access(const Access& access) noexcept;
  void lose_all_but(std::uint64_t kept_pio, std::uint64_t kept_buffered) noexcept;
  bool has_room(const Message& message) const noexcept;
  Status accept(const Message& message) noexcept;
  bool can_send_from(const transport::Payload& memory) const noexcept;
  void queue_up(QueuedPacket packet) noexcept;
  void check_use(const char* call) const noexcept;
  const std::list<QueuedPacket>& queue(Path path) const noexcept {
    return arriving_[static_cast<std::size_t>(path)];
  }

  Device& owner_;
  Params params_;
  Link* twin_ = nullptr;
  std::array<std::list<QueuedPacket>, 2>
      arriving_;  // empty ones take nothing: a device may have 100 000 links
  std::array<std::uint64_t, 2> last_due_{};
  std::uint64_t next_order_ = 0;
  std::uint64_t window_used_ = 0;  // bytes of PIO packets in arriving_
  std::uint64_t gone_at_ = 0;
  std::uint32_t accesses_ = 0;  // of this link, under way
  Status why_gone_ = Status::ok;
  bool is_far_;
  bool blocked_ = false;
  bool gone_ = false;
  bool down_ = false;
};

}  // namespace stria::fake
