// Requests: what a receiver asks of its sender by RTR packets: all fragments of a message at once, or, when
// the message is divided among the links of the peer (dividing.cpp), a piece of each link that is free. The
// sender answers with fragments (fragments.hpp).
#pragma once

#include <cstdint>

#include "rndv/divisions.hpp"
#include "rndv/ends.hpp"
#include "rndv/operations.hpp"
#include "rndv/options.hpp"
#include "rndv/owner.hpp"

namespace stria::rndv {

/// Threads: the worker's lock.
class Requests {
 public:
  Requests(const Options& options, Operations& operations, Divisions& divisions, Ends& ends,
           Owner& owner) noexcept
      : options_(options), operations_(operations), divisions_(divisions), ends_(ends), owner_(owner) {}
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  /// Asks for what is not there, as fragments; with the receiver's key, for the sender's part. False: there
  /// is no room for the request, and the operation stays in the active list.
  bool ask(RecvOp& op) noexcept;
  /// Begins to receive the message in pieces. False: it is too short, or the peer has no further link.
  [[gnu::cold, gnu::noinline]] bool divide(RecvOp& op) noexcept;
  /// The receive is divided, and was read so far: what is not there comes in pieces as fragments.
  [[gnu::cold, gnu::noinline]] void go_on_in_pieces(RecvOp& op) noexcept;
  /// Asks each link that is free for its next piece. While one has no room for the request, or is not up yet,
  /// and there is something to ask for, the operation stays in the active list.
  bool ask_for_pieces(RecvOp& op) noexcept;

  /// Whether bytes that come by the rail (null: the main link) were asked of it. Of a receive that is
  /// divided.
  bool expects(const RecvOp& op, const transport::LinkRef* rail, std::uint64_t place,
               std::uint64_t bytes) noexcept {
    return divisions_[op.division].expects(rail != nullptr ? *rail : *op.link, place, bytes);
  }
  /// These bytes came by the link, and are there. Of a receive that is divided.
  void piece_came(RecvOp& op, const transport::LinkRef& link, std::uint64_t place,
                  std::uint64_t bytes) noexcept;
  /// A rail of the link's peer is dead: what it was to bring is asked of the other links.
  void fail_rail(const transport::LinkRef& link, const transport::LinkRef& rail) noexcept;

 private:
  void wait_for_fragments(RecvOp& op) noexcept;
  static Status ask_for_piece(const RecvOp& op, const transport::LinkRef& link,
                              const Division::Range& range) noexcept;

  const Options& options_;
  Operations& operations_;
  Divisions& divisions_;
  Ends& ends_;
  Owner& owner_;
};

}  // namespace stria::rndv
