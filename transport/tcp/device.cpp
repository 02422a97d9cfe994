#include "transport/tcp/device.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "base/system.hpp"
#include "transport/tcp/clock.hpp"
#include "transport/tcp/tokens.hpp"

namespace stria::tcp {
namespace {

std::vector<std::byte> secret_of(const transport::DeviceParams& params) {
  const auto* const bytes = static_cast<const std::byte*>(params.job_secret);
  return {bytes, bytes + params.job_secret_bytes};
}

Address self_of(const transport::DeviceParams& params, std::uint32_t eager_max) {
  Address out;
  out.worker = params.worker_id;
  out.instance = random_word();
  out.host = running_system();
  out.net_space = namespace_of("net");
  out.eager_max = eager_max;
  out.ticket = Handshake::draw_ticket();
  return out;
}

/// Fails if STRIA_TCP_ENGINE names io_uring and the kernel refuses a queue. Without this check the device
/// would later do without one.
Result<void> try_queue(Engine engine) {
  if (engine != Engine::uring) return {};
  const auto made = KernelQueue::open();
  if (made) return {};
  return Error{made.error().status, "tcp: " + made.error().context};
}

/// Opens what the device sleeps by. Null: nothing, so that the device looks at its sockets now and then; if
/// the configuration leaves the choice, shared.without_queue says why. The log's line is no warning: most
/// containers forbid io_uring to each process, also to those of a job that has no peer over TCP.
Result<std::unique_ptr<Wakeup>> wakeup_for(Engine engine, Shared& shared) {
  if (engine == Engine::epoll) return std::unique_ptr<Wakeup>();
  auto made = Wakeup::open(shared.events.descriptor());
  if (made) return made;
  Error error = std::move(made).error();
  if (engine == Engine::uring || error.status != Status::unsupported)
    return Error{error.status, fmt::format("tcp: {}; STRIA_TCP_ENGINE=epoll does without it", error.context)};
  shared.without_queue =
      error.context + ", so messages go on only while both processes call (as by STRIA_TCP_ENGINE=epoll)";
  shared.services.log(2, ("tcp: " + shared.without_queue).c_str());
  return std::unique_ptr<Wakeup>();
}

}  // namespace

Result<std::unique_ptr<Device>> Device::open(const transport::DeviceParams& params) {
  if (params.size < sizeof params || params.worker_id == 0 || params.sink == nullptr ||
      params.services == nullptr)
    return Error{Status::invalid, "tcp: a device needs a worker id, a sink and services"};
  auto settings = read_settings(params);
  if (!settings) return std::move(settings).error();
  if (!Handshake::start_libsodium())
    return Error{Status::io_error, "tcp: libsodium, by which peers are recognised, does not start"};
  std::unique_ptr<Device> made(new Device(*settings, params));
  if (auto started = made->start(*settings); !started) return std::move(started).error();
  return made;
}

Device::Device(const Settings& settings, const transport::DeviceParams& params)
    : secret_(secret_of(params)),
      self_(self_of(params, settings.eager_max)),
      handshake_(self_.worker, self_.instance, self_.eager_max, secret_, self_.ticket),
      shared_(*params.sink, *params.services, settings.eager_max, settings.lanes, settings.silent_ms),
      links_(shared_),
      peers_({shared_, links_, handshake_, self_, secret_, settings.connect_ms}, kDoorToken, kHandshakeToken),
      receiver_(shared_, links_) {}

Result<void> Device::start(const Settings& settings) {
  shared_.retains = settings.retains;
  auto all = list_addresses();
  if (!all) return std::move(all).error();
  auto told = settings.interfaces.of(*all);
  if (!told) return std::move(told).error();
  auto events = Events::open(kTimerToken);
  if (!events) return std::move(events).error();
  shared_.events = *std::move(events);
  auto wakeup = wakeup_for(settings.engine, shared_);
  if (!wakeup) return std::move(wakeup).error();
  if (auto tried = try_queue(settings.engine); !tried) return tried;
  shared_.may_queue = *wakeup != nullptr;
  receiver_.sleep_by(*std::move(wakeup));
  if (auto opened = peers_.open(settings.ports); !opened) return opened;
  self_.port = peers_.port();
  handshake_.listens_on(self_.port);
  std::string text;
  for (const OwnAddress& one : *told) {
    self_.ips.push_back(one.network.ip);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.interface, one.network.ip.text());
  }
  peers_.know(*std::move(all), *std::move(told));
  address_ = encode(self_, secret_);
  shared_.services.log(2, fmt::format("tcp: peers connect to port {} of {}", self_.port, text).c_str());
  return {};
}

void Device::capabilities(transport::Capabilities& out) const noexcept {
  out = {};
  out.flags = STRIA_CAP_PLACES | STRIA_CAP_STRIDED | STRIA_CAP_COMPOSITE | STRIA_CAP_BLOCK_LIST;
  out.eager_max = shared_.eager_max;
  out.max_keys = kKeysMost;
  out.max_sge = kRunsMost;
}

