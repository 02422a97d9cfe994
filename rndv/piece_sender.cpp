#include "rndv/piece_sender.hpp"

#include <new>
#include <utility>

#include "base/log.hpp"
#include "rndv/fragmenting.hpp"

namespace stria::rndv {

using transport::LinkRef;

Status PieceSender::start(SendOp& op, const LinkRef& link, std::uint64_t begin, std::uint64_t end,
                          std::uint32_t fragment_bytes) noexcept try {
  unsigned sending = 0;
  for (const SendPiece* one = op.pieces; one != nullptr; one = one->next_of_op)
    sending += one->is_sending() ? 1 : 0;
  if (sending == kMaxPieces) return Status::invalid;
  if (spare_ == nullptr) spare_ = all_.emplace_back(std::make_unique<SendPiece>()).get();
  SendPiece& piece = *std::exchange(spare_, spare_->next_of_op);
  piece.done = &PieceSender::on_zcopy_done;
  piece.sender = this;
  piece.op = &op;
  piece.next_of_op = std::exchange(op.pieces, &piece);
  piece.link = &link;
  piece.memory = op.memory;
  piece.peer_op = op.peer_op;
  piece.moved = begin;
  piece.length = end;
  choose_packing(piece, fragment_bytes);
  sending_.push_back(&piece);
  step(piece);
  return Status::ok;
} catch (const std::bad_alloc&) {
  return Status::io_error;
}

/// Sends the next fragments of the piece. True when at least one went, or the piece is over because its link
/// is dead.
bool PieceSender::step(SendPiece& piece) noexcept {
  bool any = false;
  const Status sent = send_fragments(piece, any);
  if (sent != Status::ok && sent != Status::no_resource) {
    SendOp& op = *piece.op;
    const bool is_main = piece.link == op.link;
    log::debug("a piece of a message of {} bytes is not sent to its end: its link is dead", op.length);
    stop(piece);
    if (is_main) events_.failed(events_.self, op, sent);
    return true;
  }
  if (piece.moved == piece.length) stop(piece);
  return any;
}

unsigned PieceSender::progress() noexcept {
  unsigned moved = 0;
  // When a piece ends its operation, the owner may start others; their pieces wait for the next round.
  while (SendPiece* piece = sending_.pop_front()) round_.push_back(piece);
  while (SendPiece* piece = round_.pop_front()) {
    sending_.push_back(piece);
    moved += step(*piece) ? 1 : 0;
  }
  return moved;
}

/// Sends nothing more of the piece. It remains while a provider still reads its memory.
void PieceSender::stop(SendPiece& piece) noexcept {
  if (piece.is_sending()) piece.unlink();
  if (piece.zcopy_sends == 0) release(piece);
}

void PieceSender::stop(SendOp& op) noexcept {
  for (SendPiece* next = op.pieces; next != nullptr;) {
    SendPiece& piece = *next;
    next = piece.next_of_op;
    stop(piece);
  }
}

void PieceSender::fail_link(const LinkRef& link) noexcept {
  for (auto* list : {&sending_, &round_}) {
    for (SendPiece* next = list->front(); next != nullptr;) {
      SendPiece& piece = *next;
      next = list->next(next);
      if (piece.link == &link) stop(piece);
    }
  }
}

void PieceSender::drop(SendOp& op) noexcept {
  while (SendPiece* piece = op.pieces) {
    if (piece->is_sending()) piece->unlink();
    piece->zcopy_sends = 0;
    release(*piece);
  }
}

/// Removes the piece from its operation, and makes it a spare one.
void PieceSender::release(SendPiece& piece) noexcept {
  SendPiece** at = &piece.op->pieces;
  while (*at != &piece) at = &(*at)->next_of_op;
  *at = piece.next_of_op;
  piece.op = nullptr;
  piece.next_of_op = std::exchange(spare_, &piece);
}

/// The completion of a zero-copy send. A failure means that the link is dead, and its link_down follows: if
/// that is the main link, it ends the operation; if it is a rail, the receiver asks for the bytes again. So
/// the status changes nothing here.
void PieceSender::on_zcopy_done(stria_completion_t* completion, stria_status_t) noexcept {
  auto& piece = static_cast<SendPiece&>(*completion);
  --piece.zcopy_sends;
  if (piece.zcopy_sends != 0 || piece.is_sending()) return;
  SendOp& op = *piece.op;
  PieceSender& sender = *piece.sender;
  sender.release(piece);
  if (op.ending && op.pieces == nullptr && op.zcopy_sends == 0)
    sender.events_.drained(sender.events_.self, op);
}

}  // namespace stria::rndv
