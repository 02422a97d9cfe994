// The short way of a receive through a worker, made part of the function of stria.h: a receive into
// contiguous memory of a named source and tag, which is posted, or finds its message in the window. A receive
// that needs a second look takes the long way (receive.cpp).
#pragma once

#include "tag/worker.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

/// Posts a receive into contiguous memory, with the whole tag and a source that is connected.
[[gnu::always_inline]] inline void Receives::post_exact(const stria_recv_t& recv, const Peer& source,
                                                        stria_request_t* request) noexcept {
  PostedRecv& posted = Request::make_posted(request, &activity_, recv)->body.posted;
  posted.tag = recv.match.tag;
  posted.source = source.index;
  posted.ignore = 0;
  posted.memory.layout = nullptr;
  posted.memory.base = recv.base;
  posted.memory.count = static_cast<std::int64_t>(recv.count);
  posted.memory.offset = 0;
  posted.memory.length = static_cast<std::int64_t>(recv.count);
  posted_.push_exact(&posted);
}

[[gnu::always_inline]] inline Status Receives::try_post(const stria_recv_t& recv, Peer& source,
                                                        stria_request_t* request) noexcept {
  constexpr std::uint32_t kFlags = STRIA_RECV_LOOK | STRIA_RECV_WAITS;
  if (recv.layout != nullptr || recv.match.ignore != 0 || (recv.flags & ~kFlags) != 0 ||
      static_cast<std::int64_t>(recv.count) < 0 || stopped_)
    return Status::no_resource;
  if (store_.queue().size() != 0) [[unlikely]]
    return recv_beside_unexpected(recv, source, request);
  if ((recv.flags & STRIA_RECV_LOOK) != 0 && source.state == Peer::State::up) {
    if (look_in_ == 0 || ((recv.flags & STRIA_RECV_WAITS) != 0 && recv.count <= eager::kWindowReceiveMax)) {
      const Status seen = look(recv, source, request);
      if (seen != Status::in_progress) return seen;
    } else {
      --look_in_;
    }
  }
  if (source.state != Peer::State::up) [[unlikely]]
    return Status::no_resource;
  post_exact(recv, source, request);
  return Status::in_progress;
}

[[gnu::always_inline]] inline Status Worker::try_post(const stria_recv_t& recv,
                                                      stria_request_t* request) noexcept {
  if (recv.match.source == nullptr) return Status::no_resource;
  const Endpoint& endpoint = *reinterpret_cast<const Endpoint*>(recv.match.source);
  if (endpoint.worker != this) [[unlikely]]
    return Status::no_resource;
  return receives_.try_post(recv, *endpoint.peer, request);
}

}  // namespace stria::tag
