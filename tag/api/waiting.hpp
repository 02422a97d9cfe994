// How functions of stria.h wait for operations, and answer with their outcomes.
#pragma once

#include "tag/api/refusals.hpp"

namespace stria::tag {

/// Returns the outcome of a request that is done, also in *info (may be null). When it failed,
/// stria_last_error() has the reason.
inline stria_status_t outcome(const Request& request, stria_info_t* info) noexcept {
  const stria_status_t status = request.info.status;
  if (info != nullptr) copy_info(*info, request.info);
  if (status < STRIA_OK) [[unlikely]]
    return explain_outcome(request);
  return status;
}

/// Makes progress until the request is done, and returns its outcome.
stria_status_t wait_for(Worker& worker, const Request& request, stria_info_t* info) noexcept;

/// Refuses a call that starts an operation on the worker and waits for its end, where it has a callback, or
/// is made inside one; OK otherwise.
inline stria_status_t check_wait(const char* function, const Worker& worker,
                                 stria_callback_t callback) noexcept {
  if (callback != nullptr) [[unlikely]]
    return refuse_callback(function);
  if (worker.inside_callback()) [[unlikely]]
    return refuse_inside_callback(function);
  return STRIA_OK;
}
/// Waits for an operation, and returns its outcome. `started` is the status with which the operation started;
/// when that is an error, it is returned at once.
inline stria_status_t finish(stria_status_t started, Worker& worker, const stria_request_t& request,
                             stria_info_t* info) noexcept {
  if (started < STRIA_OK) return started;
  return wait_for(worker, reinterpret_cast<const Request&>(request), info);
}

}  // namespace stria::tag
