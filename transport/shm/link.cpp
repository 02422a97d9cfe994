#include "transport/shm/link.hpp"

#include <exception>
#include <string>

#include "base/format.hpp"
#include "transport/shm/device.hpp"

namespace stria::shm {

unsigned Link::poll(unsigned budget) noexcept {
  ++device_->shared_.rounds;
  return device_->poll_link(*this, budget);
}

std::int32_t Link::take(transport::Header& wanted, void* memory, std::uint32_t capacity) noexcept {
  ++device_->shared_.rounds;
  if (rx_window_ == kNone || device_->armed_) return STRIA_TAKE_OTHER;
  Polled& polled = device_->polled_.of_window(rx_window_);
  const std::int32_t bytes = polled.window.take(wanted, static_cast<std::byte*>(memory), capacity);
  if (bytes != STRIA_TAKE_OTHER || capacity <= kHalfPayload) [[likely]]
    return bytes;
  return device_->take_cell(polled, polled.window.look(), wanted, static_cast<std::byte*>(memory), capacity);
}

void Link::limits(transport::LinkLimits& out) noexcept {
  out = {};
  outgoing_.limits(out);
  out.can_get = out.can_put = access_.can_copy() ? 1 : 0;
  out.can_map = access_.can_map() ? 1 : 0;
  out.can_atomic = access_.can_atomic() ? 1 : 0;
  out.far = distance_.is_far() || device_->shared_.settings.distance == DistanceMode::far ? 1 : 0;
  out.path = path_;
  out.fallback = access_.fallback();
}

void Link::describe(Texts& texts) noexcept try {
  std::string path = outgoing_.window_number() != kNone
                         ? fmt::format("pio window {} KiB", peer_.view.shape().window_bytes / 1024)
                         : std::string("inbox");
  if (access_.can_copy()) path += peer_.attached.same_process ? " + copy in process" : " + cma";
  if (access_.can_map() && !peer_.attached.same_process) path += " + mapped memory";
  path += fmt::format(" (attached by {})", peer_.attached.way);
  path_ = texts.keep(path).text;
} catch (const std::exception&) {
  // An old text is no harm.
}

}  // namespace stria::shm
