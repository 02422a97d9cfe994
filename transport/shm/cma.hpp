// Cross-memory attach: process_vm_readv and process_vm_writev between two processes. Whether it works is
// found out by doing it, because seccomp, user namespaces and ptrace rules all have a say, and another PID
// namespace may lend the number to a stranger.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "datatype/layout.hpp"

namespace stria::shm {

/// In every device's private memory; its address is in the segment's header.
struct CmaProbe {
  std::uint64_t nonce = 0;    // what a peer must read
  std::uint64_t scratch = 0;  // what a peer may write; nobody reads it
};

/// Empty: reading and writing work. Otherwise why not, for people.
std::string probe_cma(pid_t pid, std::uint64_t address, std::uint64_t nonce);

/// A stretch of memory in a packed stream: count instances of a layout at base; null layout: contiguous.
struct Stream {
  const datatype::Layout* layout = nullptr;
  std::uint64_t base = 0;
  std::int64_t count = 0;
  std::int64_t offset = 0;
};

/// Mean run of bytes of a stream's memory; large for contiguous memory.
std::int64_t mean_run(const Stream& stream) noexcept;

enum class Direction : std::uint8_t { get, put };

/// How a copy by cross-memory attach ended. Where it is not `all`, the bytes that were moved before it ended
/// are right, and the others are as they were.
enum class Copied : std::uint8_t {
  all,
  /// EFAULT: the kernel does not reach a page for another process, although its owner may use it
  /// (memfd_secret, the mapping of a driver), or the page is not mapped at all. ENOMEM: it has no memory for
  /// this call. Other memory of the same process may be copied as before.
  memory_refused,
  system_refused,  ///< any other error: cross-memory attach is over for this pair of processes
  peer_gone,       ///< there is no such process
};

/// Copies `length` bytes between the local stream and one of process `pid`. `bounce` is scratch memory for
/// local memory in very small pieces.
Copied copy_cma(Direction direction, pid_t pid, const Stream& local, const Stream& remote,
                std::int64_t length, std::span<std::byte> bounce) noexcept;

/// A get of contiguous memory at `remote` into contiguous memory.
Copied read_block(pid_t pid, void* local, std::uint64_t remote, std::size_t bytes) noexcept;

/// The same with plain loads and stores, where both are in this process's memory.
void copy_mapped(Direction direction, const Stream& local, const Stream& remote,
                 std::int64_t length) noexcept;

}  // namespace stria::shm
