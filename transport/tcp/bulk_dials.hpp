// Makes the bulk connections of links whose first connection this device has made. A peer that refuses one
// may be about to close, so it is tried several times: the end of the link is learned meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "transport/tcp/dial.hpp"
#include "transport/tcp/interfaces.hpp"
#include "transport/tcp/link.hpp"

namespace stria::tcp {

class BulkDials {
 public:
  BulkDials(Shared& shared, const Dialling& by) noexcept : shared_(shared), by_(by) {}
  /// Sets the addresses of this host that peers may use.
  void know(std::vector<OwnAddress> own) noexcept { own_ = std::move(own); }

  /// Begins the bulk connections of the links in Shared::want_bulk. Makes upcalls.
  void begin(std::uint64_t now) noexcept;
  /// Advances all dials as far as possible without waiting. Makes upcalls. Throws bad_alloc.
  void advance(std::uint64_t now);
  bool is_empty() const noexcept { return all_.empty(); }
  /// Drops the dials of a link whose memory is about to go.
  void forget(const Link& link) noexcept;
  void clear() noexcept { all_.clear(); }

 private:
  /// A bulk connection that is being made.
  struct One {
    Link* link = nullptr;
    std::uint32_t number = 0;  ///< of the lane
    std::unique_ptr<Dial> dial;
    unsigned failures = 0;
    std::uint64_t next_ms = 0;  ///< when the next try begins, of now_ms(); 0: a try is under way
  };
  void begin(Link& link, std::uint64_t now);
  std::unique_ptr<Dial> dial(Link& link, std::uint32_t number, std::uint64_t now);
  bool is_over(One& one, std::uint64_t now);

  Shared& shared_;
  const Dialling& by_;
  std::vector<OwnAddress> own_;
  std::vector<One> all_;
};

}  // namespace stria::tcp
