#include "transport/tcp/bulk_dials.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "transport/tcp/candidates.hpp"

namespace stria::tcp {

void BulkDials::begin(std::uint64_t now) noexcept {
  std::vector<Link*>& want = shared_.want_bulk;
  while (!want.empty()) {
    Link& link = *want.back();
    want.pop_back();
    try {
      begin(link, now);
    } catch (const std::bad_alloc&) {
      forget(link);
      link.do_without_bulk();
    }
  }
}

void BulkDials::forget(const Link& link) noexcept {
  std::erase_if(all_, [&link](const One& one) { return one.link == &link; });
}

std::unique_ptr<Dial> BulkDials::dial(Link& link, std::uint32_t number, std::uint64_t now) {
  Bulk& bulk = *link.bulk();
  return std::make_unique<Dial>(by_, link.peer(), std::vector{bulk.route_of(number)}, now,
                                Intent{bulk.begin(number)});
}

void BulkDials::begin(Link& link, std::uint64_t now) {
  Bulk& bulk = *link.bulk();
  if (!bulk.knows_routes()) bulk.go_by(bulk_routes(link.peer().ips, link.peer_ip(), own_), shared_.lanes);
  for (std::uint32_t number = 0; number < bulk.wanted_lanes(); ++number) {
    if (!bulk.is_missing(number)) continue;
    One& made = all_.emplace_back();
    made.link = &link;
    made.number = number;
    made.dial = dial(link, number, now);
  }
}

/// Advances the dial of a bulk connection. True: it has succeeded or failed for good, or is not needed any
/// more.
bool BulkDials::is_over(One& one, std::uint64_t now) {
  constexpr unsigned kTries = 3;
  constexpr std::uint64_t kAgainMs = 1000;
  if (!one.link->can_have_bulk()) return true;  // the link has ended, or does without bulk connections
  if (one.next_ms != 0) {
    if (now < one.next_ms) return false;
    one.next_ms = 0;
    one.dial = dial(*one.link, one.number, now);
  }
  const Dial::State state = one.dial->advance(now);
  if (state == Dial::State::failed && ++one.failures < kTries) {
    one.next_ms = now + kAgainMs;
    return false;
  }
  return state != Dial::State::going;
}

void BulkDials::advance(std::uint64_t now) {
  for (std::size_t i = 0; i < all_.size();) {
    if (!is_over(all_[i], now)) {
      ++i;
      continue;
    }
    const One over = std::move(all_[i]);
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
    Link& link = *over.link;
    if (!link.can_have_bulk()) continue;
    if (UniqueFd socket = over.dial->take_socket()) {
      link.bulk()->come_up(over.number, std::move(socket));
      continue;
    }
    shared_.services.log(
        3, fmt::format("tcp: worker {:x}: no bulk connection: {}", link.peer().worker, over.dial->report())
               .c_str());
    if (link.bulk()->give_up(over.number)) link.do_without_bulk();
  }
}

}  // namespace stria::tcp
