// Addresses, and links between devices: both ends of a link are made by the one that connects.
#include <unistd.h>

#include <cstring>
#include <random>

#include "base/format.hpp"
#include "transport/fake/device.hpp"

namespace stria::fake {
namespace {

// An address means something in one process only, and says so when it turns up in another.
struct Address {
  char magic[8];
  std::uint64_t process;
  std::uint64_t fabric;
  std::uint64_t worker;
  std::uint32_t device;
  std::uint32_t pid;
};
static_assert(sizeof(Address) == 40);
constexpr char kMagic[8] = {'s', 't', 'r', 'f', 'a', 'k', 'e', '1'};

std::uint64_t this_process() noexcept {
  static const std::uint64_t value = [] {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }();
  return value;
}

/// The link was cut, and its owner has not heard of it.
bool is_ending(const Link* link) noexcept {
  return link != nullptr && link->peer_gone() && !link->is_down();
}

}  // namespace

std::uint32_t Device::address(void* buffer, std::uint32_t bytes) noexcept {
  Address address{};
  std::memcpy(address.magic, kMagic, sizeof kMagic);
  address.process = this_process();
  address.fabric = fabric_->id();
  address.worker = worker_id_;
  address.device = number_;
  address.pid = static_cast<std::uint32_t>(::getpid());
  if (bytes >= sizeof address) std::memcpy(buffer, &address, sizeof address);
  return sizeof address;
}

Link* Device::link_to(const Device& peer) noexcept {
  Link* const link = links_.to(peer.number_);
  return link != nullptr && link->twin() != nullptr ? link : nullptr;
}

Result<Link*> Device::connect(const void* bytes, std::uint32_t length, void* peer, int low_latency) {
  const Callers::Use use(callers_, "connect");
  Address address{};
  if (length != sizeof address)
    return Error{Status::invalid,
                 fmt::format("fake: an address of {} bytes, {} wanted", length, sizeof address)};
  std::memcpy(&address, bytes, sizeof address);
  if (std::memcmp(address.magic, kMagic, sizeof kMagic) != 0)
    return Error{Status::invalid, "fake: not an address of this provider and version"};
  const std::lock_guard lock(fabric_->mutex());
  if (address.process != this_process() || address.pid != static_cast<std::uint32_t>(::getpid()))
    return Error{Status::unreachable,
                 fmt::format("fake: the peer is in process {}, this provider reaches its own "
                             "process only",
                             address.pid)};
  if (address.fabric != fabric_->id())
    return Error{Status::unreachable, fmt::format("fake: the peer is in fabric {}, this device in {}",
                                                  address.fabric, fabric_->id())};
  Device* target = fabric_->find(address.device);
  if (target == nullptr || target->dead_ || target->worker_id_ != address.worker)
    return Error{Status::peer_failed, fmt::format("fake: device {} is gone", address.device)};
  if (Link* link = link_to(*target)) {
    link->set_cookie(peer);
    return link;
  }
  if (cut_off_ || target->cut_off_)
    return Error{Status::unreachable, fmt::format("fake: no answer from device {}", address.device)};
  if (is_ending(links_.to(target->number_)) || is_ending(target->links_.to(number_)))
    return Error{Status::unreachable,
                 fmt::format("fake: the last link to device {} has not gone down yet", address.device)};
  const std::uint32_t delay = fabric_->options().connect_delay;
  const std::uint64_t ready_at = delay == 0 ? 0 : step_ + fabric_->random(delay);
  Link& link = links_.add(*this, target->number_,
                          {.peer_worker = target->worker_id_,
                           .cookie = peer,
                           .announced = true,
                           .ready_at = ready_at,
                           .low_latency = low_latency != 0});
  if (target == this) {
    link.join(link);
    return &link;
  }
  const std::uint64_t seen_at = delay == 0 ? 0 : target->step_ + fabric_->random(delay);
  Link& twin = target->links_.add(
      *target, number_, {.peer_worker = worker_id_, .ready_at = seen_at, .low_latency = low_latency != 0});
  link.join(twin);
  twin.join(link);
  target->wake();
  return &link;
}

}  // namespace stria::fake
