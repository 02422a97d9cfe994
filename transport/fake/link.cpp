#include "transport/fake/link.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "transport/fake/demands.hpp"
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

bool is_fragment(const QueuedPacket& packet) noexcept {
  return packet.header.kind == static_cast<std::uint8_t>(wire::Kind::frag);
}

}  // namespace

/// Shorter payloads come whole, those of an engine's own packets among them.
constexpr std::uint32_t kGrowLeast = 200;

Link::Link(Device& owner, const Params& params)
    : owner_(owner), params_(params), is_far_(owner.fabric().chance(owner.fabric().options().far_percent)) {}

void Link::check_use(const char* call) const noexcept {
  demand(!down_, call, "a call on a link after its link_down");
}

Status Link::pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept {
  const FabricOptions& options = owner_.fabric().options();
  if (!options.pio || !params_.window) return Status::unsupported;
  demand(bytes <= options.pio_max, "pio_send", "more bytes than pio_max");
  return send({header, plain(payload, bytes), nullptr, Path::pio}, "pio_send");
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
  return send({header, plain(payload, bytes), &key, window ? Path::pio : Path::buffered}, "send_invalidate");
}

Status Link::send(const Message& message, const char* call) noexcept {
  const Callers::Use use(owner_.callers(), call);
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
  const bool may_grow = message.path == Path::buffered && message.completion == nullptr &&
                        message.ends_key == nullptr && packet.bytes >= kGrowLeast;
  if (may_grow && fabric.chance(fabric.options().grows_percent)) packet.growth.begin(packet.payload, fabric);
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

void Link::put_back(QueuedPacket packet) noexcept {
  Statistics& statistics = owner_.fabric().statistics();
  ++statistics.in_flight;
  --statistics.delivered_buffered;
  arriving_[index(packet.path)].push_front(std::move(packet));
  owner_.make_busy(*this);
}

bool Link::due(Path path, std::uint64_t step) const noexcept {
  const auto& packets = queue(path);
  return params_.announced && !down_ && !blocked_ && !packets.empty() && packets.front().due <= step;
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

void Link::limits(transport::LinkLimits& out) noexcept {
  const Callers::Use use(owner_.callers(), "link_limits");
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
  out.can_map = options.maps ? 1 : 0;
  out.grows = options.grows_percent != 0 ? 1 : 0;
  out.far = is_far_ ? 1 : 0;
  out.low_latency = window && params_.low_latency ? 1 : 0;
  out.offload = options.offload ? 1 : 0;
  out.latency_ns = options.latency_ns;
  out.path = window ? "fake: pio window + copies" : "fake: copies";
  out.fallback = !options.pio || window ? "" : "no pio window left";
}

}  // namespace stria::fake
