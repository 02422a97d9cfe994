// How the keys of a message that was read by several links end. There is one key for each rail, and one, the
// announced key, for the main link. Only one way to end a key needs no wait: a packet with invalidate that
// the reader sends behind its last get, by the link of the key. FIN is that packet for the announced key,
// END_KEY for the key of a rail. They go by different links, so they may come in any order. FIN says for
// which rails an END_KEY comes. The sender ends the keys of all other rails itself, and that may have to wait
// for what was posted on the rail before.
//
//   receiver   all bytes are there ── END_KEY ──► (each rail)   ── FIN{rails} ──► (main link)   done
//   sender     END_KEY, FIN                                     done
//              FIN    the announced key is dead; awaited        END_KEY of the last rail: done
//
// A send whose FIN has come waits for END_KEYs as it waits for zero-copy sends: its memory is handed back
// when no key shows that memory any more. A rail that dies takes its key with it, and the receiver counts the
// key as ended. When the peer dies, the keys that are left end at once.
#include "rndv/finisher.hpp"

namespace stria::rndv {

using transport::Header;

[[gnu::cold, gnu::noinline]] void Finisher::end_rail_keys(SendOp& op) noexcept {
  op.rail_keys->end();
  pools_.rail_keys.release(*op.rail_keys);
  op.has_rail_keys = false;
  operations_.deactivate(op);  // no answer with a key is due any more
}

/// The receiver has ended the send: from now on only the keys of `rails` (a bit for each number) are awaited.
/// The announced key ends here and not with the send, because a provider may give the key's number to another
/// key while the send waits.
[[gnu::cold, gnu::noinline]] void Finisher::await_rail_keys(SendOp& op, std::uint8_t rails) noexcept {
  op.rail_keys->await(rails);
  end_announced_key(op);
}

[[gnu::cold, gnu::noinline]] void Finisher::end_rail_key(SendOp& op, RailKey& one) noexcept {
  RailKeysOfSend& keys = *op.rail_keys;
  if (!keys.is_over()) {
    one.end();
    return;
  }
  keys.remove(one);
  if (!keys.is_awaited()) end(op);
}

/// Sends END_KEY by each rail that has a key, for a receive that has read by rails and reads no more. False:
/// a packet found no room; call again. A rail that does not send any more is dead: its key counts as ended,
/// and FIN tells the sender so. A key that the provider cannot end by a packet is left to the sender.
[[gnu::cold, gnu::noinline]] bool Finisher::end_keys_by_rails(RecvOp& op) noexcept {
  RailReads& reads = pools_.divisions.reads(op.division);
  const Header header = wire::make_header(wire::Kind::end_key, op.peer_op);
  bool waits = false;
  for (RailReads::Rail& rail : reads.rails()) {
    if (rail.key.bytes == 0) continue;
    const Status sent = rail.link->send_invalidate(header, nullptr, 0, rail.key);
    if (sent == Status::no_resource)
      waits = true;
    else if (sent == Status::unsupported || sent == Status::access_error)
      rail.key.bytes = 0;
    else
      reads.key_ended(rail);
  }
  return !waits;
}

}  // namespace stria::rndv
