#include "transport/uct/version.hpp"

#include <dlfcn.h>
#include <uct/api/version.h>

#include <charconv>
#include <string>

#include "base/format.hpp"

namespace stria::uct {
namespace {

/// Reads "MAJOR.MINOR" at the beginning of the text.
bool read_version(std::string_view text, unsigned& major, unsigned& minor) {
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return false;
  return std::from_chars(first.ptr + 1, end, minor).ec == std::errc{};
}

/// The version of the UCX library that this process loads; "": not known. libuct has no function that tells
/// its version; libucp, which is built from the same source and installed beside it, has one.
std::string loaded_version() {
  using GetVersion = void (*)(unsigned*, unsigned*, unsigned*);
  void* const library = ::dlopen("libucp.so.0", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "";
  std::string out;
  if (const auto get = reinterpret_cast<GetVersion>(::dlsym(library, "ucp_get_version"))) {
    unsigned major = 0, minor = 0, release = 0;
    get(&major, &minor, &release);
    out = fmt::format("{}.{}.{}", major, minor, release);
  }
  ::dlclose(library);
  return out;
}

}  // namespace

Result<void> check_version(std::string_view running, unsigned major, unsigned minor) {
  unsigned running_major = 0, running_minor = 0;
  if (!read_version(running, running_major, running_minor))
    return Error{Status::unsupported,
                 fmt::format("uct: the version of the UCX library cannot be told ('{}'), and this provider "
                             "runs with UCX {}.{} only",
                             running, major, minor)};
  if (running_major != major || running_minor != minor)
    return Error{Status::unsupported,
                 fmt::format("uct: this provider was built for UCX {}.{} and does not run with UCX {}", major,
                             minor, running)};
  return {};
}

Result<void> check_loaded_version() {
  return check_version(loaded_version(), UCT_VERNO_MAJOR, UCT_VERNO_MINOR);
}

}  // namespace stria::uct
