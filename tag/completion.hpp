// How an operation ends: its request gets the outcome, and its callback is called.
#pragma once

#include "tag/activity.hpp"
#include "tag/fail_peer.hpp"
#include "tag/request.hpp"

namespace stria::tag {

/// Ends a request whose info is set except for the status. Calls its callback, so the request may be gone
/// afterwards.
void complete(Request& request, Status status) noexcept;

/// Ends a request that has a callback, and calls the callback. request.info is already equal to `info`, which
/// lies outside of the request: the callback may reuse the request's memory, and a thread that tests the
/// request may do so even before the callback runs.
inline void call_back(Request& request, const stria_info_t& info) noexcept {
  if (info.status < STRIA_OK) [[unlikely]]
    static_cast<void>(explain_outcome(request));
  const stria_callback_t callback = request.callback;
  void* const user = request.user;
  stria_request_t* const handle = request.handle();
  request.state.store(RequestState::done, std::memory_order_release);
  callback(handle, &info, user);
}

/// Gives the outcome of a receive that is complete at once to its caller, in *recv.info where that is given.
inline void report_outcome(const stria_recv_t& recv, const Request& request) noexcept {
  if (recv.info != nullptr) copy_info(*recv.info, request.info);
  if (request.info.status < STRIA_OK) [[unlikely]]
    static_cast<void>(explain_outcome(request));
}

/// Ends a receive that has its message, and fails the message's sender: it died while it wrote the message,
/// or cannot be answered.
[[gnu::cold, gnu::noinline]] void cut_short(Request& request, Peer& peer, const FailPeer& fail) noexcept;

}  // namespace stria::tag
