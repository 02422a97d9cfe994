// How the keys of a message end that was read by several links. Each rail has a key of its own, and a key can
// end without a wait in one way only: by a packet that the reader sends behind its last get, with invalidate,
// by the link of the key. FIN is that packet for the announced key, END_KEY for the key of a rail. They go by
// different links, so the sender gets them in any order. FIN says of which rails there is one, and the
// sender ends every other key itself; that may have to wait for what was posted on the rail before.
//
//   receiver   all bytes are there ── END_KEY ──► (each rail)   ── FIN{rails} ──► (main link)   done
//   sender     END_KEY, FIN                                     done
//              FIN    the announced key is dead; awaited        END_KEY of the last rail: done
//
// A send whose FIN came waits for END_KEYs as it waits for zero-copy sends: its memory is handed back when no
// key shows it any more. A rail that dies takes its key with it, and the receiver counts it as ended. The
// keys that are left when the peer dies end at once.
#include "rndv/ends.hpp"

namespace stria::rndv {

using transport::Header;

[[gnu::cold, gnu::noinline]] void Ends::end_rail_keys(SendOp& op) noexcept {
  op.rail_keys->end();
  pools_.rail_keys.give_back(*op.rail_keys);
  op.keyed = false;
  operations_.deactivate(op);  // no answer is due
}

/// The receiver ended the send. Its announced key is looked at now: a provider may give the key's number to
/// another one while the send waits.
[[gnu::cold, gnu::noinline]] void Ends::await_rail_keys(SendOp& op, std::uint8_t rails) noexcept {
  op.rail_keys->await(rails);
  end_announced_key(op);
}

[[gnu::cold, gnu::noinline]] void Ends::end_rail_key(SendOp& op, RailKey& one) noexcept {
  RailKeysOfSend& keys = *op.rail_keys;
  if (!keys.is_over()) {
    one.end();
    return;
  }
  keys.remove(one);
  if (!keys.is_awaited()) end(op);
}

/// Of a receive that read by rails, and reads no more: ends the keys that they have. False: a packet found no
/// room. A rail that does not send any more is dead, and the sender is told of that, too. A provider that
/// ends no key of the kind by a packet leaves it to the sender.
[[gnu::cold, gnu::noinline]] bool Ends::end_keys_by_rails(RecvOp& op) noexcept {
  Reads& reads = pools_.divisions.reads(op.division);
  const Header header = wire::make_header(wire::Kind::end_key, op.peer_op);
  bool waits = false;
  for (Reads::Rail& rail : reads.rails()) {
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
