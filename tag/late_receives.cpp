#include "tag/late_receives.hpp"

#include <algorithm>

#include "tag/completion.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

void LateReceives::wait_for_rest(Unexpected& entry, const stria_payload_t& memory,
                                 Request& request) noexcept {
  Peer& peer = store_.source_of(entry);
  if (peer.state != Peer::State::up) {
    store_.free(entry);
    cut_short(request, peer, fail_);
    return;
  }
  request.state.store(RequestState::active, std::memory_order_relaxed);
  LateRecv& late = request.make_late();
  late.entry = &entry;
  late.memory = memory;
  late_.push_back(&late);
  peer.has_late = true;
  activity_.add_to_backlog(peer);
}

unsigned LateReceives::take(Peer& peer, Status why) noexcept {
  unsigned ended = 0;
  // A callback may add late receives, or end others, so the list is searched anew after each one. A sender
  // writes one message at a time, so at most one of the peer's receives still waits for its rest.
  const auto next = [&]() -> LateRecv* {
    peer.has_late = false;
    for (LateRecv* late = late_.front(); late != nullptr; late = late_.next(late)) {
      if (late->entry->source != peer.index) continue;
      if (peer.state != Peer::State::up || !store_.is_half(*late->entry)) return late;
      peer.has_late = true;
    }
    return nullptr;
  };
  while (LateRecv* late = next()) {
    late->unlink();
    ++ended;
    Unexpected& entry = *late->entry;
    Request& request = *Request::of(*late);
    const stria_payload_t memory = late->memory;
    const std::uint64_t bytes = std::min(static_cast<std::uint64_t>(memory.length), entry.length);
    if (store_.take_in_place(entry, transport::slice(memory, 0, bytes))) {
      store_.finish(entry, memory, request);
    } else {
      store_.free(entry);
      complete(request, why);
    }
  }
  return ended;
}

}  // namespace stria::tag
