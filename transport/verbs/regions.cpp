#include "transport/verbs/regions.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "transport/verbs/buffers.hpp"

namespace stria::verbs {

void Regions::open(ibv_pd* pd, bool may_bind, unsigned sink_rights, const stria_services_t& services,
                   Counters& counters) noexcept {
  pd_ = pd;
  rights_ = IBV_ACCESS_LOCAL_WRITE | (may_bind ? unsigned{IBV_ACCESS_MW_BIND} : 0u);
  sink_rights_ = sink_rights;
  services_ = &services;
  counters_ = &counters;
}

Regions::~Regions() {
  for (auto& [begin, region] : by_begin_) ::ibv_dereg_mr(region->mr);
}

ibv_mr* Regions::register_memory(std::uintptr_t begin, std::uintptr_t end, unsigned rights) noexcept {
  ibv_mr* const mr = ::ibv_reg_mr(pd_, reinterpret_cast<void*>(begin), end - begin, static_cast<int>(rights));
  if (mr != nullptr) {
    ++counters_->registrations;
    return mr;
  }
  const int error = errno;
  if (!told_) try {
      told_ = true;
      services_->log(3, fmt::format("verbs: {} bytes of the application's memory cannot be registered: {}{}; "
                                    "such messages are copied",
                                    end - begin, std::strerror(error), locked_memory_hint(error))
                            .c_str());
    } catch (const std::exception&) {
      // Only the words are lost.
    }
  return nullptr;
}

Region* Regions::add(std::uintptr_t begin, std::uintptr_t end, unsigned rights, bool shared) noexcept try {
  auto region = std::make_unique<Region>();
  region->mr = register_memory(begin, end, rights);
  if (region->mr == nullptr) return nullptr;
  region->begin = begin;
  region->end = end;
  region->users = 1;
  region->shared = shared;
  if (!shared) return region.release();
  return by_begin_.emplace(begin, std::move(region))->second.get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

Region* Regions::acquire(const void* memory, std::uint64_t bytes, Use use) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t end = begin + bytes;
  if (use == Use::sink && sink_rights_ != 0) return add(begin, end, rights_ | sink_rights_, false);
  auto at = by_begin_.upper_bound(begin);
  while (at != by_begin_.begin()) {
    Region& region = *(--at)->second;
    if (region.end >= end) {
      ++region.users;
      ++counters_->registrations_met;
      return &region;
    }
    break;  // a longer one further down is not looked for: the memory is registered once more
  }
  return add(begin, end, rights_, true);
}

void Regions::release(Region* region) noexcept {
  if (--region->users > 0) return;
  ::ibv_dereg_mr(region->mr);
  if (!region->shared) {
    delete region;
    return;
  }
  const auto [from, to] = by_begin_.equal_range(region->begin);
  for (auto at = from; at != to; ++at)
    if (at->second.get() == region) {
      by_begin_.erase(at);
      return;
    }
}

ibv_mr* Regions::make_key(const void* memory, std::uint64_t bytes, unsigned rights) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return register_memory(begin, begin + bytes, rights);
}

}  // namespace stria::verbs
