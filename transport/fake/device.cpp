#include "transport/fake/device.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <random>

#include "base/format.hpp"
#include "transport/fake/event.hpp"
#include "transport/fake/zcopy.hpp"

namespace stria::fake {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

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

}  // namespace

Device::Use::Use(Device& device, const char* call) noexcept : device_(device) {
  thread_local const char me = 0;
  const void* user = device.user_.load(std::memory_order_relaxed);
  if (user != &me) {
    const void* nobody = nullptr;
    // acquire pairs with the release in ~Use: depth_ is handed over.
    if (!device.user_.compare_exchange_strong(nobody, &me, std::memory_order_acquire))
      broken_contract(call, "two threads in one device at a time");
  }
  if (device.asking_) broken_contract(call, "called from inside place");
  ++device.depth_;
}
Device::Use::~Use() {
  if (--device_.depth_ == 0) device_.user_.store(nullptr, std::memory_order_release);
}

Device::Device(std::shared_ptr<Fabric> fabric, const transport::DeviceParams& params)
    : fabric_(std::move(fabric)), sink_(params.sink), worker_id_(params.worker_id) {
  const std::lock_guard lock(fabric_->mutex());
  number_ = fabric_->add(*this);
  keys_ = std::make_unique<KeyTable>(number_, fabric_->options().max_keys, fabric_->options().key_bytes);
}

Device::~Device() {
  const std::lock_guard lock(fabric_->mutex());
  leave(Loss::none);
}

Result<std::unique_ptr<Device>> Device::open(const transport::DeviceParams& params) {
  if (params.size < sizeof params)
    return Error{Status::invalid,
                 fmt::format("fake: device parameters of {} bytes, {} wanted", params.size, sizeof params)};
  if (params.worker_id == 0) return Error{Status::invalid, "fake: worker id 0"};
  if (params.sink == nullptr || params.services == nullptr)
    return Error{Status::invalid, "fake: device parameters without sink or services"};
  auto fabric = fabric_for(params);
  if (!fabric) return std::move(fabric).error();
  std::unique_ptr<Device> device(new Device(*std::move(fabric), params));
  if (device->fabric_->options().event_fd) {
    device->event_fd_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!device->event_fd_)
      return Error{Status::io_error, fmt::format("fake: eventfd: {}", std::strerror(errno))};
  }
  return device;
}

void Device::close(int) noexcept {
  const Use use(*this, "close");
  if (in_progress_) broken_contract("close", "called from inside progress");
  const std::lock_guard lock(fabric_->mutex());
  leave(Loss::none);  // what was sent waits at the peers, which need this device no more: there is nothing to
                      // wait for
}

// Also after a death: a second time there is nothing left to do.
void Device::leave(Loss loss) noexcept {
  abandon_peers(loss);
  busy_.clear();
  by_peer_.clear();
  links_.clear();
  fabric_->remove(*this);
}

void Device::die(Loss loss) noexcept {
  dead_ = true;
  abandon_peers(loss);
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
    const std::uint64_t now = twin->owner().step_;
    const FabricOptions& options = fabric_->options();
    twin->lose_peer(loss, options.death_seen_by_check_only ? kNever : now + fabric_->random(options.delay));
    link->lose_peer(Loss::none, kNever);
  }
}

