// The worker's side of connecting: makes links to peers, and takes the news of connections from the
// connector's thread, which give these links their connections.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "transport/contract.hpp"
#include "transport/verbs/connection.hpp"
#include "transport/verbs/packets.hpp"
#include "transport/verbs/shared.hpp"

namespace stria::verbs {

class Connector;
class Ends;
class Link;
class Links;

class Peers {
 public:
  struct Parts {
    Shared& shared;
    const transport::Sink& sink;
    Links& links;
    Connector& connector;
    std::uint64_t worker_id;
  };
  explicit Peers(const Parts& parts) noexcept : parts_(parts) {}
  /// Returns the link to the peer, or makes one and asks for a connection. The worker knows the link by
  /// `cookie` from now on. Throws std::bad_alloc. Errors: no_resource, all links are in use; unreachable, the
  /// peer's earlier link is not down yet.
  Result<Link*> connect(const Address& address, void* cookie);
  /// Handles up to `budget` pieces of news; returns how many. May call the sink's peer_up and link_changed.
  unsigned take_news(unsigned budget) noexcept;
  bool has_news() const noexcept;

 private:
  void take(const News& news) noexcept;
  void take_up(Connection& connection) noexcept;
  Link* give_link(Connection& connection, Link* known, bool is_echo) noexcept;
  void take_failed(std::uint64_t worker, const Error& error) noexcept;

  const Parts parts_;
  std::vector<News> news_;  // taken from the connector
  std::size_t next_ = 0;    // the first of news_ that is not handled yet
};

}  // namespace stria::verbs
