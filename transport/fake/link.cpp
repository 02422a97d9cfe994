#include "transport/fake/link.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include "transport/atomic_word.hpp"
#include "transport/fake/device.hpp"
#include "transport/fake/fabric.hpp"
#include "transport/fake/zcopy.hpp"
#include "transport/payload.hpp"
#include "transport/services.hpp"
#include "transport/wire.hpp"

namespace stria::fake {
namespace {

constexpr std::size_t index(Path path) noexcept {
  return static_cast<std::size_t>(path);
}

transport::Payload contiguous(const void* data, std::uint32_t bytes) noexcept {
  return {nullptr, const_cast<void*>(data), bytes, 0, bytes};
}

}  // namespace

void broken_contract(const char* call, const char* what) noexcept {
  std::fprintf(stderr, "stria fake: %s: %s\n", call, what);
  std::abort();
}
namespace {
void demand(bool condition, const char* call, const char* what) noexcept {
  if (!condition) broken_contract(call, what);
}
void demand_range(const transport::Payload& payload, const char* call) noexcept {
  demand(payload.length >= 0 && payload.offset >= 0, call, "a payload with a negative offset or length");
  demand(payload.base != nullptr || payload.length == 0 || payload.layout != nullptr, call,
         "no payload memory");
  if (const auto* layout = transport::layout_of(payload))
    demand(payload.length <= layout->size() * payload.count - payload.offset, call,
           "a payload range beyond the end of its stream");
}
}  // namespace

namespace {
bool is_fragment(const QueuedPacket& packet) noexcept {
  return packet.header.kind == static_cast<std::uint8_t>(wire::Kind::frag);
}
}  // namespace

Link::Link(Device& owner, const Params& params) : owner_(owner), params_(params) {}

void Link::check_use(const char* call) const noexcept {
  demand(!down_, call, "a call on a link after its link_down");
}

Status Link::pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept {
  const FabricOptions& options = owner_.fabric().options();
  if (!options.pio || !params_.window) return Status::unsupported;
  demand(bytes <= options.pio_max, "pio_send", "more bytes than pio_max");
  return send({header, contiguous(payload, bytes), nullptr, Path::pio}, "pio_send");
}

Status Link::eager_send(const transport::Header& header, const transport::Payload& payload) noexcept {
  demand(payload.length <= owner_.fabric().options().eager_max, "eager_send", "more bytes than eager_max");
  return send({header, payload, nullptr, Path::buffered}, "eager_send");
}

Status Link::send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                             const transport::Key& key) noexcept {
  const FabricOptions& options = owner_.fabric().options();
  if (!options.send_invalidate) return Status::unsupported;
  const bool window = options.pio && params_.window;
  demand(bytes <= (window ? options.pio_max : options.eager_max), "send_invalidate",
         "more bytes than the limit");
  return send({header, contiguous(payload, bytes), &key, window ? Path::pio : Path::buffered},
              "send_invalidate");
}

Status Link::send(const Message& message, const char* call) noexcept {
  const Device::Use use(owner_, call);
  demand(message.header.kind != 0, call, "a header of kind 0");
  demand_range(message.payload, call);
  Fabric& fabric = owner_.fabric();
  const std::lock_guard lock(fabric.mutex());
  if (owner_.dead()) return Status::ok;  // the dead send nothing, and nobody reads their answers
  check_use(call);
  if (params_.ready_at > owner_.step()) return Status::no_resource;
  if (twin_ == nullptr) {
    // Gone, but link_down was not seen yet: like a peer whose memory is still mapped, or a closed connection.
    constexpr Status kAnswers[] = {Status::ok, Status::no_resource, Status::peer_failed, Status::in_progress};
    const Status answer = kAnswers[fabric.random(message.completion != nullptr ? 3 : 2)];
    if (answer == Status::in_progress) owner_.add_zcopy_send(*this, message.payload, message.completion);
    return answer;
  }
  if (message.ends_key != nullptr && !twin_->owner_.keys().names_this_table(*message.ends_key))
    return Status::access_error;
  if (fabric.chance(fabric.options().no_resource_percent) || !twin_->has_room(message)) {
    ++fabric.statistics().refused;
    return Status::no_resource;
  }
  if (message.completion != nullptr && !can_send_from(message.payload)) return Status::unsupported;
  return twin_->accept(message);
}

bool Link::has_room(const Message& message) const noexcept {
  const FabricOptions& options = owner_.fabric().options();
  if (arriving_[0].size() + arriving_[1].size() >= options.queue) return false;
  if (message.path == Path::buffered) return true;
  return window_used_ + sizeof(transport::Header) + static_cast<std::uint64_t>(message.payload.length) <=
         options.pio_window_bytes;
}

