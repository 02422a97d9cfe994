#include "transport/shm/cma.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "datatype/pack.hpp"
#include "transport/payload.hpp"

namespace stria::shm {
namespace {

constexpr std::size_t kBatch = 512;                       // list entries of one call; the kernel accepts 1024
constexpr std::int64_t kMaxCall = std::int64_t{1} << 30;  // bytes of one call; the kernel moves under 2 GiB
constexpr std::int64_t kBounceRun = 512;  // bytes: shorter local runs, on average, use the bounce buffer

std::byte* pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<std::byte*>(address);
}

/// The first `length` bytes of a stream with a layout, as a Range.
datatype::Range range_of(const Stream& stream, std::int64_t length) noexcept {
  return {stream.layout, pointer(stream.base), stream.count, stream.offset, length};
}

/// Lists the runs of the first `length` bytes of the stream in `out`, at most kBatch of them. Returns the
/// number of entries; *covered: the bytes that they have.
std::size_t list(const Stream& stream, std::int64_t length, iovec* out, std::int64_t* covered) noexcept {
  if (stream.layout == nullptr) {
    out[0] = {pointer(stream.begin()), static_cast<std::size_t>(length)};
    *covered = length;
    return 1;
  }
  return datatype::iovecs(range_of(stream, length), out, kBatch, covered);
}

/// Shortens a list of `n` entries to `bytes` bytes; returns the entries that are left.
std::size_t trim(iovec* entries, std::size_t n, std::int64_t bytes) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    if (static_cast<std::int64_t>(entries[i].iov_len) >= bytes) {
      entries[i].iov_len = static_cast<std::size_t>(bytes);
      return i + 1;
    }
    bytes -= static_cast<std::int64_t>(entries[i].iov_len);
  }
  return n;
}

[[gnu::cold, gnu::noinline]] Copied from_errno(int error) noexcept {
  switch (error) {
    case EFAULT:
    case ENOMEM:
      return Copied::memory_refused;
    case ESRCH:
      return Copied::peer_gone;
    default:
      return Copied::system_refused;
  }
}

/// One system call: process_vm_readv for a get, process_vm_writev for a put.
ssize_t call(Direction direction, pid_t pid, std::span<const iovec> here,
             std::span<const iovec> there) noexcept {
  return direction == Direction::get
             ? ::process_vm_readv(pid, here.data(), here.size(), there.data(), there.size(), 0)
             : ::process_vm_writev(pid, here.data(), here.size(), there.data(), there.size(), 0);
}

/// Removes the first `bytes` bytes from what is to be copied.
void pass(Copy& rest, std::int64_t bytes) noexcept {
  rest.local.offset += bytes;
  rest.remote.offset += bytes;
  rest.length -= bytes;
}

/// Copies between lists of runs, in pieces: each call moves as many bytes as the lists of both sides cover.
Copied move_lists(Copy rest, pid_t pid) noexcept {
  iovec here[kBatch], there[kBatch];
  while (rest.length > 0) {
    const std::int64_t want = std::min(rest.length, kMaxCall);
    std::int64_t covered_here = 0, covered_there = 0;
    std::size_t entries_here = list(rest.local, want, here, &covered_here);
    std::size_t entries_there = list(rest.remote, std::min(want, covered_here), there, &covered_there);
    const std::int64_t bytes = std::min(covered_here, covered_there);
    if (bytes <= 0) return Copied::memory_refused;  // one of the layouts ends before the copy does
    entries_here = trim(here, entries_here, bytes);
    entries_there = trim(there, entries_there, bytes);
    const ssize_t moved = call(rest.direction, pid, {here, entries_here}, {there, entries_there});
    if (moved < 0) return from_errno(errno);
    if (moved == 0) return Copied::memory_refused;
    pass(rest, moved);
  }
  return Copied::all;
}

