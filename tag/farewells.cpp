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

bool Farewells::send(const Peer& peer) noexcept {
  bool waits = false;
  std::erase_if(owed_, [&](const Owed& one) {
    if (one.peer != &peer) return false;
    const bool has_no_room = send(one) == Status::no_resource;
    waits = waits || has_no_room;
    return !has_no_room;
  });
  return waits;
}

Status Farewells::send(const Owed& owed) noexcept {
  return owed.device->link_ref(owed.link).send_control(wire::make_header(wire::Kind::gone, 0), nullptr, 0);
}

}  // namespace stria::tag
