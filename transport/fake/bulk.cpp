// Zero-copy sends and the placing of payloads. Both are as unpunctual as the contract allows: the memory of a
// send is read as late as possible, a payload is placed in several steps, and between any two of these other
// events may come, such as the end of the link.
#include "transport/fake/event.hpp"
#include "transport/fake/zcopy.hpp"
#include "transport/payload.hpp"
#include "transport/services.hpp"

namespace stria::fake {

Status Link::zcopy_send(const transport::Header& header, const transport::Payload& payload,
                        transport::Completion* completion) noexcept {
  const FabricOptions& options = owner_.fabric().options();
  if (!options.zcopy) return Status::unsupported;
  if (payload.length <= 0 || payload.length > options.zcopy_max)
    broken_contract("zcopy_send", "no bytes, or more than zcopy_max");
  if (completion == nullptr || completion->done == nullptr) broken_contract("zcopy_send", "no completion");
  return send({header, payload, nullptr, Path::buffered, completion}, "zcopy_send");
}

bool Link::can_send_from(const transport::Payload& memory) const noexcept {
  const Fabric& fabric = owner_.fabric();
  const datatype::Layout* const layout = transport::layout_of(memory);
  const bool one_run = layout == nullptr || layout->is_contiguous(memory.count);
  return (one_run || !fabric.options().contiguous_zcopy_only) && !fabric.refuses(memory);
}

void QueuedPacket::read() noexcept {
  if (written < bytes) {
    payload.resize(bytes);
    transport::pack(source->memory, payload.data());
  }
  source->was_read();
  source = nullptr;
}

void QueuedPacket::write(std::uint32_t more) noexcept {
  const transport::Payload from = source != nullptr
                                      ? transport::slice(source->memory, written, more)
                                      : transport::Payload{nullptr, payload.data(), bytes, written, more};
  transport::copy(from, transport::slice(place, written, more), more);
  written += more;
}

QueuedPacket* Link::find(Path path, std::uint64_t order) noexcept {
  auto& packets = arriving_[static_cast<std::size_t>(path)];
  return packets.empty() || packets.front().order != order ? nullptr : &packets.front();
}

void Link::read_from(const Link& sender) noexcept {
  for (auto& packets : arriving_)
    for (QueuedPacket& packet : packets)
      if (packet.source != nullptr && packet.source->link == &sender) packet.read();
}

std::shared_ptr<ZcopySend> Device::add_zcopy_send(Link& link, const transport::Payload& memory,
                                                  transport::Completion* completion) {
  ++fabric_->statistics().zcopy_sends;
  return zcopy_sends_.emplace_back(std::make_shared<ZcopySend>(ZcopySend{&link, memory, completion, 1}));
}

/// A send whose packet was not read ends like this with its link alone.
Device::Event Device::end_zcopy_send(std::size_t at) noexcept {
  const std::shared_ptr<ZcopySend> ended = zcopy_sends_[at];
  zcopy_sends_.erase(zcopy_sends_.begin() + static_cast<std::ptrdiff_t>(at));
  return {.kind = Event::Kind::access,
          .link = ended->link,
          .completion = ended->completion,
          .status = ended->unread == 0 ? Status::ok : Status::peer_failed};
}

/// Asks for a place once, then writes there step by step. None: the packet can be delivered.
Device::Event Device::place_more(Link& link, QueuedPacket& packet) noexcept {
  if (packet.path == Path::pio || packet.bytes == 0 || packet.growth.is_under_way()) return {};
  if (!packet.asked) {
    packet.asked = true;
    if (!fabric_->chance(fabric_->options().places_percent)) return {};
    Event event{.kind = Event::Kind::ask, .link = &link, .cookie = link.cookie()};
    event.packet.header = packet.header;
    event.packet.bytes = packet.bytes;
    event.packet.order = packet.order;
    event.packet.path = packet.path;
    return event;
  }
  const std::uint32_t left = packet.bytes - packet.written;
  if (!packet.is_placed || left == 0) return {};
  packet.write(fabric_->chance(50) ? left : static_cast<std::uint32_t>(1 + fabric_->random(left - 1)));
  packet.due = step_ + fabric_->random(fabric_->options().delay);
  return {.kind = Event::Kind::placing};
}

/// Without the lock, during the upcall.
void Device::ask(Event& event) noexcept {
  const QueuedPacket& asked = event.packet;
  transport::Payload place{};
  callers_.set_asking(true);
  const bool has_place = sink_->place(sink_->self, event.cookie, &asked.header, asked.bytes, &place) != 0;
  callers_.set_asking(false);
  if (!has_place) return;
  if (place.length != asked.bytes) broken_contract("place", "a place of another length than the payload");
  const std::lock_guard lock(fabric_->mutex());
  ++fabric_->statistics().placed;
  QueuedPacket* const packet = event.link->find(asked.path, asked.order);
  if (packet == nullptr) return;  // lost with its sender
  packet->place = place;
  packet->is_placed = true;
}

}  // namespace stria::fake
