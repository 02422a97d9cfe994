// Acceptor: how the receive of an announced message begins. It is given the announcement (RTS), plans how the
// bytes are moved (plan.hpp), and passes the operation to the part that moves the bytes: Reader or
// RailReader, which read through the sender's key, or Requests, which asks the sender for fragments.
#pragma once

#include <cstdint>

#include "rndv/ends.hpp"
#include "rndv/operations.hpp"
#include "rndv/options.hpp"
#include "rndv/owner.hpp"
#include "rndv/rail_reader.hpp"
#include "rndv/requests.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held.
class Acceptor {
 public:
  Acceptor(const Options& options, Operations& operations, KeyPool& keys, Ends& ends, Requests& requests,
           RailReader& rail_reader, Owner& owner) noexcept
      : options_(options),
        operations_(operations),
        keys_(keys),
        ends_(ends),
        requests_(requests),
        rail_reader_(rail_reader),
        owner_(owner) {}
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Starts to receive the announced message into op.memory. May end the operation before it returns.
  void accept(RecvOp& op, const Announcement& announcement) noexcept;

 private:
  bool offer_key(RecvOp& op) noexcept;

  const Options& options_;
  Operations& operations_;
  KeyPool& keys_;
  Ends& ends_;
  Requests& requests_;
  RailReader& rail_reader_;
  Owner& owner_;
};

}  // namespace stria::rndv
