// How the two sides of a new connection prove that they know the job's secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stria::transport {

/// Proves knowledge of the job secret without revealing it: SipHash-2-4 of the secret under a key made of a
/// nonce and a worker id. (The secret is checked against mistakes and strangers; whoever can read a process's
/// memory needs no secret.)
std::uint64_t fingerprint(std::span<const std::byte> secret, std::uint64_t nonce,
                          std::uint64_t worker_id) noexcept;

}  // namespace stria::transport
