#include "transport/uct/operations.hpp"

#include <new>
#include <utility>

#include "transport/uct/link.hpp"

namespace stria::uct {

Operation* Operations::take(Link& link, transport::Completion* completion, int count) noexcept {
  Operation* taken = free_.pop_front();
  if (taken == nullptr) try {
      taken = &all_.emplace_back();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  *taken = {};
  taken->func = ended_by_ucx;
  taken->count = count;
  taken->status = UCS_OK;
  taken->completion = completion;
  taken->link = &link;
  taken->is_under_way = true;
  link.operations.push_back(taken);
  return taken;
}

void Operations::give_back(Operation& operation) noexcept {
  operation.unlink();
  operation.is_under_way = false;
  release(operation);
  free_.push_back(&operation);
}

Piece* Operations::take_piece(Operation& operation) noexcept {
  if (free_pieces_ == nullptr) try {
      free_pieces_ = &all_pieces_.emplace_back();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  Piece* const piece = std::exchange(free_pieces_, free_pieces_->next);
  piece->next = std::exchange(operation.pieces, piece);
  return piece;
}

void Operations::give_back_piece(Operation& operation) noexcept {
  Piece* const piece = std::exchange(operation.pieces, operation.pieces->next);
  piece->next = std::exchange(free_pieces_, piece);
}

/// Releases the registration, the key and the pieces that the operation holds.
void Operations::release(Operation& operation) noexcept {
  Domain& domain = shared_.interface->domain();
  if (operation.memory != nullptr) domain.remove(std::exchange(operation.memory, nullptr));
  if (std::exchange(operation.has_key, false)) domain.release_key(operation.key);
  while (operation.pieces != nullptr) give_back_piece(operation);
}

void Operations::ended_by_ucx(uct_completion_t* self) noexcept {
  auto& operation = *static_cast<Operation*>(self);
  if (!operation.is_under_way) return;
  const Status said = self->status == UCS_OK ? Status::ok : Status::peer_failed;
  operation.link->ended(operation, operation.result == Status::ok ? said : operation.result);
}

void Operations::end(Operation& operation, Status status) noexcept {
  operation.result = status;
  operation.is_under_way = false;
  operation.unlink();
  ended_.push_back(&operation);
  shared_.notify();
}

/// Sends the packet that follows the get, if there is one and the get succeeded. False: there is no room for
/// the packet.
bool Operations::finish(Operation& operation) noexcept {
  if (!operation.finishes || operation.result != Status::ok) return true;
  const Status sent = operation.link->send_closing(operation.finish, nullptr, 0, operation.key_name);
  if (sent == Status::no_resource) return false;
  operation.result = sent;
  return true;
}

bool Operations::report(Operation& operation) noexcept {
  if (!finish(operation)) return false;
  transport::Completion* const completion = operation.completion;
  const Status status = operation.result;
  give_back(operation);
  completion->done(completion, transport::to_c(status));
  return true;
}

unsigned Operations::report(unsigned budget) noexcept {
  unsigned told = 0;
  for (Operation* at = ended_.front(); at != nullptr && told < budget;) {
    Operation& operation = *at;
    at = ended_.next(at);
    if (report(operation)) ++told;
  }
  return told;
}

void Operations::abandon(Link& link) noexcept {
  while (Operation* const operation = link.operations.front()) end(*operation, Status::peer_failed);
  for (Operation* at = ended_.front(); at != nullptr;) {
    Operation& operation = *at;
    at = ended_.next(at);
    if (operation.link != &link) continue;
    if (operation.finishes) operation.result = Status::peer_failed;
    report(operation);
  }
}

void Operations::close() noexcept {
  for (Operation& operation : all_) release(operation);
}

}  // namespace stria::uct
