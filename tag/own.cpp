// A message of a worker to itself whose receive waits already: copied at once, from layout to layout, and
// both are complete. No packet, no key, no window. Any other goes as to any peer, which keeps the order.
#include <utility>

#include "tag/worker.hpp"
#include "transport/services.hpp"

namespace stria::tag {

// ok: gone, and its receive is complete. no_resource: nothing changed. A callback's message goes the other
// way: its receive's callback may send the next one, and so on for ever deeper.
Status Worker::copy_own(Peer& peer, const stria_send_t& send, const stria_payload_t& memory) noexcept {
  const bool all_matched = peer.send_sequence == peer.recv_sequence && peer.pending.empty();
  if (in_progress_ || !all_matched || peer.state == Peer::State::failed) return Status::no_resource;
  PostedRecv* const posted = posted_.match(peer.index, send.tag);
  if (posted == nullptr) return Status::no_resource;
  Request& request = *Request::of(*posted);
  const std::int64_t bytes = std::min(memory.length, posted->memory.length);
  if (bytes > 0) transport::copy(memory, posted->memory, bytes);
  ++counters_.copied_own;
  request.info.immediate = send.immediate;
  request.info.tag = send.tag;
  request.info.length = static_cast<std::uint64_t>(memory.length);
  request.info.received = static_cast<std::uint64_t>(bytes);
  request.info.source = id_;
  in_progress_ = true;  // as in every callback
  complete(request, bytes < memory.length ? Status::truncated : Status::ok);
  in_progress_ = false;
  ++handled_;
  if (sleepers_ != 0) [[unlikely]]
    wake();
  return Status::ok;
}

}  // namespace stria::tag
