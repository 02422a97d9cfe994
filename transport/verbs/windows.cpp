// The life of a key that is a window, or a strided key: chosen, posted with the next packet of its link, and
// ended by this side, by the peer's message, or with the link.
#include "transport/verbs/key_maker.hpp"
#include "transport/verbs/link.hpp"

namespace stria::verbs {

/// The key goes out with the next packet of the link.
Status KeyMaker::hand_out(Link& owner, Window& window, const Blocks& memory, transport::Key& key) noexcept {
  const Status chosen = choose(owner, window);
  if (chosen == Status::ok)
    Keys::fill(window, memory, key);
  else if (!window.posted)
    keys_.free(window);
  return chosen;
}

Status KeyMaker::choose(Link& owner, Window& window) noexcept {
  if (owner.dying) return Status::peer_failed;
  SendQueue& queue = owner.queue();
  // The binds that wait go now, where they may.
  const auto post_binds = [&] {
    if (!owner.ready() || queue.binds_have_to_wait() || !queue.has_room(0)) return Status::no_resource;
    return queue.post(nullptr, nullptr, 0, owner.is_echo());
  };
  if (!queue.can_choose())
    if (const Status posted = post_binds(); posted != Status::ok) return posted;
  queue.choose(window);
  if (!owner.is_echo()) return Status::ok;
  // Packets to ourselves go by the other queue pair: be sure.
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

/// Waits for the adapter: the key is dead on return. A link that dies meanwhile takes its windows with it.
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
