#include "rndv/announcer.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "rndv/sharing.hpp"
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

Status Announcer::announce(SendOp& op, const Header& header) noexcept {
  using transport::mean_block;
  const std::uint32_t block = mean_block(op.memory);
  const bool sparse = transport::is_sparse(op.memory);
  if (op.state == Operation::State::idle) {
    if (!operations_.name(op)) return Status::no_resource;
    op.state = Operation::State::announce;
    operations_.began(op);
    // A key is worth its registration only where a get could win, or help a pipeline, with the most
    // favourable memory at the receiver.
    // Without a PIO window the announcement has no room for a hint (STRIA_REGISTER_HINT): it must stay within
    // wire::kSmall.
    unsigned access = STRIA_ACCESS_REMOTE_READ;
    if (op.link->can_map && op.link->pio_below != 0) access |= STRIA_REGISTER_HINT;
    op.gathered = false;
    Question best{.length = op.length,
                  .source_block = block,
                  .can_get = op.link->can_get,
                  .force = options_.force,
                  .source_sparse = sparse,
                  .offload = op.link->offload,
                  .distant = op.link->distant && !op.link->offload,
                  .self = op.link->self};
    if (op.link->gathers && block != 0) {
      best.source_gathered = true;
      op.gathered = choose(best).scheme == Scheme::get && give_key(op, access | STRIA_REGISTER_GATHERED);
      best.source_gathered = false;
    }
    const Answer answer = choose(best);
    bool pays = answer.scheme == Scheme::get || can_help(best, answer);
    if (!pays && op.link->can_map) {
      best.can_get = false;
      best.mapped = best.sink_mapped = true;
      best.can_share = can_share(options_, *op.link);
      const Scheme by_loads = choose(best).scheme;
      pays = by_loads == Scheme::mapped || by_loads == Scheme::mapped_both;
      access |= STRIA_REGISTER_MAPPED;
    }
    if (pays && !op.gathered) give_key(op, access);
  }
  struct {
    wire::RtsWords rts;
    std::uint8_t key[STRIA_PROVIDER_KEY_MAX];
  } body;
  body.rts =
      wire::rts_words(op.length, op.id, op.gathered ? 0 : block, static_cast<std::uint8_t>(op.key.bytes()),
                      sparse && !op.gathered, transport::turned_bytes(op.memory) != 0 && !op.gathered);
  op.key.copy_bytes_to(body.key);
  const Status sent =
      op.link->send_control(header, &body, static_cast<std::uint32_t>(sizeof(body.rts) + op.key.bytes()));
  if (sent == Status::ok) {
    op.state = Operation::State::waiting;
    return sent;
  }
  if (sent != Status::no_resource) ends_.abandon(op);
  return sent;
}

std::uint8_t Announcer::await_match(SendOp& op, std::uint16_t sequence) noexcept {
  if (!operations_.name_low(op)) return 0;
  Header header = wire::make_header(wire::Kind::sync, 0);
  header.sequence = sequence;
  header.flags = static_cast<std::uint8_t>(static_cast<std::uint32_t>(op.id) + 1);
  op.peer_op = wire::sync_name(header);
  op.state = Operation::State::waiting;
  operations_.began(op);
  return header.flags;
}

}  // namespace stria::rndv
