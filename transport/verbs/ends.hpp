// Links that end: each when all that was under way on it has been flushed, and all that came by it has been
// delivered. Its link_down is the last that is heard of it.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <vector>

#include "transport/contract.hpp"
#include "transport/verbs/shared.hpp"

namespace stria::verbs {

class Connector;
class KeyMaker;
class Link;
class Links;
class Receiver;

class Ends {
 public:
  struct Parts {
    Shared& shared;
    const transport::Sink& sink;
    Links& links;
    KeyMaker& keys;
    Receiver& receiver;
    Connector& connector;
  };
  explicit Ends(const Parts& parts) noexcept : parts_(parts) {}

  /// The link, which has a connection, is of no use any more: everything under way on it ends. The log has
  /// the text, if any. Makes no upcall.
  [[gnu::cold]] void fail(Link& link, Status why, const std::string& text) noexcept;
  /// No connection comes for the link, which has none.
  [[gnu::cold]] void fail_unconnected(Link& link, Status why) noexcept;
  /// After fail_unconnected(), and before its link_down: a connection came all the same.
  [[gnu::cold]] void revive(Link& link) noexcept;
  /// The link's queue pair is in error.
  [[gnu::cold]] void broke(Link& link) noexcept;
  bool are_due() const noexcept { return !dying_.empty(); }
  /// Ends up to `budget` links that are ready for it; returns how many events that were.
  unsigned bury(unsigned budget) noexcept;

  static Status reason_of(ibv_wc_status status) noexcept {
    return status == IBV_WC_REM_ACCESS_ERR ? Status::access_error : Status::peer_failed;
  }

 private:
  bool may_go(Link& link) noexcept;
  unsigned take_down(Link& link) noexcept;

  const Parts parts_;
  std::vector<Link*> dying_;
};

}  // namespace stria::verbs
