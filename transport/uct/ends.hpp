// Links that end: each when all that came by it has been delivered. Its link_down is the last that the worker
// hears of it; its endpoint is destroyed later, when what it still holds is sent, and never from inside a
// function of UCX.
#pragma once

#include <uct/api/uct.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "transport/contract.hpp"
#include "transport/uct/links.hpp"
#include "transport/uct/shared.hpp"

namespace stria::uct {

class Ends {
 public:
  Ends(Shared& shared, const transport::Sink& sink, Links& links) noexcept
      : shared_(shared), sink_(sink), links_(links) {}

  /// For so many links, so that none of them ends for lack of memory. Throws std::bad_alloc.
  void reserve(std::size_t links);
  /// The link is of no use any more. The log has the text, if any. Makes no upcall.
  [[gnu::cold]] void fail(Link& link, Status why, std::string_view text) noexcept;
  bool are_due() const noexcept { return !dying_.empty() || !endpoints_.empty(); }
  bool have_links() const noexcept { return !dying_.empty(); }
  /// Takes down those that are ready for it, and no more than `budget`. `all_came`: nothing that came waits
  /// for being delivered. Returns how many. Not from inside a function of UCX.
  unsigned bury(bool all_came, unsigned budget) noexcept;
  /// At once, as everything that came by it was delivered. Not from inside a function of UCX.
  void take_down(Link& link) noexcept;
  /// Of a link that was taken down: nothing of it is kept any more.
  void forget(Link& link) noexcept;
  /// All that is left is dropped.
  void close() noexcept;

 private:
  struct Dying {
    Link* link;
    std::uint64_t since_call;
  };
  struct Endpoint {
    uct_ep_h handle;
    std::uint64_t since_ms;
  };
  bool may_go(const Dying& one, bool all_came) const noexcept;
  void cancel(Link& link) noexcept;
  void destroy_flushed() noexcept;

  Shared& shared_;
  const transport::Sink& sink_;
  Links& links_;
  std::vector<Dying> dying_;
  std::uint64_t calls_ = 0;  // of bury
  std::vector<Endpoint> endpoints_;
  std::vector<std::unique_ptr<Link>> retired_;  // of which payloads are kept
};

}  // namespace stria::uct
