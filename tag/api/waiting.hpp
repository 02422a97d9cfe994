// The ends of operations as functions of stria.h answer them.
#pragma once

#include "tag/api/refusals.hpp"

namespace stria::tag {

/// The outcome of a request that is done, and its reason for stria_last_error().
inline stria_status_t outcome(const Request& request, stria_info_t* info) noexcept {
  const stria_status_t status = request.info.status;
  if (info != nullptr) copy_info(*info, request.info);
  if (status < STRIA_OK) [[unlikely]]
    return explain_outcome(request);
  return status;
}

/// Progresses until the request is done; its outcome.
stria_status_t wait_for(Worker& worker, const Request& request, stria_info_t* info) noexcept;

/// What forbids a call that starts an operation on the worker and waits for its end; OK: nothing.
inline stria_status_t check_wait(const char* function, const Worker& worker,
                                 stria_callback_t callback) noexcept {
  if (callback != nullptr) [[unlikely]]
    return refuse_callback(function);
  if (worker.inside_callback()) [[unlikely]]
    return refuse_inside_callback(function);
  return STRIA_OK;
}
/// Its end. `started` is what starting the operation answered.
inline stria_status_t finish(stria_status_t started, Worker& worker, const stria_request_t& request,
                             stria_info_t* info) noexcept {
  if (started < STRIA_OK) return started;
  return wait_for(worker, reinterpret_cast<const Request&>(request), info);
}

}  // namespace stria::tag
