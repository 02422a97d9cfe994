// From the opaque handles of stria.h to the objects behind them, and from Result to the C error convention.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <new>

#include "tag/worker.hpp"

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

inline stria_status_t refuse(const Error& error) noexcept {
  set_last_error(error.context);
  return transport::to_c(error.status);
}
/// Allocates nothing, so that it serves where memory is out, too.
template <class... Args>
[[gnu::cold]] stria_status_t refuse(Status status, fmt::format_string<Args...> format,
                                    Args&&... args) noexcept {
  try {
    char text[kLastErrorBytes];
    const auto end = fmt::format_to_n(text, sizeof(text), format, std::forward<Args>(args)...);
    set_last_error({text, std::min(end.size, sizeof(text))});
  } catch (...) {  // a format was checked when it was compiled; the status tells the rest
    set_last_error("the call was refused");
  }
  return transport::to_c(status);
}

/// One test for all pointers that a call needs; which one is missing is found out in refuse_null.
template <class... T>
constexpr bool any_null(const T*... pointers) noexcept {
  return (static_cast<unsigned>(pointers == nullptr) | ...) != 0;
}
struct Argument {
  const char* name;
  const void* value;
};
[[gnu::cold, gnu::noinline]] stria_status_t refuse_null(const char* function,
                                                        std::initializer_list<Argument> arguments) noexcept;

/// Bytes at no address. A NULL base with a layout is allowed: its displacements may be addresses.
constexpr bool lacks_memory(const void* base, const stria_layout_t* layout, std::uint64_t count) noexcept {
  return (static_cast<unsigned>(base == nullptr) & static_cast<unsigned>(layout == nullptr) &
          static_cast<unsigned>(count != 0)) != 0;
}

/// Runs setup code that may throw; exceptions end here.
template <class F>
stria_status_t at_boundary(F&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return refuse(Status::io_error, "out of memory");
  } catch (const std::exception& error) {
    return refuse(Status::io_error, "{}", error.what());
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
