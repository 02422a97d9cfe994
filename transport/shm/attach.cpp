#include "transport/shm/attach.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "transport/shm/door_wire.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {
namespace {

/// A device in the registry of this process.
struct Listed {
  std::uint64_t nonce;
  int fd;
  pid_t pid;  // a child of fork() inherits the list, but not the devices
};
struct Devices {
  std::mutex mutex;
  std::vector<Listed> all;

  /// The device `nonce` of this process; null: it is not listed. The caller holds the mutex.
  const Listed* find(std::uint64_t nonce) const noexcept {
    for (const Listed& one : all)
      if (one.nonce == nonce && one.pid == ::getpid()) return &one;
    return nullptr;
  }
};
Devices& devices() {
  static auto* one = new Devices;  // never destroyed: devices may be closed by destructors at exit
  return *one;
}

Error unreachable(std::string text) {
  return {Status::unreachable, std::move(text)};
}
/// The error of a failed system call: errno says whether the caller may try again.
Error failed(const std::string& what) {
  return {status_on_way(errno), fmt::format("{}: {}", what, std::strerror(errno))};
}

/// Maps the file behind `fd` if it is the segment of `identity`. `way` is that by which `fd` was reached;
/// `pid` is Attached::pid. The result has no descriptor yet.
Result<Attached> map_segment(int fd, const Identity& identity, const char* way, pid_t pid) {
  // The seals are read before the size: without them the file may still change its size.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return unreachable(fmt::format("{}: not a sealed segment", way));
  struct stat about {};
  if (::fstat(fd, &about) != 0) return unreachable(fmt::format("{}: fstat: {}", way, std::strerror(errno)));
  if (about.st_uid != ::geteuid())
    return unreachable(
        fmt::format("{}: the segment belongs to user {}, this is user {}", way, about.st_uid, ::geteuid()));
  const auto bytes = static_cast<std::uint64_t>(about.st_size);
  if (about.st_size < static_cast<off_t>(sizeof(SegmentHeader)) || bytes != identity.segment_bytes)
    return unreachable(
        fmt::format("{}: {} bytes where {} were announced", way, bytes, identity.segment_bytes));
  Mapping map = Mapping::shared(fd, static_cast<std::size_t>(bytes));
  if (!map) return failed(fmt::format("{}: mmap of {} bytes", way, bytes));
  exclude_from_fork(map);
  const auto& header = *reinterpret_cast<const SegmentHeader*>(map.data());
  if (header.magic != kMagic || header.nonce != identity.nonce)
    return unreachable(fmt::format("{}: the segment is another one (nonce differs)", way));
  Attached mapped;
  mapped.map = std::move(map);
  mapped.nonce = identity.nonce;
  mapped.pid = pid;
  mapped.way = way;
  return mapped;
}

/// Whether `about` describes the segment of a device of this process.
bool is_own_segment(const struct stat& about) {
  const std::lock_guard lock(devices().mutex);
  for (const Listed& one : devices().all) {
    struct stat own {};
    if (one.pid == ::getpid() && ::fstat(one.fd, &own) == 0 && own.st_dev == about.st_dev &&
        own.st_ino == about.st_ino)
      return true;
  }
  return false;
}

/// Opens descriptor `fd` of process `pid` through /proc, if it is a memfd of stria and no segment of this
/// process.
Result<UniqueFd> open_by_proc(pid_t pid, int fd) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  // The file is looked at before it is opened: in another PID namespace or on another node `pid` may name
  // any process, and some files act when they are opened. A descriptor of O_PATH does not open the file, and
  // drops no lock when it is closed.
  UniqueFd seen(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!seen) return failed("proc: " + path);
  const std::string seen_path = fmt::format("/proc/self/fd/{}", seen.get());
  char target[64] = {};
  struct stat about {};
  if (::readlink(seen_path.c_str(), target, sizeof target - 1) < 0 || ::fstat(seen.get(), &about) != 0)
    return unreachable(fmt::format("proc: {}: {}", path, std::strerror(errno)));
  if (std::strncmp(target, "/memfd:stria", 12) != 0)
    return unreachable(fmt::format("proc: {} is {}", path, target));
  if (is_own_segment(about))
    return unreachable(fmt::format(
        "proc: {} is this process's own segment: the id is that of another PID namespace or node", path));
  UniqueFd opened(::open(seen_path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!opened) return failed("proc: " + path);
  return opened;
}

Result<Attached> attach_by_proc(const Identity& identity) {
  auto opened = open_by_proc(static_cast<pid_t>(identity.pid), identity.fd);
  if (!opened) return std::move(opened).error();
  auto mapped = map_segment(opened->get(), identity, "proc", static_cast<pid_t>(identity.pid));
  if (mapped) mapped->fd = *std::move(opened);
  return mapped;
}

Result<Attached> attach_by_socket(const Identity& identity, std::uint64_t proof, PendingAttach& pending) {
  const bool waits = !std::exchange(pending.has_waited, true);
  if (!pending.connection) {
    auto asked = send_request(identity.nonce, proof, 0, waits);
    if (!asked) return std::move(asked).error();
    pending.connection = *std::move(asked);
  }
  auto passed = receive_answer(pending.connection.get(), waits);
  // A connection carries one answer: an attempt after this one has to ask the door anew.
  if (passed || passed.error().status != Status::in_progress) pending.connection.reset();
  if (!passed) return std::move(passed).error();
  auto mapped = map_segment(passed->fd.get(), identity, "socket", passed->pid);
  if (mapped) mapped->fd = std::move(passed->fd);
  return mapped;
}

}  // namespace

