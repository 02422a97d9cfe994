#include "tag/completion.hpp"

#include "transport/services.hpp"

namespace stria::tag {
namespace {

/// Keeps in the request's body, which is free when the operation has ended, what explain_outcome() needs
/// beside the request's other fields: the worker and its peers may be gone when it is called.
[[gnu::cold, gnu::noinline]] void remember_failure(Request& request) noexcept {
  const bool closed = request.owner->closing();
  const std::uint64_t peer = request.kind == RequestKind::send && request.peer != nullptr
                                 ? request.peer->worker_id
                                 : request.info.source;
  request.body.failure = {peer, closed};
  if (request.kind == RequestKind::send) request.info.source = peer;
}

}  // namespace

void complete(Request& request, Status status) noexcept {
  request.info.status = transport::to_c(status);
  if (status != Status::ok) [[unlikely]]
    remember_failure(request);
  if (request.callback == nullptr) {
    request.state.store(RequestState::done, std::memory_order_release);  // pairs with stria_request_test
    return;
  }
  stria_info_t info;
  copy_info(info, request.info);
  const Activity::Inside inside(*request.owner);
  call_back(request, info);
}

void cut_short(Request& request, Peer& peer, const FailPeer& fail) noexcept {
  // The request is in no queue and not complete. fail() runs callbacks of the application, and the state
  // keeps them from cancelling this request.
  request.state.store(RequestState::active, std::memory_order_relaxed);
  fail(peer, Status::peer_failed);
  complete(request, Status::peer_failed);
}

}  // namespace stria::tag