Status Link::accept(const Message& message) noexcept {
  Fabric& fabric = owner_.fabric();
  QueuedPacket packet;
  packet.header = message.header;
  packet.bytes = static_cast<std::uint32_t>(message.payload.length);
  if (message.completion != nullptr && !fabric.chance(fabric.options().zcopy_copies_percent)) {
    packet.source = twin_->owner_.add_zcopy_send(*twin_, message.payload, message.completion);
  } else {
    packet.payload.resize(packet.bytes);
    transport::pack(message.payload, packet.payload.data());
  }
  const std::shared_ptr<ZcopySend> source = packet.source;
  if (message.ends_key != nullptr) packet.ends_key = *message.ends_key;
  packet.path = message.path;
  Fate fate = Fate::arrives;
  if (is_fragment(packet)) fate = fabric.fate(packet.header);
  if (fate == Fate::doubled) queue_up(packet);
  if (fate != Fate::lost) queue_up(std::move(packet));
  if (source == nullptr) return Status::ok;
  source->was_read();  // as far as this call is concerned
  return Status::in_progress;
}

void Link::queue_up(QueuedPacket packet) noexcept {
  Fabric& fabric = owner_.fabric();
  packet.order = next_order_++;
  if (packet.source != nullptr) ++packet.source->unread;
  std::uint64_t& last = last_due_[index(packet.path)];
  last = std::max(last, owner_.step() + fabric.random(fabric.options().delay));
  packet.due = last;
  if (packet.path == Path::pio) window_used_ += sizeof packet.header + packet.bytes;
  auto& queue = arriving_[index(packet.path)];
  auto place = queue.end();
  if (is_fragment(packet) && fabric.chance(fabric.options().fragment_overtakes_percent)) {
    for (std::uint64_t most = fabric.random(queue.size());
         most > 0 && is_fragment(*std::prev(place)) && !std::prev(place)->is_under_way(); --most) {
      --place;
      packet.due = place->due;
    }
    if (place != queue.end()) ++fabric.statistics().fragment_overtakes;
  }
  queue.insert(place, std::move(packet));
  ++fabric.statistics().in_flight;
  owner_.make_busy(*this);
  if (!blocked_) owner_.wake();
}

QueuedPacket Link::take(Path path) noexcept {
  auto& queue = arriving_[index(path)];
  QueuedPacket packet = std::move(queue.front());
  queue.pop_front();
  if (packet.source != nullptr) packet.read();
  Statistics& statistics = owner_.fabric().statistics();
  --statistics.in_flight;
  const auto& other = arriving_[1 - index(path)];
  if (!other.empty() && other.front().order < packet.order) ++statistics.overtakes;
  if (path == Path::pio) {
    window_used_ -= sizeof packet.header + packet.bytes;
    ++statistics.delivered_pio;
  } else {
    ++statistics.delivered_buffered;
  }
  return packet;
}

bool Link::due(Path path, std::uint64_t step) const noexcept {
  const auto& packets = queue(path);
  return params_.announced && !down_ && !blocked_ && !packets.empty() && packets.front().due <= step;
}

bool Link::down_due(std::uint64_t step) const noexcept {
  return gone_ && !down_ && params_.announced && !has_arriving() && gone_at_ <= step;
}

bool Link::waits() const noexcept {
  if (down_) return false;
  if (!params_.announced || params_.ready_at > owner_.step()) return true;
  if (has_arriving()) return !blocked_;
  return gone_ && gone_at_ != std::numeric_limits<std::uint64_t>::max();
}

void Link::set_cookie(void* cookie) noexcept {
  params_.cookie = cookie;
  params_.announced = true;
}

void Link::set_blocked(bool blocked) noexcept {
  blocked_ = blocked && !gone_;
  if (!blocked_ && has_arriving()) owner_.wake();
}

void Link::lose_peer(Loss loss, std::uint64_t step) noexcept {
  if (gone_) return;
  twin_ = nullptr;
  gone_ = true;
  gone_at_ = step;
  blocked_ = false;
  owner_.make_busy(*this);
  if (loss == Loss::random) {
    Fabric& fabric = owner_.fabric();
    const std::uint64_t kept_pio = fabric.random(arriving_[0].size());
    lose_all_but(kept_pio, fabric.random(arriving_[1].size()));
  }
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

Status Link::get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  if (!owner_.fabric().options().get || owner_.fabric().copies_refused()) return Status::unsupported;
  return remote_access({this, false, local, key, offset, completion});
}

Status Link::put(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  if (!owner_.fabric().options().put || owner_.fabric().copies_refused()) return Status::unsupported;
  return remote_access({this, true, local, key, offset, completion});
}

Status Link::get_finish(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                        const transport::Header& header, transport::Completion* completion) noexcept {
  const FabricOptions& options = owner_.fabric().options();
  if (!options.offload || !options.get || owner_.fabric().copies_refused()) return Status::unsupported;
  demand(header.kind != 0, "get_finish", "a header of kind 0");
  return remote_access({this, false, local, key, offset, completion, 0, header});
}

Status Link::atomic(const transport::Atomic& atomic, const transport::Key& key,
                    transport::Completion* completion) noexcept {
  const FabricOptions& options = owner_.fabric().options();
  if (!options.atomics || owner_.fabric().copies_refused()) return Status::unsupported;
  demand(transport::is_atomic_op(atomic.op), "atomic", "an unknown operation");
  demand(atomic.result != nullptr, "atomic", "no memory for the result");
  return remote_access({this, false, {}, key, atomic.offset, completion, 0, {}, atomic});
}

