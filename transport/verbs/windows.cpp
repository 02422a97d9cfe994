// The life of a key that is a memory window or a strided key: it is chosen, its bind is posted with the next
// packet of its link, and it is ended by this side, by the peer's message, or with the link. (Below, a
// strided key is a window, too, and the request that fills it is its bind.)
#include "transport/verbs/key_maker.hpp"
#include "transport/verbs/link.hpp"

namespace stria::verbs {

/// Chooses a window, so that its bind is posted with the next packet of the link, and writes the key's bytes.
/// If it cannot be chosen, frees it.
Status KeyMaker::hand_out(Link& owner, Window& window, const Blocks& memory, transport::Key& key) noexcept {
  const Status chosen = choose(owner, window);
  if (chosen == Status::ok)
    Keys::fill(window, memory, key);
  else if (!window.posted)
    keys_.free(window);
  return chosen;
}

/// Has the bind of a window posted with the next packet of the link; no_resource: it cannot wait there now.
Status KeyMaker::choose(Link& owner, Window& window) noexcept {
  if (owner.dying) return Status::peer_failed;
  SendQueue& queue = owner.queue();
  // Posts the binds that wait, if they may go now.
  const auto post_binds = [&] {
    if (!owner.ready() || queue.binds_have_to_wait() || !queue.has_room(0)) return Status::no_resource;
    return queue.post(nullptr, nullptr, 0, owner.is_echo());
  };
  if (!queue.can_choose())
    if (const Status posted = post_binds(); posted != Status::ok) return posted;
  queue.choose(window);
  if (!owner.is_echo()) return Status::ok;
  // Packets to ourselves are sent by the other end's queue pair and could overtake this bind, so it is posted
  // and awaited here.
  const Status posted = post_binds();
  if (posted == Status::no_resource) {
    queue.withdraw(window);
    window.unlink();
    return posted;
  }
  if (posted == Status::ok) queue.await_posted();
  return owner.dying ? Status::peer_failed : posted;
}

Status KeyMaker::invalidate(const transport::Key& key) noexcept {
  KeyContent data;
  if (!read_key(key, data)) return Status::access_error;
  if (data.kind == KeyKind::region) return keys_.remove_region(data);
  Window* const window = keys_.find(data.rkey);
  if (window == nullptr || (window->strided != nullptr) != (data.kind == KeyKind::strided))
    return Status::access_error;
  const bool from_zero =
      window->strided == nullptr && is_from_zero(window->rights, shared_.adapter->traits.zero_based);
  if (data.span.begin != (from_zero ? 0 : window->span.begin) || window->span.bytes != data.span.bytes)
    return Status::access_error;
  Link& link = *window->link;
  if (!window->posted) {
    link.queue().withdraw(*window);
    keys_.free(*window);
    return Status::ok;
  }
  ++shared_.counters.closed_here;
  if (end_window(link, *window) == Status::ok)
    keys_.free(*window);
  else
    keys_.destroy(*window);
  return Status::ok;
}

/// Invalidates a window by a work request, and waits for the adapter: the key is unusable on return.
/// peer_failed: the link died meanwhile, and the caller has to destroy the window.
Status KeyMaker::end_window(Link& owner, Window& window) noexcept {
  SendQueue& queue = owner.queue();
  queue.await_room();
  if (owner.dying) return Status::peer_failed;
  ibv_send_wr request{};
  request.opcode = IBV_WR_LOCAL_INV;
  request.invalidate_rkey = window.rkey;
  const Entry entry{};
  const Status posted = queue.post(&request, &entry, 1, true);
  if (posted == Status::ok) queue.await_posted();
  return owner.dying ? Status::peer_failed : posted;
}

bool KeyMaker::end_by_message(const Link& link, std::uint32_t rkey) noexcept {
  Window* const window = keys_.find(rkey);
  if (window == nullptr || !window->posted || window->link != &link) return false;
  keys_.free(*window);
  return true;
}

void KeyMaker::end_all_of(Link& link) noexcept {
  while (Window* window = link.queue().windows().front()) {
    link.queue().withdraw(*window);
    if (window->posted)
      keys_.destroy(*window);
    else
      keys_.free(*window);
  }
}

}  // namespace stria::verbs
