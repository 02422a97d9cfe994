// The next packet of one link: it is delivered, or taken where it lies, if it is due. Now and then a look
// sees nothing, as the contract allows.
#include <cstring>

#include "transport/fake/event.hpp"

namespace stria::fake {
namespace {

constexpr std::uint32_t kSeesNothingPercent = 20;

}  // namespace

/// Of one look.
bool Device::sees_nothing() noexcept {
  const FabricOptions& options = fabric_->options();
  return !options.looks || fabric_->chance(kSeesNothingPercent) ||
         fabric_->chance(options.idle_percent[index_]);
}

unsigned Device::poll(Link& link, unsigned budget) noexcept {
  return run(
      "poll",
      [&] {
        ++step_;
        return sees_nothing() ? 0 : budget;
      },
      [&] { return next_packet(link); });
}

Device::Event Device::next_packet(Link& link) noexcept {
  const Path first = fabric_->chance(50) ? Path::pio : Path::buffered;
  for (const Path path : {first, first == Path::pio ? Path::buffered : Path::pio})
    if (link.due(path, step_)) return deliver(link, path);
  return {};
}

std::int32_t Device::take(Link& link, transport::Header& header, void* memory,
                          std::uint32_t capacity) noexcept {
  const Callers::Use use(callers_, "take");
  const std::lock_guard lock(fabric_->mutex());
  ++step_;
  if (dead_ || sees_nothing()) return STRIA_TAKE_OTHER;
  bool is_other = false;
  for (const Path path : {Path::pio, Path::buffered}) {
    if (!link.due(path, step_)) continue;
    const QueuedPacket& next = link.front(path);
    const transport::Header& came = next.header;
    const bool is_wanted = came.kind == header.kind && came.flags == header.flags &&
                           came.sequence == header.sequence && came.tag == header.tag;
    is_other = true;
    if (!is_wanted || next.bytes > capacity || next.is_under_way() || next.growth.is_under_way() ||
        next.ends_key.bytes != 0)
      continue;
    const QueuedPacket packet = link.take(path);
    if (packet.bytes != 0) std::memcpy(memory, packet.payload.data(), packet.bytes);
    header.immediate = packet.header.immediate;
    ++fabric_->statistics().taken;
    return static_cast<std::int32_t>(packet.bytes);
  }
  return is_other ? STRIA_TAKE_OTHER : STRIA_TAKE_NOTHING;
}

unsigned Link::poll(unsigned budget) noexcept {
  return owner_.poll(*this, budget);
}

std::int32_t Link::take(transport::Header& header, void* memory, std::uint32_t capacity) noexcept {
  return owner_.take(*this, header, memory, capacity);
}

}  // namespace stria::fake
