// PlacedReceives: receives whose eager message the provider writes straight into their memory while it comes
// (`place` of the sink, stria/provider.h). A provider for sockets reads the header of a message before its
// payload, so that the receive is matched before the payload is there: nothing is copied, and blocks are
// unpacked while the rest is on its way.
//
//   posted ── place() ──► the provider writes ── all is there: take() ──► complete
//                              \── the peer failed ── the provider has let go ──► complete with an error
//
// From place() on the memory is the provider's. Such a receive is matched, so it is not cancelled any more,
// and one whose peer has failed ends only when the provider writes no more.
#pragma once

#include "tag/posted_queue.hpp"
#include "tag/request.hpp"

namespace stria::tag {

/// Threads: called with the worker's lock held.
class PlacedReceives {
 public:
  /// Takes in a receive that has left the posted queue and has room for the message. Its memory is now that
  /// of the device of that number, and the caller must have read it from `posted`, which exists no longer.
  /// `bytes`: the payload of the message. Sets what the receive's outcome says of the message.
  void begin(PostedRecv& posted, Peer& peer, std::uint8_t device, const transport::Header& header,
             std::uint32_t bytes) noexcept;
  /// The receive of a packet that is placed whole; null when no memory was named for it. It is not in here
  /// any more. `why`: ok, or what its peer has failed with.
  Request* take(const Peer& peer, std::uint8_t device, const transport::Packet& packet, Status& why) noexcept;
  /// The peer has failed with `why`: its receives end so when the provider lets go of their memory.
  void fail(const Peer& peer, Status why) noexcept;
  /// The device writes nothing more for the peer: ends the receives that it had memory of.
  void end(const Peer& peer, std::uint8_t device) noexcept;
  /// No provider writes anything more: ends all receives with `why`.
  void end_all(Status why) noexcept;

 private:
  IntrusiveList<PlacedRecv> all_;
};

}  // namespace stria::tag