void register_device(std::uint64_t nonce, int fd) {
  const std::lock_guard lock(devices().mutex);
  devices().all.push_back({nonce, fd, ::getpid()});
}

void unregister_device(std::uint64_t nonce) noexcept {
  const std::lock_guard lock(devices().mutex);
  std::erase_if(devices().all,
                [&](const Listed& one) { return one.nonce == nonce && one.pid == ::getpid(); });
}

bool Attached::is_alive() const noexcept {
  if (same_process) {
    const std::lock_guard lock(devices().mutex);
    return devices().find(nonce) != nullptr;
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (::fcntl(fd.get(), F_GETLK, &lock) != 0) return true;  // not knowing is no reason to give up a peer
  return lock.l_type != F_UNLCK;
}

Result<Attached> attach(const Identity& identity, AttachMode mode, std::uint64_t secret_proof,
                        PendingAttach* pending) {
  {
    const std::lock_guard lock(devices().mutex);
    if (const Listed* one = devices().find(identity.nonce); one != nullptr) {
      auto mapped = map_segment(one->fd, identity, "process", ::getpid());
      if (mapped) mapped->same_process = true;
      return mapped;
    }
  }
  std::string why;
  Status status = Status::unreachable;
  if (mode != AttachMode::socket) {
    auto done = attach_by_proc(identity);
    if (done) return done;
    if (pending != nullptr) status = done.error().status;
    why = std::move(done).error().context;
  }
  if (mode != AttachMode::proc) {
    PendingAttach once;
    auto done = attach_by_socket(identity, secret_proof, pending != nullptr ? *pending : once);
    if (done) return done;
    // If /proc failed for lack of a resource, that status stays, whatever the door says: a later attempt may
    // succeed.
    if (pending != nullptr && status == Status::unreachable) status = done.error().status;
    why += (why.empty() ? "" : "; ") + done.error().context;
  }
  return Error{status, fmt::format("shm: process {} cannot be attached: {}", identity.pid, why)};
}

Result<UniqueFd> open_memory(const Attached& peer, const MemoryName& name, AttachMode mode,
                             std::uint64_t secret_proof) {
  std::string why;
  if (mode != AttachMode::socket) {
    auto opened = peer.pid > 0
                      ? open_by_proc(peer.pid, name.fd)
                      : Result<UniqueFd>(unreachable("proc: the process id is not visible from here"));
    if (opened) return opened;
    why = std::move(opened).error().context;
  }
  if (mode != AttachMode::proc) {
    auto passed = request_descriptor(peer.nonce, secret_proof, name.nonce);
    if (passed) return std::move(passed->fd);
    why += (why.empty() ? "" : "; ") + passed.error().context;
  }
  return unreachable(std::move(why));
}

}  // namespace stria::shm
