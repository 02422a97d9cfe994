// Ends of devices and of links: a device is closed or dies, a link is cut. What a peer was sent before may be
// lost; the ends of a link hear of it at moments of their own.
#include <limits>

#include "transport/fake/device.hpp"
#include "transport/fake/zcopy.hpp"

namespace stria::fake {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

}  // namespace

// Also after a death: a second time there is nothing left to do.
void Device::leave() noexcept {
  abandon_peers(Loss::none);
  links_.clear();
  fabric_->remove(*this);
}

void Device::die(Loss loss) noexcept {
  dead_ = true;
  abandon_peers(loss);
}

/// The step in which this device hears of the end of a link.
std::uint64_t Device::end_of_link(std::uint64_t longest) noexcept {
  return fabric_->options().death_seen_by_check_only ? kNever : step_ + fabric_->random(longest);
}

// Nobody reads the memory of this process any more: what peers need of it, they read now.
void Device::abandon_peers(Loss loss) noexcept {
  accesses_.clear();
  for (auto& link : links_)
    if (link->twin() != nullptr) link->twin()->read_from(*link);
  zcopy_sends_.clear();
  for (auto& link : links_) {
    link->discard();
    Link* twin = link->twin();
    if (twin == nullptr || twin == link.get()) continue;
    twin->lose_peer(loss, twin->owner().end_of_link(fabric_->options().delay), Status::peer_failed);
    link->lose_peer(Loss::none, kNever, Status::peer_failed);
  }
}

void Device::cut_off(Loss loss) noexcept {
  cut_off_ = true;
  for (const auto& link : links_)
    if (link->twin() != nullptr) cut(*link, loss);
}

void Device::cut(Link& link, Loss loss) noexcept {
  Link& twin = *link.twin();
  const std::uint64_t longest = 4 * std::uint64_t{fabric_->options().delay};
  for (Link* end : {&link, &twin}) end->lose_peer(loss, end->owner().end_of_link(longest), Status::io_error);
  // A sender has its memory back before its link is down: what was not lost is read before that.
  twin.read_from(link);
  link.read_from(twin);
}

void Link::set_blocked(bool blocked) noexcept {
  blocked_ = blocked && !gone_;
  if (!blocked_ && has_arriving()) owner_.wake();
}

void Link::lose_peer(Loss loss, std::uint64_t step, Status why) noexcept {
  if (gone_) return;
  twin_ = nullptr;
  gone_ = true;
  gone_at_ = step;
  why_gone_ = why;
  blocked_ = false;
  owner_.make_busy(*this);
  if (loss == Loss::random) {
    Fabric& fabric = owner_.fabric();
    const std::uint64_t kept_pio = fabric.random(arriving_[0].size());
    lose_all_but(kept_pio, fabric.random(arriving_[1].size()));
  }
  // The sender may have been in the middle of what it sent last.
  auto& buffered = arriving_[1];
  const bool may_be_cut = loss == Loss::random;
  if (may_be_cut && !buffered.empty() && buffered.back().growth.is_under_way() && owner_.fabric().chance(50))
    buffered.back().growth.cut();
  owner_.kept().end_growth(*this, may_be_cut && buffered.empty(), owner_.fabric());
  owner_.wake();
}

void Link::lose_all_but(std::uint64_t kept_pio, std::uint64_t kept_buffered) noexcept {
  Statistics& statistics = owner_.fabric().statistics();
  const std::array<std::uint64_t, 2> kept = {kept_pio, kept_buffered};
  static_assert(kept.size() == std::tuple_size_v<decltype(arriving_)>);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::uint64_t lost = arriving_[i].size() - kept[i];
    statistics.lost += lost;
    statistics.in_flight -= lost;
    arriving_[i].resize(static_cast<std::size_t>(kept[i]));
  }
}

bool Link::down_due(std::uint64_t step) const noexcept {
  return gone_ && !down_ && params_.announced && !has_arriving() && gone_at_ <= step;
}

}  // namespace stria::fake