void Device::capabilities(transport::Capabilities& out) noexcept {
  const FabricOptions& options = fabric_->options();
  out = {};
  const auto lack = [&](bool has, std::uint64_t bit) { out.lacks |= has ? 0 : bit; };
  lack(options.fast_register, STRIA_CAP_FAST_REGISTER);
  lack(options.send_invalidate, STRIA_CAP_SEND_INVALIDATE);
  lack(options.get, STRIA_CAP_GET);
  lack(options.put, STRIA_CAP_PUT);
  lack(options.atomics && options.fast_register, STRIA_CAP_ATOMICS);
  lack(options.offload, STRIA_CAP_OFFLOAD);
  lack(options.zcopy, STRIA_CAP_ZCOPY);
  if (options.places_percent != 0) out.flags |= STRIA_CAP_PLACES;
  if (options.fast_register) out.flags |= STRIA_CAP_ZERO_BASED;
  if (options.fast_register && !options.contiguous_keys_only)
    out.flags |= STRIA_CAP_STRIDED | STRIA_CAP_BLOCK_LIST | STRIA_CAP_COMPOSITE;
  if (options.pio) {
    out.pio_max = options.pio_max;
    out.pio_windows = options.pio_windows;
    out.pio_window_bytes = options.pio_window_bytes;
    out.pio_mtu = options.pio_max + static_cast<std::uint32_t>(sizeof(transport::Header));
  }
  out.eager_max = options.eager_max;
  out.key_bits = 8;
  out.max_sge = 0;
  out.max_keys = options.fast_register ? options.max_keys : 0;
}

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
  const auto found = by_peer_.find(peer.number_);
  return found != by_peer_.end() && found->second->twin() != nullptr ? found->second : nullptr;
}

void Device::make_busy(Link& link) {
  const auto before = [](const Link* a, const Link* b) { return a->number() < b->number(); };
  const auto at = std::lower_bound(busy_.begin(), busy_.end(), &link, before);
  if (at == busy_.end() || *at != &link) busy_.insert(at, &link);
}

Link* Device::add_link(Device& peer, Link::Params params, bool low_latency) {
  params.peer_worker = peer.worker_id_;
  params.window = fabric_->options().pio && windows_used_ < fabric_->options().pio_windows;
  params.low_latency = low_latency;
  params.number = links_.size();
  links_.push_back(std::make_unique<Link>(*this, params));
  if (params.window) ++windows_used_;
  Link* const link = links_.back().get();
  by_peer_[peer.number_] = link;
  if (link->is_busy()) make_busy(*link);
  return link;
}

Result<Link*> Device::connect(const void* bytes, std::uint32_t length, void* peer, int low_latency) {
  const Use use(*this, "connect");
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
  const std::uint32_t delay = fabric_->options().connect_delay;
  const std::uint64_t ready_at = delay == 0 ? 0 : step_ + fabric_->random(delay);
  Link* link = add_link(*target, {.cookie = peer, .announced = true, .ready_at = ready_at}, low_latency != 0);
  if (target == this) {
    link->join(*link);
    return link;
  }
  const std::uint64_t seen_at = delay == 0 ? 0 : target->step_ + fabric_->random(delay);
  Link* twin = target->add_link(*this, {.ready_at = seen_at}, low_latency != 0);
  link->join(*twin);
  twin->join(*link);
  target->wake();
  return link;
}

Status Device::fast_register(const Link*, const transport::Payload& memory, unsigned access,
                             transport::Key& key) noexcept {
  const Use use(*this, "fast_register");
  if (memory.count < 0) broken_contract("fast_register", "a negative count");
  const FabricOptions& options = fabric_->options();
  if (!options.fast_register) return Status::unsupported;
  const datatype::Layout* layout = transport::layout_of(memory);
  if (layout != nullptr && !layout->reach(memory.count)) return Status::unsupported;
  if (layout != nullptr && options.contiguous_keys_only && !layout->is_contiguous(memory.count))
    return Status::unsupported;
  const std::lock_guard lock(fabric_->mutex());
  if (dead_) return Status::no_resource;
  return keys_->add(memory, access, key);
}

Status Device::invalidate(const transport::Key& key) noexcept {
  const Use use(*this, "invalidate");
  const std::lock_guard lock(fabric_->mutex());
  return keys_->remove(key);
}

