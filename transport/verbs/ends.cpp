#include "transport/verbs/ends.hpp"

#include <algorithm>
#include <memory>

#include "base/format.hpp"
#include "transport/verbs/clock.hpp"
#include "transport/verbs/connector.hpp"
#include "transport/verbs/key_maker.hpp"
#include "transport/verbs/links.hpp"
#include "transport/verbs/moves.hpp"
#include "transport/verbs/receiver.hpp"

namespace stria::verbs {

void Ends::fail(Link& link, Status why, const std::string& text) noexcept {
  if (link.dying) return;
  link.dying = true;
  link.why = why == Status::access_error ? Status::peer_failed : why;
  link.dying_since_ms = now_ms();
  dying_.push_back(&link);
  if (!text.empty())
    parts_.shared.services->log(
        3, fmt::format("verbs: the link to worker {:#x} is broken: {}", link.worker(), text).c_str());
  if (!link.broken) parts_.connector.disconnect(*link.connection());
  // The other end of a connection to ourselves ends, too. If it has no connection yet, the connector's news
  // will say what becomes of it.
  if (Link* const other = link.other_end(); other != nullptr && other->is_attached()) fail(*other, why, "");
}

void Ends::fail_unconnected(Link& link, Status why) noexcept {
  link.dying = link.broken = true;  // nothing was posted, so there is nothing to flush
  link.why = why;
  dying_.push_back(&link);
  if (Link* const other = link.other_end()) fail(*other, Status::peer_failed, "");
}

void Ends::revive(Link& link) noexcept {
  std::erase(dying_, &link);
  link.dying = link.broken = false;
  link.why = Status::ok;
}

void Ends::broke(Link& link) noexcept {
  link.broken = true;
  fail(link, Status::peer_failed, "");
}

unsigned Ends::bury(unsigned budget) noexcept {
  unsigned handled = 0;
  if (!parts_.receiver.is_drained()) return 0;
  for (std::size_t i = 0; i < dying_.size() && handled < budget;) {
    Link& link = *dying_[i];
    if (!may_go(link)) {
      ++i;
      continue;
    }
    dying_.erase(dying_.begin() + static_cast<std::ptrdiff_t>(i));
    handled += take_down(link);
  }
  return std::min(handled, budget);
}

/// Whether a dying link can be taken down now.
bool Ends::may_go(Link& link) noexcept {
  // A queue pair in error is flushed at once, but siw does not report every request as flushed. So the wait
  // ends after kFlushMs, or after kFlushMovesMs while gets or puts are under way, because the adapter may
  // then still use memory of the application.
  constexpr std::uint64_t kFlushMs = 20, kFlushMovesMs = 2000;
  SendQueue& queue = link.queue();
  if (link.broken) queue.flush();
  const bool late = now_ms() - link.dying_since_ms > (queue.has_moves() ? kFlushMovesMs : kFlushMs);
  // Packets of a connection to ourselves arrive at the echo, and are delivered with this link's cookie: this
  // link waits until the echo is gone.
  const bool has_to_wait = !link.is_echo() && link.other_end() != nullptr;
  return link.broken && (queue.is_idle() || late) && !parts_.shared.moves->is_stalled(link) && !has_to_wait;
}

/// Ends all that is under way on the link, removes it, and calls link_down. Returns the events handled.
unsigned Ends::take_down(Link& link) noexcept {
  unsigned handled = 1;
  link.queue().abandon();
  parts_.keys.end_all_of(link);
  while (parts_.shared.moves->has_ended())  // their completions come before link_down
    handled += parts_.shared.moves->deliver_ended(1);
  parts_.receiver.forget(link);
  const std::unique_ptr<Link> gone = parts_.links.remove(link);
  if (link.is_attached()) parts_.connector.dispose(*link.connection());
  if (link.announced) parts_.sink.link_down(parts_.sink.self, link.cookie, transport::to_c(link.why));
  return handled;
}

}  // namespace stria::verbs
