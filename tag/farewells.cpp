#include "tag/farewells.hpp"

#include <algorithm>
#include <new>

#include "base/log.hpp"

namespace stria::tag {

void Farewells::owe(const Peer& peer, const Device& device, stria_link_t* link) noexcept try {
  owed_.push_back({&peer, &device, link});
} catch (const std::bad_alloc&) {
  log::error("out of memory: worker {:#x} is not told that it was given up", peer.worker_id);
}

void Farewells::link_down(const Peer& peer, const Device& device) noexcept {
  std::erase_if(owed_, [&](const Owed& one) { return one.peer == &peer && one.device == &device; });
}

void Farewells::send() noexcept {
  std::erase_if(owed_, [](const Owed& one) {
    const transport::LinkRef link = one.device->link_ref(one.link);
    return link.send_control(wire::make_header(wire::Kind::gone, 0), nullptr, 0) != Status::no_resource;
  });
}

}  // namespace stria::tag
