// How an operation ends: its request gets the outcome, and its callback is called.
#pragma once

#include "tag/activity.hpp"
#include "tag/fail_peer.hpp"
#include "tag/request.hpp"

namespace stria::tag {

/// Ends a request whose info is set but for the status. Calls back, so the request may be gone afterwards.
void complete(Request& request, Status status) noexcept;

/// Ends a request that has a callback. That may reuse the request's memory, and so may a thread that tests,
/// before the callback runs: so `info` lies elsewhere.
inline void call_back(Request& request, const stria_info_t& info) noexcept {
  if (info.status < STRIA_OK) [[unlikely]]
    static_cast<void>(explain_outcome(request));
  const stria_callback_t callback = request.callback;
  void* const user = request.user;
  stria_request_t* const handle = request.handle();
  request.state.store(RequestState::done, std::memory_order_release);
  callback(handle, &info, user);
}

/// Tells the caller of a receive that is complete at once its outcome, where the caller wants it.
inline void report_outcome(const stria_recv_t& recv, const Request& request) noexcept {
  if (recv.info != nullptr) copy_info(*recv.info, request.info);
  if (request.info.status < STRIA_OK) [[unlikely]]
    static_cast<void>(explain_outcome(request));
}

/// Ends a receive that has its message, and its peer: the sender died while it wrote, or cannot be answered.
[[gnu::cold, gnu::noinline]] void cut_short(Request& request, Peer& peer, const FailPeer& fail) noexcept;

}  // namespace stria::tag
