// The sender's half of a message that its receiver asks for in pieces (division.hpp). A request for a piece
// is answered with fragments on the link that the request came by, so the sender need not know which links
// its peer uses, or why. Each piece is an object of its own: it has its own place in the message, its own way
// of making fragments, and its own completion for zero-copy sends, so the death of one link ends the pieces
// of that link and nothing else. The receiver asks for the rest of them again, by another link.
//
//   requested ──► sending ──► all sent ──► gone        once its zero-copy sends have ended
//                    └── its link died, or its message is over ──► gone, likewise
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rndv/operation.hpp"

namespace stria::rndv {

class PieceSender;

/// In a list of the sender while there is more to send.
struct SendPiece : ListNode, transport::Completion {
  SendPiece() noexcept : transport::Completion{} {}
  PieceSender* sender = nullptr;
  SendOp* op = nullptr;
  SendPiece* next_of_op = nullptr;  ///< or of the spare ones
  const transport::LinkRef* link = nullptr;
  transport::Payload memory{};
  wire::OpId peer_op = 0;
  std::uint64_t moved = 0, length = 0;  ///< of the message: what comes next, and where the piece ends
  std::uint32_t fragment_bytes = 0;
  std::uint32_t zcopy_sends = 0;
  bool packs = false;

  bool is_sending() const noexcept { return linked(); }
};

/// Threads: the worker's lock.
class PieceSender {
 public:
  /// What the owner hears. Both may end the operation, and start others.
  struct Events {
    void* self;
    /// The link of the message itself does not send any more.
    void (*failed)(void* self, SendOp& op, Status why) noexcept;
    /// The operation has no pieces left, and is `ending`.
    void (*drained)(void* self, SendOp& op) noexcept;
  };
  /// Pieces of one message that are being sent at a time. A receiver asks each link for two.
  static constexpr unsigned kMost = 4 * STRIA_DEVICES_MAX;

  explicit PieceSender(const Events& events) noexcept : events_(events) {}
  PieceSender(const PieceSender&) = delete;
  PieceSender& operator=(const PieceSender&) = delete;

  /// Sends bytes [begin, end) of op's message by `link` from now on, in fragments of up to `fragment_bytes`.
  /// ok: also when it failed at once, which `failed` has told. invalid: kMost are being sent. io_error: no
  /// memory.
  [[nodiscard]] Status start(SendOp& op, const transport::LinkRef& link, std::uint64_t begin,
                             std::uint64_t end, std::uint32_t fragment_bytes) noexcept;
  /// The operation is over: nothing more of it is sent. Pieces whose memory a provider still reads remain.
  void stop(SendOp& op) noexcept;
  /// The same for all pieces that go by this link, which is dead.
  void fail_link(const transport::LinkRef& link) noexcept;
  /// After the providers are closed, which call no completion any more.
  void drop(SendOp& op) noexcept;

  /// Sends something of each piece. Returns of how many something went.
  unsigned progress() noexcept;
  /// progress() has nothing to do.
  bool resting() const noexcept { return sending_.empty(); }

 private:
  bool step(SendPiece& piece) noexcept;
  void stop(SendPiece& piece) noexcept;
  void release(SendPiece& piece) noexcept;
  static void on_zcopy_done(stria_completion_t* completion, stria_status_t status) noexcept;

  Events events_;
  IntrusiveList<SendPiece> sending_;
  IntrusiveList<SendPiece> round_;  // those that a progress() under way has not come to yet
  std::vector<std::unique_ptr<SendPiece>> all_;
  SendPiece* spare_ = nullptr;
};

}  // namespace stria::rndv
