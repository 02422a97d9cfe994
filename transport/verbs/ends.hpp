// Takes links down: a link ends when all that was under way on it has been flushed, and all packets that came
// by it have been delivered. link_down is the last upcall for it.
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

  /// Begins the end of a link that has a connection: everything under way on it will end, and its link_down
  /// says `why` (peer_failed in place of access_error). Writes `text` to the log unless it is "". Makes no
  /// upcall. Does nothing on a dying link.
  [[gnu::cold]] void fail(Link& link, Status why, const std::string& text) noexcept;
  /// Begins the end of a link that has no connection, because none comes.
  [[gnu::cold]] void fail_unconnected(Link& link, Status why) noexcept;
  /// Undoes fail_unconnected() of a link before its link_down, because a connection came all the same.
  [[gnu::cold]] void revive(Link& link) noexcept;
  /// The link's queue pair is in error: begins the link's end, if that has not begun.
  [[gnu::cold]] void broke(Link& link) noexcept;
  /// Whether any link is dying.
  bool are_due() const noexcept { return !dying_.empty(); }
  /// Takes down dying links that are ready for it, up to `budget` events (a link_down, or a completion called
  /// before it); returns how many events these were, at most `budget`.
  unsigned bury(unsigned budget) noexcept;

  /// Why a link ends whose work request, or receive, completed with this error.
  static Status reason_of(ibv_wc_status status) noexcept {
    return status == IBV_WC_REM_ACCESS_ERR ? Status::access_error : Status::peer_failed;
  }

 private:
  bool may_go(Link& link) noexcept;
  unsigned take_down(Link& link) noexcept;

  const Parts parts_;
  std::vector<Link*> dying_;  // until their link_down
};

}  // namespace stria::verbs
