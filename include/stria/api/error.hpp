// What all of stria.hpp stands on: the C types under shorter names, the exception of setup, and the handle
// that closes a C object.
#ifndef STRIA_API_ERROR_HPP
#define STRIA_API_ERROR_HPP

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "stria/stria.h"

namespace stria::api {

using Status = stria_status_t;
using Info = stria_info_t;
using Bounds = stria_layout_bounds_t;
using Counters = stria_counters_t;
using EndpointState = stria_endpoint_state_t;
using Callback = stria_callback_t;

/// A refused setup call: its status, and the object, limit and value that the library named.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& what) : std::runtime_error(what), status_(status) {}
  Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Throws Error when `status` is negative; `call` names what was tried. The reason of stria_last_error() is
/// added where it explains this status: check a status before the next call can fail.
inline void check(Status status, const char* call) {
  if (status >= STRIA_OK) return;
  const std::string name = std::string(call) + ": ";
  std::string_view reason = stria_last_error_status() == status ? stria_last_error() : "";
  if (reason.starts_with(name)) reason.remove_prefix(name.size());
  std::string text = name + stria_status_string(status);
  if (!reason.empty()) text.append(": ").append(reason);
  throw Error(status, text);
}

namespace detail {
template <auto Close>
struct Closer {
  template <class T>
  void operator()(T* object) const noexcept {
    static_cast<void>(Close(object));
  }
};
template <class T, auto Close>
using Handle = std::unique_ptr<T, Closer<Close>>;
}  // namespace detail

/// The library's version at run time, "0.3.0".
inline std::string version() {
  return stria_version();
}

}  // namespace stria::api

#endif
