// Whether the UCX library of this process is the one that the provider was built for.
//
// UCX names its library libuct.so.0 in all versions, but the inline functions of its headers, above all
// uct_worker_progress, read structures of the library that change from one minor version to the next. With a
// library of another version they would jump to an invalid address.
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace stria::uct {

/// Compares `running`, a version as text, with the version that the provider was built for. Error:
/// unsupported; the major or minor number differs, or `running` is no version.
Result<void> check_version(std::string_view running, unsigned major, unsigned minor);

/// Compares the folders of libuct and of libucp, which belong to one installation of UCX if they are equal.
/// Error: unsupported; they differ.
Result<void> check_folders(std::string_view uct, std::string_view ucp);

/// Compares the UCX library that is loaded with the UCX headers of the build. The version is that of libucp,
/// so libuct has to be beside it. Error: unsupported.
Result<void> check_loaded_version();

}  // namespace stria::uct