/// Copies through the buffer `bounce`, for local memory in small runs: a list entry for each run would cost
/// more than a second copy through a buffer that stays in the cache.
Copied move_bounced(Copy rest, pid_t pid, std::span<std::byte> bounce) noexcept {
  while (rest.length > 0) {
    const std::int64_t piece = std::min(rest.length, static_cast<std::int64_t>(bounce.size()));
    const Stream buffer{nullptr, reinterpret_cast<std::uint64_t>(bounce.data()), piece, 0};
    if (rest.direction == Direction::put) datatype::pack(range_of(rest.local, piece), bounce.data());
    if (const Copied copied = move_lists({rest.direction, buffer, rest.remote, piece}, pid);
        copied != Copied::all)
      return copied;
    if (rest.direction == Direction::get) datatype::unpack(range_of(rest.local, piece), bounce.data());
    pass(rest, piece);
  }
  return Copied::all;
}

}  // namespace

std::string probe_cma(pid_t pid, std::uint64_t address, std::uint64_t nonce) {
  if (pid <= 0) return "cross-memory attach: the peer's process id is not visible from here";
  CmaProbe seen{};
  iovec here{&seen.nonce, sizeof seen.nonce};
  iovec there{pointer(address + offsetof(CmaProbe, nonce)), sizeof seen.nonce};
  if (::process_vm_readv(pid, &here, 1, &there, 1, 0) != static_cast<ssize_t>(sizeof seen.nonce))
    return fmt::format("cross-memory attach: process_vm_readv: {}", std::strerror(errno));
  if (seen.nonce != nonce) return "cross-memory attach: the process of that id is another one here";
  here = {&seen.scratch, sizeof seen.scratch};
  there.iov_base = pointer(address + offsetof(CmaProbe, scratch));
  seen.scratch = nonce;
  if (::process_vm_writev(pid, &here, 1, &there, 1, 0) != static_cast<ssize_t>(sizeof seen.scratch))
    return fmt::format("cross-memory attach: process_vm_writev: {}", std::strerror(errno));
  return {};
}

std::int64_t mean_run(const Stream& stream) noexcept {
  if (stream.layout == nullptr || stream.layout->is_contiguous(stream.count)) return INT64_MAX;
  return stream.layout->facts().mean_run;
}

Copied copy_block(Direction direction, pid_t pid, std::byte* local, std::uint64_t remote,
                  std::size_t bytes) noexcept {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t want = std::min(bytes - done, static_cast<std::size_t>(kMaxCall));
    const iovec here{local + done, want};
    const iovec there{pointer(remote + done), want};
    const ssize_t moved = call(direction, pid, {&here, 1}, {&there, 1});
    if (moved < 0) return from_errno(errno);
    if (moved == 0) return Copied::memory_refused;
    // When fewer bytes were moved than asked for, the kernel did not reach a page; the next call says why.
    done += static_cast<std::size_t>(moved);
  }
  return Copied::all;
}

Copied copy_cma(const Copy& copy, pid_t pid, std::span<std::byte> bounce) noexcept {
  const auto& [direction, local, remote, length] = copy;
  if (local.layout == nullptr && remote.layout == nullptr)
    return copy_block(direction, pid, pointer(local.begin()), remote.begin(),
                      static_cast<std::size_t>(length));
  if (mean_run(local) < kBounceRun && !bounce.empty()) return move_bounced(copy, pid, bounce);
  return move_lists(copy, pid);
}

void copy_mapped(const Copy& copy) noexcept {
  const auto& [direction, local, remote, length] = copy;
  const Stream& from = direction == Direction::get ? remote : local;
  const Stream& to = direction == Direction::get ? local : remote;
  std::byte* out = pointer(to.begin());
  const std::byte* in = pointer(from.begin());
  if (from.layout == nullptr && to.layout == nullptr && length >= transport::kLongByString)
    transport::copy_long_across(out, in, static_cast<std::size_t>(length));
  else if (from.layout == nullptr && to.layout == nullptr)
    datatype::copy_bytes(out, in, static_cast<std::size_t>(length));
  else if (from.layout == nullptr)
    datatype::unpack(range_of(to, length), in);
  else if (to.layout == nullptr)
    datatype::pack(range_of(from, length), out);
  else
    datatype::transfer(range_of(from, length), range_of(to, length));
}

}  // namespace stria::shm
