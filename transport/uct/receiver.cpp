#include "transport/uct/receiver.hpp"

#include <algorithm>
#include <cstring>

namespace stria::uct {

bool Receiver::arrived(Am id, std::span<const std::byte> bytes, bool lasts) noexcept {
  // Control messages are stashed, because they may make endpoints, which is not possible inside a function of
  // UCX. A message that arrives while another is being handled is stashed as well: the handler sends, and UCX
  // may deliver messages from inside a send.
  if (may_handle() && !handling_ && stash_.is_empty() && id != Am::control) return handle(id, bytes, lasts);
  keep(id, bytes);
  return false;
}

void Receiver::keep(Am id, std::span<const std::byte> bytes) noexcept {
  if (std::byte* const to = stash_.append(id, bytes.size())) {
    std::memcpy(to, bytes.data(), bytes.size());
    parts_.shared.notify();
    return;
  }
  std::uint64_t prefix = 0;  // out of memory: the message is lost, so its link has to end
  std::memcpy(&prefix, bytes.data(), std::min(bytes.size(), sizeof prefix));
  if (Link* const link = parts_.links.find(Prefix(prefix)))
    parts_.ends.fail(*link, Status::io_error, "there is no memory for what the peer sends");
}

bool Receiver::handle(Am id, std::span<const std::byte> bytes, bool lasts) noexcept {
  bool kept = false;
  --room_;
  handling_ = true;
  if (id == Am::control)
    parts_.peers.take(bytes);
  else
    kept = deliver(id, bytes, lasts);
  handling_ = false;
  return kept;
}

bool Receiver::deliver(Am id, std::span<const std::byte> bytes, bool lasts) noexcept {
  if (bytes.size() < kOverhead || closed_) return false;
  auto* const message = const_cast<std::byte*>(bytes.data());  // uct_iface_release_desc() wants it not const
  std::uint64_t prefix = 0;
  transport::Header header;
  std::memcpy(&prefix, bytes.data(), sizeof prefix);
  std::memcpy(&header, bytes.data() + sizeof prefix, sizeof header);
  Link* const link = parts_.links.find(Prefix(prefix));
  if (link == nullptr) return false;  // the packet is for a link that has ended, or from a stranger
  bytes = bytes.subspan(kOverhead);
  if (id == Am::closing) {
    ClosedKey closed{};
    if (bytes.size() < sizeof closed) return false;
    std::memcpy(&closed, bytes.data(), sizeof closed);
    bytes = bytes.subspan(sizeof closed);
    parts_.keys.end_by_message(*link, closed.name);
  }
  Kept& all = parts_.shared.kept;
  const std::uint64_t name = lasts ? all.offer(message) : 0;
  const transport::Packet packet{&header, bytes.data(), static_cast<std::uint32_t>(bytes.size()),
                                 id == Am::buffered ? 1u : 0u, name};
  const std::uint32_t answer = parts_.sink.deliver(parts_.sink.self, link->cookie, &packet);
  go_on_ = (answer & STRIA_DELIVERED_GO_ON) != 0;
  const bool kept = (answer & STRIA_DELIVERED_KEPT) != 0;
  if (kept)
    ++link->kept;
  else
    all.withdraw(name);
  return kept;
}

/// Handles the messages that are in the stash now, as far as the budget allows; not those added meanwhile.
void Receiver::handle_all(Stash& stash) noexcept {
  for (std::size_t left = stash.count(); left > 0 && may_handle(); --left) {
    const Stash::Message message = stash.first();
    handle(message.id, message.bytes, false);
    stash.drop_first();
  }
}

unsigned Receiver::ask_ucx() noexcept {
  parts_.shared.inside_ucx = true;
  const unsigned events = parts_.shared.interface->progress();
  parts_.shared.inside_ucx = false;
  is_quiet_ = events == 0;
  return events;
}

bool Receiver::poll_into_stash() noexcept {
  return ask_ucx() > 0;
}

unsigned Receiver::receive(unsigned budget) noexcept {
  // Most calls find nothing. handle_all() is called only where there is something to handle.
  room_ = budget;
  go_on_ = true;
  if (!stash_.is_empty()) handle_all(stash_);
  unsigned events = 0;
  is_quiet_ = false;
  if (stash_.is_empty() && may_handle()) {
    events = ask_ucx();
    if (!stash_.is_empty()) handle_all(stash_);
  }
  if (!parts_.shared.loop.is_empty()) handle_all(parts_.shared.loop);
  const unsigned handled = budget - room_;
  room_ = 0;
  return std::max(handled, std::min(events, budget > 0 ? 1u : 0u));
}

}  // namespace stria::uct