Device::Event Device::deliver(Link& link, Path path) noexcept {
  if (Event event = place_more(link, link.front(path)); event.kind != Event::Kind::none) return event;
  Event event{.kind = Event::Kind::packet, .link = &link, .cookie = link.cookie(), .packet = link.take(path)};
  // A key that its owner ended in the meantime is just as unusable.
  if (event.packet.ends_key.bytes != 0) static_cast<void>(keys_->remove(event.packet.ends_key));
  return event;
}

Device::Event Device::finish(std::size_t access) noexcept {
  const Access done = accesses_[access];
  accesses_.erase(accesses_.begin() + static_cast<std::ptrdiff_t>(access));
  done.link->access_ended();
  const Status status = done.link->perform(done);
  if (status == Status::ok && done.finish.kind != 0) done.link->send_finish(done.finish, done.key);
  return {.kind = Event::Kind::access, .link = done.link, .completion = done.completion, .status = status};
}

// One of everything that is due now, each with the same chance.
Device::Event Device::next_event() noexcept {
  struct Candidate {
    Event::Kind kind = Event::Kind::none;
    Link* link = nullptr;
    Path path = Path::pio;
    std::size_t access = 0;
  } chosen;
  std::uint64_t seen = 0;
  const auto consider = [&](const Candidate& candidate) {
    if (fabric_->random(seen++) == 0) chosen = candidate;
  };
  for (std::size_t i = 0; i < accesses_.size(); ++i)
    if (accesses_[i].due <= step_) consider({.kind = Event::Kind::access, .access = i});
  for (std::size_t i = 0; i < zcopy_sends_.size(); ++i)
    if (zcopy_sends_[i]->is_due(step_)) consider({.kind = Event::Kind::sent, .access = i});
  std::erase_if(busy_, [](const Link* link) { return !link->is_busy(); });
  fabric_->statistics().looks += busy_.size();
  for (Link* link : busy_) {
    if (link->announce_due(step_)) consider({.kind = Event::Kind::up, .link = link});
    for (const Path path : {Path::pio, Path::buffered})
      if (link->due(path, step_)) consider({.kind = Event::Kind::packet, .link = link, .path = path});
    if (link->down_due(step_)) consider({.kind = Event::Kind::down, .link = link});
  }
  switch (chosen.kind) {
    case Event::Kind::access:
      return finish(chosen.access);
    case Event::Kind::packet:
      return deliver(*chosen.link, chosen.path);
    case Event::Kind::down:
      return next_event_of_lost(*chosen.link);
    case Event::Kind::up:
      chosen.link->set_announced();
      return {.kind = Event::Kind::up, .link = chosen.link};
    case Event::Kind::sent:
      return end_zcopy_send(chosen.access);
    case Event::Kind::ask:
    case Event::Kind::placing:
    case Event::Kind::none:
      break;
  }
  return {};
}

// What is left of a link whose peer is gone, due or not: everything it received, its accesses, then its end.
Device::Event Device::next_event_of_lost(Link& link) noexcept {
  if (!link.announced()) {
    link.set_announced();
    return {.kind = Event::Kind::up, .link = &link};
  }
  for (const Path path : {Path::pio, Path::buffered})
    if (link.due(path, kNever)) return deliver(link, path);
  for (std::size_t i = 0; i < accesses_.size(); ++i)
    if (accesses_[i].link == &link) return finish(i);
  for (std::size_t i = 0; i < zcopy_sends_.size(); ++i)
    if (zcopy_sends_[i]->link == &link) return end_zcopy_send(i);
  if (link.is_down()) return {};
  link.set_down();
  return {.kind = Event::Kind::down, .link = &link, .cookie = link.cookie()};
}

