#include "hw/machine/profile_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/format.hpp"
#include "base/system.hpp"
#include "hw/machine/text.hpp"

namespace stria::hw {
namespace {

/// Whether a file or folder belongs to this user, and no other user may write to it.
bool is_own(const struct stat& about) noexcept {
  return about.st_uid == ::geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> read_all(int fd, std::size_t most) {
  std::string text(most + 1, '\0');
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t got = ::read(fd, text.data() + bytes, text.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  if (bytes > most) return std::nullopt;
  text.resize(bytes);
  return text;
}

bool write_all(int fd, const std::string& text) noexcept {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t put = ::write(fd, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return true;
}

/// The value of a variable that is an absolute path; "" else, and for a program that runs with other rights
/// than its user's.
std::string path_in(const char* variable) {
  const char* const path = ::secure_getenv(variable);
  return path != nullptr && *path == '/' ? path : "";
}

}  // namespace

std::vector<std::string> ProfileFolder::candidates() {
  std::vector<std::string> out;
  const std::string cache = path_in("XDG_CACHE_HOME"), home = path_in("HOME"), temporary = path_in("TMPDIR");
  if (!cache.empty())
    out.push_back(cache + "/stria");
  else if (!home.empty())
    out.push_back(home + "/.cache/stria");
  out.push_back(fmt::format("{}/stria-{}", temporary.empty() ? "/tmp" : temporary, ::geteuid()));
  return out;
}

std::optional<ProfileFolder> ProfileFolder::open(const std::string& folder) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  ProfileFolder opened;
  opened.folder_ = folder;
  opened.fd_.reset(::open(folder.c_str(), kFlags));
  if (!opened.fd_ && errno == ENOENT) {
    ::mkdir(folder.substr(0, folder.rfind('/')).c_str(), 0700);
    ::mkdir(folder.c_str(), 0700);
    opened.fd_.reset(::open(folder.c_str(), kFlags));
  }
  struct stat about {};
  if (!opened.fd_ || ::fstat(opened.fd_.get(), &about) != 0 || !is_own(about)) return std::nullopt;
  return opened;
}

std::optional<std::string> ProfileFolder::read(const std::string& name) const {
  // O_NONBLOCK: what has this name may be a pipe.
  const UniqueFd file(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || !is_own(about))
    return std::nullopt;
  return read_all(file.get(), kLongestText);
}

bool ProfileFolder::write(const std::string& name, const std::string& text) const {
  const std::string temporary = fmt::format(".{}.{:016x}", name, random_word());
  UniqueFd file(::openat(fd_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return false;
  const bool done =
      write_all(file.get(), text) && ::renameat(fd_.get(), temporary.c_str(), fd_.get(), name.c_str()) == 0;
  if (!done) ::unlinkat(fd_.get(), temporary.c_str(), 0);
  return done;
}

std::optional<UniqueFd> ProfileFolder::try_lock(const std::string& name) const {
  const std::string lock = name + ".lock";
  UniqueFd file(
      ::openat(fd_.get(), lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!file) return std::nullopt;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK) return UniqueFd();
  return std::nullopt;
}

std::optional<std::string> read_file(const std::string& path, std::size_t most) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  return read_all(file.get(), most);
}

}  // namespace stria::hw
