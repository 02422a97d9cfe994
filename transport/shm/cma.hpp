// Cross-memory attach: process_vm_readv and process_vm_writev between two processes. Whether it works is
// found out by trying it (probe_cma()): seccomp, user namespaces and ptrace rules may forbid it, and in
// another PID namespace the process id may name another process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "datatype/layout.hpp"

namespace stria::shm {

/// Words by which a peer tries cross-memory attach. They lie in the private memory of each device; the
/// header of its segment has their address.
struct CmaProbe {
  std::uint64_t nonce = 0;    // a peer must read this value
  std::uint64_t scratch = 0;  // a peer writes here; the value is never read
};

/// Tries to read and write the CmaProbe at `address` of process `pid`, which must hold `nonce`. Returns an
/// empty text if both work, and otherwise the reason for a log.
std::string probe_cma(pid_t pid, std::uint64_t address, std::uint64_t nonce);

/// A byte range of the packed stream of `count` instances of a layout at address `base`; null layout:
/// contiguous memory.
struct Stream {
  const datatype::Layout* layout = nullptr;
  std::uint64_t base = 0;
  std::int64_t count = 0;
  std::int64_t offset = 0;  ///< where the range begins in the packed stream, in bytes

  /// Address of the first byte of the range of contiguous memory; without a meaning where there is a layout.
  std::uint64_t begin() const noexcept { return base + static_cast<std::uint64_t>(offset); }
};

/// Mean length of a run of the stream's memory, in bytes; INT64_MAX for contiguous memory.
std::int64_t mean_run(const Stream& stream) noexcept;

enum class Direction : std::uint8_t { get, put };

/// A copy between memory of this process and memory of a peer.
struct Copy {
  Direction direction;
  Stream local, remote;
  std::int64_t length;  ///< bytes of each of both streams
};

/// How a copy by cross-memory attach ended. Where it is not `all`, the bytes that were moved before it ended
/// are right, and the others are as they were.
enum class Copied : std::uint8_t {
  all,
  /// EFAULT: the kernel does not reach a page for another process, although its owner may use the page
  /// (memfd_secret, the mapping of a driver), or the page is not mapped at all. ENOMEM: the kernel has no
  /// memory for this call. Also when nothing was moved, or a layout ends before Copy::length. Other memory of
  /// the same process may be copied as before.
  memory_refused,
  system_refused,  ///< any other error: cross-memory attach is over for this pair of processes
  peer_gone,       ///< there is no such process
};

/// Copies by cross-memory attach; the remote memory is that of process `pid`. `bounce` is scratch memory,
/// used when the local memory is in very small pieces; empty: never.
Copied copy_cma(const Copy& copy, pid_t pid, std::span<std::byte> bounce) noexcept;

/// Copies contiguous memory by cross-memory attach; `remote` is an address in process `pid`.
Copied copy_block(Direction direction, pid_t pid, std::byte* local, std::uint64_t remote,
                  std::size_t bytes) noexcept;

/// Copies by plain loads and stores: both streams lie in the address space of this process.
void copy_mapped(const Copy& copy) noexcept;

}  // namespace stria::shm
