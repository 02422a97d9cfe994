// What a figure depends on: the build and the machine.
#pragma once

#include <string>

namespace stria::bench {

/// The commit this program was built from, with "-dirty" when the tree had changes; "unknown" outside git.
std::string commit();
/// Compiler and its version, build type.
std::string compiler();
/// The processor's model name.
std::string cpu();
/// Where the calling process may run: "cpu 0", "cpus 0-1".
std::string pinning();

}  // namespace stria::bench
