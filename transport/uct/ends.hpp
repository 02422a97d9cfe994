// Takes down links that end. A dying link is taken down when everything that had arrived by it is delivered,
// or when that takes too long. link_down is the last upcall about the link. UCX's endpoint of the link is
// destroyed later, when UCX has sent what the endpoint still holds or a time limit has passed; an endpoint
// with operations under way is destroyed at once. Nothing is destroyed from inside a function of UCX.
#pragma once

#include <uct/api/uct.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "transport/contract.hpp"
#include "transport/uct/links.hpp"
#include "transport/uct/pack_buffer.hpp"
#include "transport/uct/shared.hpp"

namespace stria::uct {

class Ends {
 public:
  Ends(Shared& shared, const transport::Sink& sink, Links& links) noexcept
      : shared_(shared), sink_(sink), links_(links) {}

  /// Makes room for the ends of `links` links, so that fail() and take_down() allocate nothing. Throws
  /// std::bad_alloc.
  void reserve(std::size_t links);
  /// Marks the link as dying; bury() takes it down later. `text` is logged unless it is empty. Makes no
  /// upcall.
  [[gnu::cold]] void fail(Link& link, Status why, std::string_view text) noexcept;
  bool are_due() const noexcept { return !dying_.empty() || !endpoints_.empty(); }
  bool have_links() const noexcept { return !dying_.empty(); }
  /// Takes down at most `budget` dying links that are ready, and destroys old endpoints. `all_came`: no
  /// message that arrived waits to be delivered. Returns how many links were taken down. Not to be called
  /// from inside a function of UCX.
  unsigned bury(bool all_came, unsigned budget) noexcept;
  /// Takes the link down now: its operations and keys end, and link_down is called. What
  /// arrived by the link and was not delivered yet is dropped. Not to be called from inside a function of
  /// UCX.
  void take_down(Link& link) noexcept;
  /// Frees a retired link: the worker has given back the last payload that came by it.
  void forget(Link& link) noexcept;
  /// Destroys the endpoints that are left, without waiting for what they hold. Makes no upcall.
  void close() noexcept;

 private:
  struct Dying {
    Link* link;
    std::uint64_t since_call;  // the value of calls_ when the link began to die
  };
  // An endpoint of a link that was taken down.
  struct Endpoint {
    uct_ep_h handle;
    std::uint64_t since_ms;
    std::unique_ptr<PackBuffer> pack_buffer;  // UCX may still read it
  };
  bool may_go(const Dying& one, bool all_came) const noexcept;
  void cancel(Link& link) noexcept;
  void destroy_flushed() noexcept;

  Shared& shared_;
  const transport::Sink& sink_;
  Links& links_;
  std::vector<Dying> dying_;
  std::uint64_t calls_ = 0;  // calls of bury() so far
  std::vector<Endpoint> endpoints_;
  std::vector<std::unique_ptr<Link>> retired_;  // taken down, but the worker still keeps payloads of theirs
};

}  // namespace stria::uct
