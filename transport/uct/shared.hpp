// What all links of a device share. Only the worker's thread uses it.
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
  std::string path;          ///< names the path of all links to people: "uct tcp/eth0"
  Stash loop;                ///< packets that the device sent to itself
  Kept kept;                 ///< payloads that the worker keeps in UCX's buffers
  UniqueFd wakeup;           ///< an eventfd that wakes the sleeping worker; empty if the device cannot sleep
  bool armed = false;        ///< the worker may be sleeping
  bool inside_ucx = false;   ///< the running code was called from inside a function of UCX
  std::vector<Link*> owing;  ///< links with Link::owed not 0, for Peers

  /// Wakes the worker, if it may be sleeping.
  void notify() const noexcept;
};

}  // namespace stria::uct