void Link::release(std::uint64_t keep) noexcept {
  const std::lock_guard lock(owner_.fabric().mutex());
  demand(owner_.release(keep), "release", "no payload of that name is kept");
  --owner_.fabric().statistics().kept;
}

void Link::send_finish(const transport::Header& header, const transport::Key& key) noexcept {
  if (twin_ != nullptr)
    static_cast<void>(twin_->accept({header, contiguous(nullptr, 0), &key, Path::buffered}));
}

Status Link::remote_access(const Access& access) noexcept {
  const char* call = access.atomic.op != 0 ? "atomic" : access.write ? "put" : "get";
  const Device::Use use(owner_, call);
  demand_range(access.local, call);
  demand(access.completion != nullptr && access.completion->done != nullptr, call, "no completion");
  Fabric& fabric = owner_.fabric();
  const std::lock_guard lock(fabric.mutex());
  if (owner_.dead()) return Status::peer_failed;
  check_use(call);
  if (twin_ == nullptr) return Status::peer_failed;
  if (params_.ready_at > owner_.step()) return Status::no_resource;
  if (accesses_ >= fabric.options().accesses) {
    ++fabric.statistics().refused;
    return Status::no_resource;
  }
  const bool finishes = access.finish.kind != 0;
  if (finishes && (fabric.chance(fabric.options().no_resource_percent) ||
                   !twin_->has_room({access.finish, contiguous(nullptr, 0), nullptr, Path::buffered})))
    return Status::no_resource;
  if (access.atomic.op != 0 && fabric.chance(fabric.options().no_resource_percent)) {
    ++fabric.statistics().refused;
    return Status::no_resource;
  }
  if (fabric.chance(fabric.options().async_percent)) {
    ++fabric.statistics().completed_later;
    Access later = access;
    later.due = owner_.step() + 1 + fabric.random(fabric.options().delay);
    owner_.complete_later(later);
    ++accesses_;
    return Status::in_progress;
  }
  const Status done = perform(access);
  if (done == Status::ok && finishes) send_finish(access.finish, access.key);
  return done;
}

Status Link::perform(const Access& access) noexcept {
  if (twin_ == nullptr) return Status::peer_failed;
  KeyTable& keys = twin_->owner_.keys();
  if (access.atomic.op != 0) {
    const auto at = keys.find(access.key, STRIA_ACCESS_REMOTE_ATOMIC, access.offset, transport::kWordBytes);
    if (!at) return Status::access_error;
    std::uint64_t* word = nullptr;
    if (const Status found = transport::find_word(*at, 0, word); found != Status::ok) return found;
    *access.atomic.result = transport::perform(access.atomic, *word);
    ++owner_.fabric().statistics().atomics;
    return Status::ok;
  }
  Fabric& fabric = owner_.fabric();
  const transport::Payload& local = access.local;
  const unsigned right = access.write ? STRIA_ACCESS_REMOTE_WRITE : STRIA_ACCESS_REMOTE_READ;
  const auto remote = keys.find(access.key, right, access.offset, static_cast<std::uint64_t>(local.length));
  if (!remote) return Status::access_error;
  const bool refused = fabric.refuses(local) || fabric.refuses(*remote);
  const std::int64_t moved = refused ? local.length / 2 : local.length;
  if (moved > 0)
    access.write ? transport::copy(local, *remote, moved) : transport::copy(*remote, local, moved);
  if (refused) ++fabric.statistics().memory_refused;
  return refused ? Status::unsupported : Status::ok;
}

void Link::limits(transport::LinkLimits& out) noexcept {
  const Device::Use use(owner_, "link_limits");
  const std::lock_guard lock(owner_.fabric().mutex());
  if (!owner_.dead()) check_use("link_limits");
  const FabricOptions& options = owner_.fabric().options();
  const bool window = options.pio && params_.window;
  out = {};
  out.pio_max = window ? options.pio_max : 0;
  out.zcopy_max = options.zcopy ? options.zcopy_max : 0;
  out.eager_max = options.eager_max;
  const bool copies = !owner_.fabric().copies_refused();
  out.can_get = options.get && copies ? 1 : 0;
  out.can_put = options.put && copies ? 1 : 0;
  out.can_atomic = options.atomics && copies ? 1 : 0;
  if (window && twin_ != nullptr && params_.ready_at <= owner_.step() &&
      twin_->arriving_[0].size() + twin_->arriving_[1].size() < options.queue)
    out.pio_credits = static_cast<std::uint32_t>(options.pio_window_bytes - twin_->window_used_);
  out.low_latency = window && params_.low_latency ? 1 : 0;
  out.offload = options.offload ? 1 : 0;
  out.path = window ? "fake: pio window + copies" : "fake: copies";
  out.fallback = !options.pio || window ? "" : "no pio window left";
}

}  // namespace stria::fake
