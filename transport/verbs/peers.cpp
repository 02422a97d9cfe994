#include "transport/verbs/peers.hpp"

#include <new>

#include "base/format.hpp"
#include "transport/verbs/connector.hpp"
#include "transport/verbs/ends.hpp"
#include "transport/verbs/links.hpp"

namespace stria::verbs {

Result<Link*> Peers::connect(const Address& address, void* cookie) {
  if (Link* const known = parts_.links.to_worker(address.worker)) {
    if (known->dying) return Error{Status::unreachable, "verbs: the peer's earlier link is being ended"};
    known->cookie = cookie;
    known->announced = true;
    return known;
  }
  if (parts_.links.is_full())
    return Error{Status::no_resource, fmt::format("verbs: all {} links are in use (STRIA_VERBS_LINKS)",
                                                  parts_.shared.adapter->max_links)};
  Link& link = parts_.links.add(parts_.shared, address.worker);
  link.cookie = cookie;
  link.announced = true;
  try {
    parts_.connector.connect(address);
  } catch (const std::bad_alloc&) {
    parts_.links.remove(link);
    throw;
  }
  return &link;
}

bool Peers::has_news() const noexcept {
  return next_ < news_.size() || parts_.connector.has_news();
}

unsigned Peers::take_news(unsigned budget) noexcept {
  unsigned handled = 0;
  if (next_ == news_.size()) {
    news_.clear();
    next_ = 0;
    if (!parts_.connector.take_news(news_)) return 0;
  }
  for (; next_ < news_.size() && handled < budget; ++handled) take(news_[next_++]);
  return handled;
}

/// Handles one piece of news.
void Peers::take(const News& news) noexcept {
  switch (news.what) {
    case News::What::up:
      take_up(*news.connection);
      break;
    case News::What::broken:
      if (Link* const link = news.connection->link)
        parts_.shared.ends->broke(*link);
      else  // take_up() had no use for the connection
        parts_.connector.dispose(*news.connection);
      break;
    case News::What::failed:
      take_failed(news.worker, news.error);
      break;
  }
}

/// Gives a connection to the link to that worker which waits for one, or to a new link. A connection that is
/// of no use is disconnected here, and disposed of at the news that it is broken, which may be given already.
void Peers::take_up(Connection& connection) noexcept {
  const transport::Sink& sink = parts_.sink;
  Link* const known = parts_.links.to_worker(connection.worker);
  const bool is_echo = connection.worker == parts_.worker_id && !connection.asked;
  // This side's attempt failed just before the peer connected by itself: the peer relies on this connection.
  if (!is_echo && known != nullptr && known->dying && !known->is_attached())
    parts_.shared.ends->revive(*known);
  const bool is_due = is_echo ? known != nullptr && !known->dying && known->other_end() == nullptr
                              : known == nullptr || (!known->dying && !known->is_attached());
  if (!is_due) {  // its link is gone, or has a connection already
    parts_.connector.disconnect(connection);
    return;
  }
  Link* const link = give_link(connection, known, is_echo);
  if (link == nullptr) {
    parts_.connector.disconnect(connection);
    take_failed(connection.worker, {Status::io_error, "out of memory for its connection"});
    return;
  }
  if (is_echo) return;
  if (link->has_to_greet()) link->greet();
  if (known == nullptr) {
    link->announced = true;
    link->cookie = sink.peer_up(sink.self, link->worker(), reinterpret_cast<stria_link_t*>(link));
  } else if (connection.peer.eager_bytes < parts_.shared.can.eager_max) {
    sink.link_changed(sink.self, link->cookie);
  }
}

/// Attaches a connection to the known link, or to a new one. Null: out of memory, and nothing changed.
Link* Peers::give_link(Connection& connection, Link* known, bool is_echo) noexcept {
  Link* made = nullptr;
  try {
    if (is_echo)
      made = &parts_.links.add_echo(parts_.shared, *known);
    else if (known == nullptr)
      made = &parts_.links.add(parts_.shared, connection.worker);
    Link& link = made != nullptr ? *made : *known;
    parts_.links.attach(link, connection);
    return &link;
  } catch (const std::bad_alloc&) {
    if (made != nullptr) parts_.links.remove(*made);
    return nullptr;
  }
}

/// No connection to `worker` comes: ends the link that waits for one.
void Peers::take_failed(std::uint64_t worker, const Error& error) noexcept {
  Link* const link = parts_.links.to_worker(worker);
  if (link == nullptr || link->is_attached() || link->dying) return;
  // A peer that closed is nothing unusual: no warning.
  parts_.shared.services->log(
      error.status == Status::peer_failed ? 2 : 3,
      fmt::format("verbs: no connection to worker {:#x}: {}", worker, error.context).c_str());
  parts_.shared.ends->fail_unconnected(*link, error.status);
}

}  // namespace stria::verbs
