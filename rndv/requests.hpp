// Requests: what a receiver asks of its sender by RTR packets: all fragments of a message at once; or, when
// the message is divided among the links of the peer (dividing.cpp), one piece by each link that is free. The
// sender answers with fragments (fragments.hpp).
#pragma once

#include <cstdint>

#include "rndv/common.hpp"
#include "rndv/divisions.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held.
class Requests {
 public:
  Requests(const Common& common, Divisions& divisions) noexcept
      : options_(common.options),
        operations_(common.operations),
        finisher_(common.finisher),
        owner_(common.owner),
        divisions_(divisions) {}
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  /// Sends the RTR of an undivided receive. It asks for the missing bytes as fragments; with the receiver's
  /// key (mapped by both) it asks the sender to put its part. False: there is no room for the request, and
  /// the operation stays in the active list.
  bool send_rtr(RecvOp& op) noexcept;
  /// Begins to receive the message in pieces. False: the message is too short, the peer has no further link,
  /// or there is no memory.
  [[gnu::cold, gnu::noinline]] bool divide(RecvOp& op) noexcept;
  /// Begins to ask for the missing bytes in pieces, as fragments. The receive is divided, and may have been
  /// read so far.
  [[gnu::cold, gnu::noinline]] void continue_in_pieces(RecvOp& op) noexcept;
  /// Asks for the next piece by each link that is free. While a link has no room for the request, or is not
  /// up yet, and there are bytes to ask for, the operation stays in the active list. True: a request was
  /// sent, or the operation ended.
  bool ask_for_pieces(RecvOp& op) noexcept;

  /// Whether these bytes of a divided receive were asked for by the link that they come by (`rail`; null: the
  /// main link).
  bool expects(const RecvOp& op, const transport::LinkRef* rail, std::uint64_t place,
               std::uint64_t bytes) noexcept {
    return divisions_[op.division].expects(rail != nullptr ? *rail : *op.link, place, bytes);
  }
  /// Notes that these bytes of a divided receive, which are in its memory, came by the link. Ends the
  /// receive, or asks for the next piece, when that is due.
  void note_received(RecvOp& op, const transport::LinkRef& link, std::uint64_t place,
                     std::uint64_t bytes) noexcept;
  /// A rail of the link's peer is dead: the bytes that it was to bring are asked of the other links.
  void fail_rail(const transport::LinkRef& link, const transport::LinkRef& rail) noexcept;

 private:
  void wait_for_fragments(RecvOp& op) noexcept;
  static Status ask_for_piece(const RecvOp& op, const transport::LinkRef& link,
                              const Division::Range& range) noexcept;

  const Options& options_;
  Operations& operations_;
  Finisher& finisher_;
  Owner& owner_;
  Divisions& divisions_;
};

}  // namespace stria::rndv
