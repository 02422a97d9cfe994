#include "transport/shm/own_segment.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "base/log.hpp"
#include "transport/shm/wakeup.hpp"
#include "transport/wire.hpp"

namespace stria::shm {

OwnSegment::~OwnSegment() {
  if (is_made()) close();
  door_.shut();
  unregister_device(identity_.nonce);
}

Result<void> OwnSegment::make(const transport::DeviceParams& params, const Settings& settings) {
  const auto* secret = static_cast<const std::byte*>(params.job_secret);
  if (secret != nullptr) secret_.assign(secret, secret + params.job_secret_bytes);
  const Shape& shape = settings.shape;
  const std::size_t bytes = plan(shape).bytes;
  auto made = create_segment("stria", bytes);
  if (!made) return std::move(made).error();
  memory_ = *std::move(made);
  view_ = SegmentView(memory_.map.data(), shape);

  identity_ = {.nonce = random_word(),
               .worker_id = params.worker_id,
               .segment_bytes = bytes,
               .pid = static_cast<std::uint32_t>(::getpid()),
               .fd = memory_.fd.get(),
               .host = host_number(),
               .pid_space = namespace_number(kPidNamespace)};
  probe_.nonce = random_word();

  const bool barrier = register_barrier();
  auto* header = new (memory_.map.data()) SegmentHeader{};
  header->magic = kMagic;
  header->layout_version = kLayoutVersion;
  header->wire_version = wire::kVersion;
  header->library_version = library_version();
  header->nonce = identity_.nonce;
  header->worker_id = identity_.worker_id;
  header->fingerprint = proof_for(identity_.nonce, identity_.worker_id);
  header->segment_bytes = bytes;
  header->fences = barrier ? 0 : 1;
  header->shape = shape;
  header->probe_address = reinterpret_cast<std::uint64_t>(&probe_);
  header->probe_nonce = probe_.nonce;
  publish_cache();
  return {};
}

Result<void> OwnSegment::admit_peers(AttachMode mode) {
  SegmentHeader& header = view_.header();
  header.state.store(static_cast<std::uint32_t>(DeviceState::open), std::memory_order_release);
  if (auto door = door_.open(identity_.nonce, memory_.fd.get(), header.fingerprint); !door) {
    if (mode == AttachMode::socket) return std::move(door).error();
    log::info("{}", door.error().context);
  }
  identity_.door_space = door_.space();
  register_device(identity_.nonce, memory_.fd.get());
  return {};
}

/// Whether no process has the id `pid`. False when `pid` belongs to another PID namespace than this process:
/// such a process cannot be asked for from here.
bool OwnSegment::is_process_gone(std::uint32_t pid, std::uint32_t pid_space) const noexcept {
  const auto id = static_cast<pid_t>(pid);
  const bool is_ours = pid_space != 0 && pid_space == identity_.pid_space;
  return is_ours && id > 0 && ::kill(id, 0) != 0 && errno == ESRCH;
}

bool OwnSegment::is_gone(std::uint32_t slot) const noexcept {
  const PeerSlot& peer = view_.peer(slot);
  const std::uint64_t state = peer.state.load(std::memory_order_acquire);
  if (is_process_gone(slot_pid(state), slot_pid_space(state))) return true;
  // While the peer is claiming the slot, the identity is still that of the slot's previous peer.
  return slot_phase(state) != SlotPhase::claiming &&
         is_door_gone(peer.identity.nonce, peer.identity.door_space);
}

bool OwnSegment::is_gone(const Identity& identity) const noexcept {
  if (identity.host == 0 || identity.host != identity_.host) return false;
  return is_process_gone(identity.pid, identity.pid_space) ||
         is_door_gone(identity.nonce, identity.door_space);
}

}  // namespace stria::shm
