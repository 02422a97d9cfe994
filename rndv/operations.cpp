#include "rndv/operations.hpp"

#include "base/log.hpp"

namespace stria::rndv {

using transport::LinkRef;

bool Operations::give_name(Operation& op) noexcept {
  if (op.id != 0) return true;
  try {
    op.id = table_.insert(&op);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool Operations::give_low_name(Operation& op) noexcept {
  try {
    op.id = table_.insert_low(&op);
    return op.id != 0;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Operation* Operations::find(wire::OpId id, Operation::Kind kind, const LinkRef& link) const noexcept {
  Operation* op = table_.find(id);
  if (op == nullptr || op->kind != kind || op->link != &link) {
    log::debug("a packet names operation {:#x}, which is not under way on its link; dropped", id);
    return nullptr;
  }
  return op;
}

Operation* Operations::ended_by(const transport::Header& fin) const noexcept {
  const auto name = static_cast<wire::SyncName>(fin.tag);
  if (name != fin.tag) return table_.find(fin.tag);
  Operation* op = table_.at(wire::sync_slot(name));
  return op != nullptr && op->peer_op == name ? op : nullptr;
}

Operation* Operations::first_of_lists() noexcept {
  for (auto* list : {&active_, &helpers_, &held_})
    if (Operation* op = list->front()) return op;
  return nullptr;
}

bool Operations::region_busy(std::uint64_t region) noexcept {
  bool busy = false;
  table_.for_each([&](const Operation& op) { busy = busy || (op.remote_half && op.region == region); });
  for (auto* list : {&active_, &round_, &held_})
    for (Operation* op = list->front(); op != nullptr; op = list->next(op))
      busy = busy || (op->remote_half && op->region == region);
  return busy;
}

}  // namespace stria::rndv