// Without the lock: the upcall may send, connect and register.
void Device::dispatch(Event event) noexcept {
  switch (event.kind) {
    case Event::Kind::up: {
      void* cookie =
          sink_->peer_up(sink_->self, event.link->peer_worker(), reinterpret_cast<stria_link_t*>(event.link));
      const std::lock_guard lock(fabric_->mutex());
      if (!dead_) event.link->set_cookie(cookie);
      break;
    }
    case Event::Kind::ask:
      ask(event);
      break;
    case Event::Kind::packet: {
      std::vector<std::byte>& payload = event.packet.payload;
      const bool is_placed = event.packet.is_placed;
      const bool may_stay =
          fabric_->options().keeps && !is_placed && !payload.empty() && ++payloads_ % 2 == 0;
      const transport::Packet packet{
          &event.packet.header, is_placed ? nullptr : payload.data(), event.packet.bytes,
          (event.packet.path == Path::buffered ? 1u : 0u) | (is_placed ? STRIA_PACKET_PLACED : 0u),
          may_stay ? payloads_ : 0};
      const std::uint64_t name = packet.keep;
      if ((sink_->deliver(sink_->self, event.cookie, &packet) & STRIA_DELIVERED_KEPT) == 0) break;
      if (name == 0) broken_contract("deliver", "a payload was kept that may not stay");
      const std::lock_guard lock(fabric_->mutex());
      kept_.emplace(name, std::move(payload));
      ++fabric_->statistics().kept;
      ++fabric_->statistics().all_kept;
      break;
    }
    case Event::Kind::down:
      sink_->link_down(sink_->self, event.cookie, transport::to_c(Status::peer_failed));
      break;
    case Event::Kind::access:
      event.completion->done(event.completion, transport::to_c(event.status));
      break;
    case Event::Kind::placing:  // done already, under the lock
    case Event::Kind::sent:     // told as the end of an access
    case Event::Kind::none:
      break;
  }
}

unsigned Device::progress(unsigned budget) noexcept {
  const Use use(*this, "progress");
  if (in_progress_) broken_contract("progress", "called from inside itself");
  in_progress_ = true;
  unsigned handled = 0;
  {
    std::unique_lock lock(fabric_->mutex());
    ++step_;
    armed_ = false;
    drain_event_fd();
    while (handled < budget && !dead_) {
      Event event = next_event();
      if (event.kind == Event::Kind::none) break;
      lock.unlock();
      dispatch(std::move(event));
      lock.lock();
      ++handled;
    }
  }
  in_progress_ = false;
  return handled;
}

void Device::check() noexcept {
  const Use use(*this, "check");
  if (in_progress_) broken_contract("check", "called from inside progress");
  in_progress_ = true;
  {
    std::unique_lock lock(fabric_->mutex());
    for (std::size_t i = 0; i < links_.size(); ++i) {  // an upcall may add links
      while (!dead_ && links_[i]->peer_gone()) {
        Event event = next_event_of_lost(*links_[i]);
        if (event.kind == Event::Kind::none) break;
        lock.unlock();
        dispatch(std::move(event));
        lock.lock();
      }
    }
  }
  in_progress_ = false;
}

int Device::event_fd() noexcept {
  return event_fd_ ? event_fd_.get() : -1;
}

void Device::wake() noexcept {
  if (!armed_ || !event_fd_ || signalled_) return;
  const std::uint64_t one = 1;
  signalled_ = ::write(event_fd_.get(), &one, sizeof one) == static_cast<ssize_t>(sizeof one);
}

void Device::drain_event_fd() noexcept {
  if (!signalled_) return;
  std::uint64_t count = 0;
  signalled_ = ::read(event_fd_.get(), &count, sizeof count) < 0;
}

Status Device::arm() noexcept {
  const Use use(*this, "arm");
  if (!event_fd_) return Status::unsupported;
  const std::lock_guard lock(fabric_->mutex());
  if (!dead_) {
    if (!accesses_.empty()) return Status::no_resource;
    for (const auto& send : zcopy_sends_)
      if (send->unread == 0) return Status::no_resource;
    for (const auto& link : links_)
      if (link->waits()) return Status::no_resource;
  }
  drain_event_fd();
  armed_ = true;
  return Status::ok;
}

}  // namespace stria::fake
