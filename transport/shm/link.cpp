#include "transport/shm/link.hpp"

#include <exception>
#include <string>

#include "base/format.hpp"
#include "transport/shm/texts.hpp"

namespace stria::shm {

void Link::limits(transport::LinkLimits& out) noexcept {
  out = {};
  outgoing_.limits(out);
  out.can_get = out.can_put = access_.can_copy() ? 1 : 0;
  out.can_map = access_.can_map() ? 1 : 0;
  out.can_atomic = access_.can_atomic() ? 1 : 0;
  out.far = peer_.distance.is_far() ? 1 : 0;
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
  // No memory: the link keeps its old text, which does no harm.
}

}  // namespace stria::shm
