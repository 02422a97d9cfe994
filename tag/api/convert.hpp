// Converts the opaque handles of stria.h to the objects behind them, and exceptions to the C error
// convention. Locked holds the lock of a worker for a scope.
#pragma once

#include <exception>

#include "tag/api/refusals.hpp"

namespace stria::tag {

inline Context* as_context(stria_context_t* handle) noexcept {
  return reinterpret_cast<Context*>(handle);
}
inline Worker* as_worker(stria_worker_t* handle) noexcept {
  return reinterpret_cast<Worker*>(handle);
}
inline const Worker* as_worker(const stria_worker_t* handle) noexcept {
  return reinterpret_cast<const Worker*>(handle);
}
inline Endpoint* as_endpoint(stria_endpoint_t* handle) noexcept {
  return reinterpret_cast<Endpoint*>(handle);
}
inline Request* as_request(stria_request_t* handle) noexcept {
  return reinterpret_cast<Request*>(handle);
}
inline const Request* as_request(const stria_request_t* handle) noexcept {
  return reinterpret_cast<const Request*>(handle);
}

/// Runs `body`, setup code that may throw; an exception becomes the status of a refusal.
template <class F>
stria_status_t at_boundary(const char* function, F&& body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {  // bad_alloc, and length_error of what no memory could hold
    return refuse(Status::io_error, "{}: out of memory", function);
  }
}

/// What a scope holds a worker's lock for: an operation, or a look whether something has come, which the
/// caller repeats until something has.
enum class LockedFor { operation, look };
/// Holds the lock of a worker, if threads share it, for a scope.
class Locked {
 public:
  explicit Locked(Worker& worker, LockedFor purpose = LockedFor::operation) noexcept
      : lock_(worker.lock()),
        entered_(lock_.shared() && (purpose == LockedFor::look ? lock_.enter_to_look() : lock_.enter())) {}
  ~Locked() {
    if (entered_) lock_.leave();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  WorkerLock& lock_;
  const bool entered_;
};

}  // namespace stria::tag
