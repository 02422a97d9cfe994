// What all links of a device use: the device's adapter, memory and counters, and the parts of the device that
// a link calls. The worker's thread uses all of it; the connector's thread uses the adapter and the settings,
// which do not change.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "stria/provider.h"
#include "transport/verbs/abilities.hpp"
#include "transport/verbs/adapter.hpp"
#include "transport/verbs/buffers.hpp"
#include "transport/verbs/poster.hpp"
#include "transport/verbs/regions.hpp"
#include "transport/verbs/settings.hpp"

namespace stria::verbs {

class Completions;
class Ends;
class Moves;

struct Shared {
  Shared(const stria_services_t& of_worker, const Settings& of_device, std::unique_ptr<Adapter> of_host)
      : services(&of_worker),
        settings(of_device),
        adapter(std::move(of_host)),
        can(abilities_of(*adapter, settings)) {
    const hw::VerbsTraits& traits = adapter->traits;
    if (traits.has_windows()) settings.keys = std::min(settings.keys, traits.max_windows);
  }

  const stria_services_t* const services;
  Settings settings;
  const std::unique_ptr<Adapter> adapter;
  const Abilities can;
  Counters counters;
  SendSlots slots;  ///< where messages are packed
  SendSlots words;  ///< where the adapter writes the old value of a word that an atomic changes
  Regions regions;  ///< of the application's memory

  Moves* moves = nullptr;              ///< gets, puts and atomics
  Completions* completions = nullptr;  ///< of work requests that were posted
  Ends* ends = nullptr;                ///< takes links down
};

}  // namespace stria::verbs
