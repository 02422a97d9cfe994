// Announcer: how a send begins. It gives the operation a name, makes a key to its memory where one is worth
// it (plan.hpp), and sends the announcement (RTS). From then on the receiver decides: it reads through the
// key, or asks for fragments (streamer.hpp).
#pragma once

#include <cstdint>

#include "rndv/finisher.hpp"
#include "rndv/operations.hpp"
#include "rndv/options.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held.
class Announcer {
 public:
  Announcer(const Options& options, Operations& operations, KeyPool& keys, Finisher& finisher) noexcept
      : options_(options), operations_(operations), keys_(keys), finisher_(finisher) {}
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  /// Sends the RTS for op. ok: announced. no_resource: no room; call again. Anything else: the operation did
  /// not start.
  Status announce(SendOp& op, const transport::Header& header) noexcept;
  /// Prepares the send of a synchronous message that goes eagerly, with this `sequence`: gives the operation
  /// a name that the receiver's FIN will carry, and makes it wait for that FIN. Returns the flags for the
  /// message's header; 0: no name is left, or no memory.
  std::uint8_t await_match(SendOp& op, std::uint16_t sequence) noexcept;

 private:
  bool give_key(SendOp& op, unsigned access) noexcept;
  void make_key(SendOp& op, const Blocks& blocks) noexcept;

  const Options& options_;
  Operations& operations_;
  KeyPool& keys_;
  Finisher& finisher_;
};

}  // namespace stria::rndv
