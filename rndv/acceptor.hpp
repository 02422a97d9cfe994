// Acceptor: how the receive of an announced message begins. It is given the announcement (RTS), plans how the
// bytes are moved (plan.hpp), and has the protocol begin (protocols/), which passes the operation to the part
// that moves the bytes: Reader or RailReader, which read through the sender's key, or Requests, which asks
// the sender for fragments.
#pragma once

#include <cstdint>

#include "rndv/common.hpp"
#include "rndv/rail_reader.hpp"
#include "rndv/requests.hpp"

namespace stria::rndv {

struct ReceivePlan;

/// What a protocol starts a receive with: the parts of the engine, and the steps that protocols have in
/// common.
struct ReceiveStarter {
  Operations& operations;
  KeyPool& keys;
  Finisher& finisher;
  Requests& requests;
  RailReader& rail_reader;
  Owner& owner;

  /// Ends a receive that has no bytes to move.
  void finish_empty(RecvOp& op) const noexcept;
  /// Has progress() read the message from its beginning, through the sender's key.
  void start_reading(RecvOp& op) const noexcept;
  /// Registers the memory of the receive, which has to be memory that the sender maps, behind a key that the
  /// RTR will carry to the sender. False: it is no such memory, or the key does not fit in the RTR; the
  /// receive has no key.
  bool offer_key(RecvOp& op) const noexcept;
  /// Asks the sender to put its part (mapped by both), or to send all bytes as fragments.
  void send_rtr(RecvOp& op) const noexcept;
};

/// Threads: called with the worker's lock held.
class Acceptor {
 public:
  Acceptor(const Options& options, const ReceiveStarter& starter) noexcept
      : options_(options), starter_(starter) {}
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Starts to receive the announced message into op.memory. May end the operation before it returns.
  void accept(RecvOp& op, const Announcement& announcement) noexcept;

 private:
  bool begin(RecvOp& op, const ReceivePlan& plan) const noexcept;

  const Options& options_;
  const ReceiveStarter starter_;
};

}  // namespace stria::rndv