std::uint32_t Device::address(void* buffer, std::uint32_t bytes) const noexcept {
  if (bytes >= address_.size()) std::memcpy(buffer, address_.data(), address_.size());
  return static_cast<std::uint32_t>(address_.size());
}

Result<Link*> Device::connect(const void* address, std::uint32_t bytes, void* peer, int) {
  receiver_.look_soon();
  return peers_.connect({static_cast<const std::byte*>(address), bytes}, peer);
}

Status Device::fast_register(const Link* link, const transport::Payload& memory, unsigned access,
                             transport::Key& key) noexcept {
  if (link != nullptr && link->state() == Link::State::dying) return Status::peer_failed;
  return shared_.keys.add(link, memory, access, key);
}

bool Device::has_nothing_to_do() const noexcept {
  return receiver_.is_asleep() && shared_.want_bulk.empty() && shared_.lost.empty() &&
         !links_.has_failed_links();
}

/// Sends the records that wait for others, of all links that have sent since the last call.
void Device::send_held() noexcept {
  while (Link* const link = shared_.talking.pop_front()) link->send_held();
}

unsigned Device::progress(unsigned budget) noexcept {
  const unsigned counted = std::min(handled_by_check_, budget);
  handled_by_check_ -= counted;
  return counted == budget ? counted : counted + handle(budget - counted);
}

unsigned Device::handle(unsigned budget) noexcept {
  send_held();
  if (has_nothing_to_do()) return 0;
  shared_.is_in_call = true;
  const unsigned handled = go_on(budget);
  shared_.is_in_call = false;
  send_held();
  return handled;
}

unsigned Device::go_on(unsigned budget) noexcept {
  if (!shared_.want_bulk.empty()) peers_.make_bulk();
  if (!shared_.lost.empty()) peers_.connect_anew();
  if (peers_.are_busy()) receiver_.look_soon();
  unsigned handled = receiver_.receive(budget, handshakes_wait_);
  if (std::exchange(handshakes_wait_, false)) peers_.step();
  while (links_.has_failed_links() && handled < budget) {
    bury();
    ++handled;
  }
  return handled;
}

/// Calls link_down for the next failed link. The upcall may connect to the peer again.
void Device::bury() noexcept {
  const Links::Failed one = links_.next_failed();
  receiver_.forget(*one.link);
  peers_.forget(*one.link);
  one.link->end_gets(Status::peer_failed);
  shared_.sink.link_down(shared_.sink.self, one.link->cookie, transport::to_c(one.why));
}

/// Ends the links whose peer's host is silent. A connection on which nothing waits to be acknowledged is
/// ended by the system's own probes.
void Device::give_up_silent() noexcept {
  constexpr std::uint64_t kLooks = 8;  // number of looks within the limit
  const std::uint64_t now = now_ms();
  if (now - looked_for_silence_ < shared_.silent_ms / kLooks) return;
  looked_for_silence_ = now;
  links_.for_each([now](Link& link) { link.tidy(now); });
  for (Link* silent = nullptr;; silent = nullptr) {
    links_.for_each([&](Link& link) {
      if (silent == nullptr && link.is_silent(now)) silent = &link;
    });
    if (silent == nullptr) return;
    links_.fail(*silent, Status::peer_failed, silent->silence_text());
  }
}

void Device::check() noexcept {
  constexpr unsigned kBudget = 64;
  give_up_silent();
  if (std::exchange(shared_.lacked_memory, false)) links_.for_each([](Link& link) { link.flush(); });
  receiver_.look_soon();
  if (peers_.are_busy()) handshakes_wait_ = true;
  handled_by_check_ += handle(kBudget);
}

Status Device::arm() noexcept {
  send_held();
  if (handled_by_check_ > 0 || handshakes_wait_ || links_.has_failed_links() || !shared_.want_bulk.empty() ||
      !shared_.lost.empty())
    return Status::no_resource;
  return receiver_.is_idle(handshakes_wait_) ? Status::ok : Status::no_resource;
}

/// Sends what waits. What was sent is with the peers when their systems have acknowledged it.
void Device::close(int timeout_ms) noexcept {
  peers_.begin_closing();
  const std::uint64_t ends = now_ms() + static_cast<std::uint64_t>(std::max(timeout_ms, 0));
  for (bool waits = true; waits;) {
    waits = false;
    links_.for_each([&](Link& link) {
      if (link.state() == Link::State::up && link.finish() == Link::Finish::waits) waits = true;
      if (link.state() == Link::State::lost) waits = true;
    });
    if (now_ms() >= ends) break;
    if (!waits) continue;
    peers_.connect_anew();
    std::this_thread::yield();
  }
  peers_.close();
  links_.clear();
}

}  // namespace stria::tcp
