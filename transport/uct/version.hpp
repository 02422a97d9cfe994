// Whether the UCX library of this process is the one that the provider was built for.
//
// UCX names its library libuct.so.0 in all versions, but the inline functions of its headers, above all
// uct_worker_progress, read structures of the library that change from one minor version to the next. Called
// on another version they would jump to an address that is none.
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace stria::uct {

/// Error: unsupported; the running version, as text, has another major or minor number than these.
Result<void> check_version(std::string_view running, unsigned major, unsigned minor);

/// Compares the library that is loaded with the headers of the build.
Result<void> check_loaded_version();

}  // namespace stria::uct
