#include "rndv/announcer.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "rndv/plan.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::Header;

/// Makes a key to the memory of the send, which its RTS will carry. False: the send has no key, because the
/// provider makes none, the key does not fit the link's packets, or there is no memory to store it.
bool Announcer::give_key(SendOp& op, unsigned access) noexcept {
  transport::Key key;
  if (op.link->fast_register(op.memory, access, key) != Status::ok) return false;
  const std::uint32_t most = std::max(op.link->pio_below, op.link->eager_max + 1) - 1;
  if (sizeof(wire::RtsBody) + key.bytes <= most && op.key.set(keys_, key)) return true;
  log::debug("a key of {} bytes is not announced: packets of the link have up to {}", key.bytes, most);
  static_cast<void>(op.link->invalidate(key));
  return false;
}

/// Makes the key that the RTS of the send will carry, if one is worth it.
void Announcer::make_key(SendOp& op, const Blocks& blocks) noexcept {
  const KeyPlan plan = plan_key(op.length, blocks, *op.link, options_);
  // Without a PIO window the announcement has no room for a hint (STRIA_REGISTER_HINT): it must stay within
  // wire::kSmall.
  unsigned access = STRIA_ACCESS_REMOTE_READ;
  if (op.link->can_map && op.link->pio_below != 0) access |= STRIA_REGISTER_HINT;
  op.gathered = plan.gathered && give_key(op, access | STRIA_REGISTER_GATHERED);
  if (op.gathered || plan.plain == KeyPlan::Key::none) return;
  if (plan.plain == KeyPlan::Key::mapped) access |= STRIA_REGISTER_MAPPED;
  give_key(op, access);
}

Status Announcer::announce(SendOp& op, const Header& header) noexcept {
  const Blocks blocks = blocks_in(op.memory);
  if (op.state == Operation::State::idle) {
    if (!operations_.give_name(op)) return Status::no_resource;
    op.state = Operation::State::announce;
    operations_.began(op);
    make_key(op, blocks);
  }
  struct {
    wire::RtsWords rts;
    std::uint8_t key[STRIA_PROVIDER_KEY_MAX];
  } body;
  const Blocks said = op.gathered ? Blocks{} : blocks;
  body.rts = wire::rts_words(op.length, op.id, said.mean_bytes, static_cast<std::uint8_t>(op.key.bytes()),
                             said.sparse, said.turned);
  op.key.copy_bytes_to(body.key);
  const Status sent =
      op.link->send_control(header, &body, static_cast<std::uint32_t>(sizeof(body.rts) + op.key.bytes()));
  if (sent == Status::ok) {
    op.state = Operation::State::waiting;
    return sent;
  }
  if (sent != Status::no_resource) finisher_.abandon(op);
  return sent;
}

std::uint8_t Announcer::await_match(SendOp& op, std::uint16_t sequence) noexcept {
  if (!operations_.give_low_name(op)) return 0;
  Header header = wire::make_header(wire::Kind::sync, 0);
  header.sequence = sequence;
  header.flags = static_cast<std::uint8_t>(static_cast<std::uint32_t>(op.id) + 1);
  op.peer_op = wire::sync_name(header);
  op.state = Operation::State::waiting;
  operations_.began(op);
  return header.flags;
}

}  // namespace stria::rndv
