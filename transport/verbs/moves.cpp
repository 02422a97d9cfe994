#include "transport/verbs/moves.hpp"

#include <new>

#include "transport/verbs/link.hpp"

namespace stria::verbs {
namespace {

Status status_of(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS:
      return Status::ok;
    case IBV_WC_REM_ACCESS_ERR:
      return Status::access_error;
    default:
      return Status::peer_failed;
  }
}

}  // namespace

Move* Moves::take() noexcept try {
  constexpr std::size_t kBlock = 32;
  if (free_.empty()) {
    blocks_.push_back(std::make_unique<Move[]>(kBlock));
    for (std::size_t i = 0; i < kBlock; ++i) free_.push_back(&blocks_.back()[i]);
  }
  return free_.pop_front();
} catch (const std::bad_alloc&) {
  return nullptr;
}

void Moves::piece_done(Move& move, ibv_wc_status status) noexcept {
  --under_way_;
  --move.under_way;
  if (status != IBV_WC_SUCCESS && (move.status == Status::ok || move.status == Status::peer_failed))
    move.status = status_of(status);
  if (move.under_way > 0) return;
  if (move.local.length > 0)
    resume(move);
  else
    end(move);
}

/// Posts more of a move of which nothing is under way. Ends it when its link is dying or it has failed;
/// stalls it when there is no room.
void Moves::resume(Move& move) noexcept {
  if (!move.link->dying && move.status == Status::ok) {
    const Status answer = advance(move, nullptr);
    if (answer == Status::no_resource) {
      stalled_.push_back(&move);
      return;
    }
    if (answer == Status::ok) advance_further(move);
  }
  if (move.under_way == 0) end(move);
}

void Moves::resume_stalled() noexcept {
  IntrusiveList<Move> again;  // a move that still finds no room goes back to stalled_
  while (Move* move = stalled_.pop_front()) again.push_back(move);
  while (Move* move = again.pop_front()) resume(*move);
}

void Moves::drop_stalled() noexcept {
  while (Move* move = stalled_.pop_front()) resume(*move);
}

bool Moves::is_stalled(const Link& link) noexcept {
  for (Move* move = stalled_.front(); move != nullptr; move = stalled_.next(move))
    if (move->link == &link) return true;
  return false;
}

/// All pieces of the move have ended: releases its memory; deliver_ended() will call its completion.
void Moves::end(Move& move) noexcept {
  if (move.local.length > 0 && move.status == Status::ok) move.status = Status::peer_failed;
  if (move.result != nullptr)
    end_atomic(move);
  else
    shared_.regions.release(move.region);
  ended_.push_back(&move);
}

unsigned Moves::deliver_ended(unsigned budget) noexcept {
  unsigned handled = 0;
  for (; !ended_.empty() && handled < budget; ++handled) {
    Move* const move = ended_.pop_front();
    transport::Completion* const completion = move->completion;
    const Status status = move->status;
    give(*move);
    completion->done(completion, transport::to_c(status));
  }
  return handled;
}

}  // namespace stria::verbs
