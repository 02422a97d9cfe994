// PieceSender: the sender's half of a message that its receiver asks for in pieces (division.hpp). A request
// for a piece is answered with fragments by the link that the request came by, so the sender need not know
// which links its peer uses, or why. Each piece is an object of its own, with its own place in the message,
// its own way of making fragments and its own completion for zero-copy sends. So the death of one link ends
// the pieces of that link and nothing else; the receiver asks for the rest of these pieces again, by another
// link.
//
//   requested ──► sending ──► all sent, or its link died, or its message is over ──► gone
//                                                           once its zero-copy sends have ended
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rndv/operation.hpp"

namespace stria::rndv {

class PieceSender;

/// One piece of a message. It is in a list of PieceSender while there is more of it to send.
struct SendPiece : ListNode, transport::Completion {
  SendPiece() noexcept : transport::Completion{} {}
  PieceSender* sender = nullptr;
  SendOp* op = nullptr;
  SendPiece* next_of_op = nullptr;  ///< the next piece of the operation; of a spare piece: the next spare one
  const transport::LinkRef* link = nullptr;
  transport::Payload memory{};
  wire::OpId peer_op = 0;
  std::uint64_t moved = 0, length = 0;  ///< in the message: the next byte to send, the end of the piece
  std::uint32_t fragment_bytes = 0;     ///< payload of a fragment at most
  std::uint32_t zcopy_sends = 0;        ///< outstanding
  bool packs = false;                   ///< fragments are packed, not sent out of the memory

  bool is_sending() const noexcept { return linked(); }
};

/// Threads: called with the worker's lock held.
class PieceSender {
 public:
  /// Upcalls. Each of them may end the operation, and start others.
  struct Events {
    void* self;
    /// The main link, which the message belongs to, does not send any more.
    void (*failed)(void* self, SendOp& op, Status why) noexcept;
    /// The last piece of the operation is gone, and the operation is `ending`.
    void (*drained)(void* self, SendOp& op) noexcept;
  };
  /// Limit of the pieces of one message that are being sent at a time. A receiver asks each link for two.
  static constexpr unsigned kMaxPieces = 4 * STRIA_DEVICES_MAX;

  explicit PieceSender(const Events& events) noexcept : events_(events) {}
  PieceSender(const PieceSender&) = delete;
  PieceSender& operator=(const PieceSender&) = delete;

  /// Sends bytes [begin, end) of op's message by `link` from now on, in fragments of up to `fragment_bytes`.
  /// ok: also when sending failed at once; on the main link `failed` was called then. invalid: kMaxPieces
  /// pieces are being sent. io_error: no memory.
  [[nodiscard]] Status start(SendOp& op, const transport::LinkRef& link, std::uint64_t begin,
                             std::uint64_t end, std::uint32_t fragment_bytes) noexcept;
  /// The operation is over: sends nothing more of its pieces. Pieces whose memory a provider still reads
  /// remain.
  void stop(SendOp& op) noexcept;
  /// The link is dead: sends nothing more of its pieces. Pieces whose memory a provider still reads remain.
  void fail_link(const transport::LinkRef& link) noexcept;
  /// Drops all pieces of the operation. To be called only after the providers are closed, which call no
  /// completion any more.
  void drop(SendOp& op) noexcept;

  /// Sends the next fragments of each piece. Returns how many pieces moved on.
  unsigned progress() noexcept;
  /// progress() has nothing to do: no piece is being sent.
  bool resting() const noexcept { return sending_.empty(); }

 private:
  bool step(SendPiece& piece) noexcept;
  void stop(SendPiece& piece) noexcept;
  void release(SendPiece& piece) noexcept;
  static void on_zcopy_done(stria_completion_t* completion, stria_status_t status) noexcept;

  Events events_;
  IntrusiveList<SendPiece> sending_;
  IntrusiveList<SendPiece> round_;  // pieces that the current progress() has not come to yet
  std::vector<std::unique_ptr<SendPiece>> all_;
  SendPiece* spare_ = nullptr;  // pieces that no operation uses
};

}  // namespace stria::rndv
