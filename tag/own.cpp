// A message of a worker to itself whose receive is posted already is copied at once, from layout to layout,
// and send and receive are complete: no packet, no key, no window. Any other message of a worker to itself
// goes as to any peer, which keeps the order.
#include <utility>

#include "tag/sends.hpp"
#include "transport/services.hpp"

namespace stria::tag {

// Completes a send of the worker to itself in the call, by a copy or inline. True: the send is complete.
// False: nothing happened.
bool Sends::send_own(Peer& peer, const stria_send_t& send, const stria_payload_t& memory) noexcept {
  if (copy_own(peer, send, memory)) return true;
  return try_inline(peer, send, std::min(peer.link.pio_below, peer.eager_limit + 1));
}

// Copies a message of the worker to itself into its posted receive. True: send and receive are complete.
// False: nothing happened, and the message goes as to any peer. That is so inside a callback, as the callback
// of the receive may send the next message, and so on for ever deeper; for a long message, as peers and other
// threads would wait for the whole copy; and now and then for any message, as a program that exchanges with
// itself alone would else never make progress.
bool Sends::copy_own(Peer& peer, const stria_send_t& send, const stria_payload_t& memory) noexcept {
  constexpr unsigned kNotCopiedEvery = 256;
  const bool all_matched = peer.send_sequence == peer.recv_sequence && peer.pending.empty();
  if (!receives_.has_posted() || activity_.in_progress() || !all_matched || peer.state == Peer::State::failed)
    return false;
  if (static_cast<std::uint64_t>(memory.length) > rndv_.pull_slice() ||
      ++own_messages_ % kNotCopiedEvery == 0)
    return false;
  Request* const taken = receives_.take_posted(peer, send.tag);
  if (taken == nullptr) return false;
  Request& request = *taken;
  const stria_payload_t& into = request.body.posted.memory;
  const std::int64_t bytes = std::min(memory.length, into.length);
  transport::copy(memory, into, bytes);
  ++copied_own_;
  request.info.immediate = send.immediate;
  request.info.tag = send.tag;
  request.info.length = static_cast<std::uint64_t>(memory.length);
  request.info.received = static_cast<std::uint64_t>(bytes);
  request.info.source = activity_.worker_id();
  complete(request, bytes < memory.length ? Status::truncated : Status::ok);
  activity_.add_handled(1);
  // A thread that sleeps may wait for that receive.
  activity_.an_operation_ended();
  return true;
}

}  // namespace stria::tag
