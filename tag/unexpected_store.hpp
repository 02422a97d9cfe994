// UnexpectedStore: messages that came before their receive. Each has an entry in the unexpected queue, and
// its payload waits in that, in a buffer, or where it arrived.
#pragma once

#include <cstdint>

#include "eager/receive.hpp"
#include "rndv/engine.hpp"
#include "tag/activity.hpp"
#include "tag/fail_peer.hpp"
#include "tag/request.hpp"
#include "tag/unexpected_queue.hpp"

namespace stria::tag {

class Peers;

/// Threads: the worker's lock.
class UnexpectedStore {
 public:
  UnexpectedStore(std::uint64_t budget_bytes, Peers& peers, Activity& activity, const FailPeer& fail) noexcept
      : eager_(budget_bytes), peers_(peers), activity_(activity), fail_(fail) {}

  /// What receives are matched with. An entry that is taken out of it is freed here.
  UnexpectedQueue& queue() noexcept { return queue_; }
  const UnexpectedQueue& queue() const noexcept { return queue_; }
  /// What arrives eagerly is counted there, whether it is kept or not.
  eager::Receiver& eager() noexcept { return eager_; }
  const eager::Receiver& eager() const noexcept { return eager_; }

  /// Keeps an eager message that the receiver counted. `may_stay`: where it arrived, if its provider lets it.
  /// The answer is the provider's (STRIA_DELIVERED_*). LATER: its sender stands still, and it is not counted
  /// any more.
  std::uint32_t keep(Peer& peer, const stria_packet_t& packet, bool may_stay) noexcept;
  void keep_announcement(Peer& peer, const stria_header_t& header,
                         const rndv::Announcement& announced) noexcept;
  void free(Unexpected& entry) noexcept;

  Peer& source_of(const Unexpected& entry) const noexcept;
  void describe(const Unexpected& entry, stria_info_t& info) const noexcept;
  static rndv::Announcement announcement_of(const Unexpected& entry) noexcept;

  /// Whether a payload that stays where it arrived is not all there.
  bool is_half(const Unexpected& entry) const noexcept;
  /// Copies such a payload. False: its sender stands still, or is gone.
  bool take_in_place(const Unexpected& entry, const stria_payload_t& memory) const noexcept;
  /// Frees the entry, of which the receive's memory has what it takes, and ends the receive.
  void finish(Unexpected& entry, const stria_payload_t& memory, Request& request) noexcept;

  /// Grants a peer more when its credit is low.
  void top_up(Peer& peer) noexcept;

  /// The peer failed: drops what it announced, or had begun to write, as that cannot come any more, and must
  /// not take a receive that others can match. What came whole stays.
  void drop_unfinished(const Peer& peer) noexcept;
  void clear() noexcept;

  /// Receives that took their message from here.
  std::uint64_t received() const noexcept { return received_; }

 private:
  UnexpectedQueue queue_;
  eager::Receiver eager_;
  std::uint64_t received_ = 0;
  Peers& peers_;
  Activity& activity_;
  const FailPeer fail_;
};

}  // namespace stria::tag
