// What a link does to the peer's memory through keys: gets, puts and atomics, at once or in a later step.
#include "transport/atomic_word.hpp"
#include "transport/fake/demands.hpp"
#include "transport/fake/device.hpp"
#include "transport/fake/fabric.hpp"
#include "transport/key.hpp"
#include "transport/services.hpp"

namespace stria::fake {

/// Whether the link has gets, or puts or atomics, through this key: by copies of the system, which may be
/// refused, or in memory that is mapped here.
bool Link::can_move(bool has, const transport::Key& key) const noexcept {
  return maps(key) || (has && !owner_.fabric().copies_refused());
}

bool Link::maps(const transport::Key& key) const noexcept {
  return owner_.fabric().options().maps && transport::is_mapped(key);
}

Status Link::get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  if (!can_move(owner_.fabric().options().get, key)) return Status::unsupported;
  return remote_access({this, false, local, key, offset, completion});
}

Status Link::put(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  if (!can_move(owner_.fabric().options().put, key)) return Status::unsupported;
  return remote_access({this, true, local, key, offset, completion});
}

Status Link::get_finish(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                        const transport::Header& header, transport::Completion* completion) noexcept {
  const FabricOptions& options = owner_.fabric().options();
  if (!options.offload || !options.get || owner_.fabric().copies_refused()) return Status::unsupported;
  demand(header.kind != 0, "get_finish", "a header of kind 0");
  return remote_access({this, false, local, key, offset, completion, 0, header});
}

Status Link::atomic(const transport::Atomic& atomic, const transport::Key& key,
                    transport::Completion* completion) noexcept {
  const FabricOptions& options = owner_.fabric().options();
  if (!options.atomics || !can_move(true, key)) return Status::unsupported;
  demand(transport::is_atomic_op(atomic.op), "atomic", "an unknown operation");
  demand(atomic.result != nullptr, "atomic", "no memory for the result");
  return remote_access({this, false, {}, key, atomic.offset, completion, 0, {}, atomic});
}

void Link::send_finish(const transport::Header& header, const transport::Key& key) noexcept {
  if (twin_ != nullptr) static_cast<void>(twin_->accept({header, plain(nullptr, 0), &key, Path::buffered}));
}

Status Link::remote_access(const Access& access) noexcept {
  const char* call = access.atomic.op != 0 ? "atomic" : access.write ? "put" : "get";
  const Callers::Use use(owner_.callers(), call);
  demand_range(access.local, call);
  demand(access.completion != nullptr && access.completion->done != nullptr, call, "no completion");
  Fabric& fabric = owner_.fabric();
  const std::lock_guard lock(fabric.mutex());
  if (owner_.dead()) return Status::peer_failed;
  check_use(call);
  if (twin_ == nullptr) return Status::peer_failed;
  if (params_.ready_at > owner_.step()) return Status::no_resource;
  if (accesses_ >= fabric.options().accesses) {
    ++fabric.statistics().refused;
    return Status::no_resource;
  }
  const bool finishes = access.finish.kind != 0;
  if (finishes && (fabric.chance(fabric.options().no_resource_percent) ||
                   !twin_->has_room({access.finish, plain(nullptr, 0), nullptr, Path::buffered})))
    return Status::no_resource;
  if (access.atomic.op != 0 && fabric.chance(fabric.options().no_resource_percent)) {
    ++fabric.statistics().refused;
    return Status::no_resource;
  }
  if (fabric.chance(fabric.options().async_percent)) {
    ++fabric.statistics().completed_later;
    Access later = access;
    later.due = owner_.step() + 1 + fabric.random(fabric.options().delay);
    owner_.complete_later(later);
    ++accesses_;
    return Status::in_progress;
  }
  const Status done = perform(access);
  if (done == Status::ok && finishes) send_finish(access.finish, access.key);
  return done;
}

Status Link::perform(const Access& access) noexcept {
  if (twin_ == nullptr) return Status::peer_failed;
  if (maps(access.key)) ++owner_.fabric().statistics().mapped;
  KeyTable& keys = twin_->owner_.keys();
  if (access.atomic.op != 0) {
    const auto at = keys.find(access.key, STRIA_ACCESS_REMOTE_ATOMIC, access.offset, transport::kWordBytes);
    if (!at) return Status::access_error;
    std::uint64_t* word = nullptr;
    if (const Status found = transport::find_word(*at, 0, word); found != Status::ok) return found;
    *access.atomic.result = transport::perform(access.atomic, *word);
    ++owner_.fabric().statistics().atomics;
    return Status::ok;
  }
  Fabric& fabric = owner_.fabric();
  const transport::Payload& local = access.local;
  const unsigned right = access.write ? STRIA_ACCESS_REMOTE_WRITE : STRIA_ACCESS_REMOTE_READ;
  const auto remote = keys.find(access.key, right, access.offset, static_cast<std::uint64_t>(local.length));
  if (!remote) return Status::access_error;
  const bool refused = !maps(access.key) && (fabric.refuses(local) || fabric.refuses(*remote));
  const std::int64_t moved = refused ? local.length / 2 : local.length;
  if (moved > 0)
    access.write ? transport::copy(local, *remote, moved) : transport::copy(*remote, local, moved);
  if (refused) ++fabric.statistics().memory_refused;
  return refused ? Status::unsupported : Status::ok;
}

}  // namespace stria::fake
