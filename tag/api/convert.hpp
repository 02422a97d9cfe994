// From the opaque handles of stria.h to the objects behind them, and from exceptions to the C error
// convention.
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

/// Runs setup code that may throw; exceptions end here.
template <class F>
stria_status_t at_boundary(const char* function, F&& body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {  // bad_alloc, and length_error of what no memory could hold
    return refuse(Status::io_error, "{}: out of memory", function);
  }
}

/// Holds a worker's lock for a scope: for an operation, or a look that is repeated until something comes.
enum class LockedFor { operation, look };
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
