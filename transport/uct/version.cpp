#include "transport/uct/version.hpp"

#include <dlfcn.h>
#include <uct/api/uct.h>
#include <uct/api/version.h>

#include <charconv>
#include <filesystem>
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

/// The folder, without symbolic links, of the library that has `function`; "": not known.
std::string folder_of(void* function) {
  Dl_info about{};
  if (::dladdr(function, &about) == 0 || about.dli_fname == nullptr) return "";
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(about.dli_fname, failed);
  return failed ? "" : file.parent_path().string();
}

/// The UCX library that this process loads. libuct has no function that tells its version; libucp, which is
/// built from the same source and installed in the same folder, has one.
struct Loaded {
  std::string version;     ///< of libucp; "": not known
  std::string ucp_folder;  ///< "": not known
};

Loaded loaded() {
  using GetVersion = void (*)(unsigned*, unsigned*, unsigned*);
  Loaded out;
  void* const library = ::dlopen("libucp.so.0", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return out;
  if (void* const function = ::dlsym(library, "ucp_get_version")) {
    unsigned major = 0, minor = 0, release = 0;
    reinterpret_cast<GetVersion>(function)(&major, &minor, &release);
    out = {fmt::format("{}.{}.{}", major, minor, release), folder_of(function)};
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

Result<void> check_folders(std::string_view uct, std::string_view ucp) {
  if (uct == ucp && !uct.empty()) return {};
  return Error{
      Status::unsupported,
      fmt::format("uct: libuct of UCX is in {} and libucp, which tells its version, in {}: the two may be "
                  "of different versions; let LD_LIBRARY_PATH lead to both of one installation",
                  uct.empty() ? "an unknown folder" : uct, ucp.empty() ? "an unknown folder" : ucp)};
}

Result<void> check_loaded_version() {
  const Loaded found = loaded();
  if (auto fits = check_version(found.version, UCT_VERNO_MAJOR, UCT_VERNO_MINOR); !fits) return fits;
  return check_folders(folder_of(reinterpret_cast<void*>(&uct_query_components)), found.ucp_folder);
}

}  // namespace stria::uct
