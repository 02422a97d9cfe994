// What all links of a device use. The worker's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "stria/provider.h"
#include "transport/uct/interface.hpp"
#include "transport/uct/kept.hpp"
#include "transport/uct/stash.hpp"

namespace stria::uct {

class Ends;
class Keys;
class Link;
class Moves;
class Operations;

struct Shared {
  const stria_services_t* services = nullptr;
  Interface* interface = nullptr;
  Ends* ends = nullptr;
  Operations* operations = nullptr;
  Moves* moves = nullptr;
  Keys* keys = nullptr;
  Limits limits;
  std::string path;  ///< "uct tcp/eth0", of all links
  Stash loop;        ///< what the device sent to itself
  Kept kept;         ///< payloads that lie in UCX's buffers
  UniqueFd wakeup;   ///< an eventfd that wakes the sleeping worker; none where the interface wakes nobody
  bool armed = false;
  bool inside_ucx = false;   ///< a function of UCX runs, and has called what runs now
  std::vector<Link*> owing;  ///< links whose peers are still to be told something; Peers

  void notify() const noexcept;
};

}  // namespace stria::uct
