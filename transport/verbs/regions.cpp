#include "transport/verbs/regions.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "base/format.hpp"
#include "transport/verbs/buffers.hpp"

namespace stria::verbs {
namespace {

/// How many regions that begin at or before the memory find() checks for whether they reach its end.
constexpr unsigned kMostChecked = 4;

/// Rights for which the kernel demands that the memory may be written.
constexpr unsigned kWrites =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

}  // namespace

void Regions::open(const Setup& setup, const stria_services_t& services, Counters& counters) {
  pd_ = setup.pd;
  rights_ = IBV_ACCESS_LOCAL_WRITE | (setup.may_bind ? unsigned{IBV_ACCESS_MW_BIND} : 0u);
  sink_rights_ = setup.sink_rights;
  keep_bytes_ = setup.keep_bytes;
  services_ = &services;
  counters_ = &counters;
  page_ = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  if (keep_bytes_ > 0) watch_ = MemoryWatch::get(setup.watch, services);
  const std::string kept =
      watch_ != nullptr ? fmt::format("up to {} MiB stay registered; memory that goes away is told by {}",
                                      keep_bytes_ >> 20, watch_->told_by())
                        : "nothing stays registered";
  services.log(2, fmt::format("verbs: {} (STRIA_VERBS_CACHE_BYTES, STRIA_VERBS_MEMORY_WATCH)", kept).c_str());
}

void Regions::close() noexcept {
  while (Region* region = unused_.front()) destroy(region);
  while (!by_begin_.empty()) destroy(by_begin_.begin()->second);
}

/// Registers [begin, end). Null: refused, now or lately.
ibv_mr* Regions::register_memory(std::uintptr_t begin, std::uintptr_t end, unsigned rights,
                                 Asking how) noexcept {
  const bool writes = (rights & kWrites) != 0;
  if (!how.insist && !refused_.allow(begin, end, writes)) return nullptr;
  ibv_mr* const mr = ::ibv_reg_mr(pd_, reinterpret_cast<void*>(begin), end - begin, static_cast<int>(rights));
  if (mr != nullptr) {
    ++counters_->registrations;
    refused_.worked(begin, end, writes);
    return mr;
  }
  const int error = errno;
  refused_.refused(begin, end, writes);
  if (!how.tell || told_) return nullptr;
  told_ = true;
  try {
    services_->log(3, fmt::format("verbs: {} bytes of the application's memory cannot be registered: {}{}; "
                                  "such messages are copied",
                                  end - begin, std::strerror(error), locked_memory_hint(error))
                          .c_str());
  } catch (const std::bad_alloc&) {
    // Out of memory: only the log's text is lost.
  }
  return nullptr;
}

/// A known region that covers [begin, end) and whose memory is still there; null: none is found.
Region* Regions::find(std::uintptr_t begin, std::uintptr_t end, bool writable) noexcept {
  auto at = by_begin_.upper_bound(begin);
  for (unsigned checked = 0; checked < kMostChecked && at != by_begin_.begin(); ++checked) {
    Region& region = *(--at)->second;
    if (region.end < end || (writable && !region.writable)) continue;
    if (region.mark == MemoryWatch::kNone || !watch_->is_gone(region.mark)) return &region;
    // The region names pages that are not the application's any more. Present users go on with them.
    ++counters_->registrations_gone;
    if (region.users > 0)
      forget(region);
    else
      destroy(&region);
    at = by_begin_.upper_bound(begin);
  }
  return nullptr;
}

Region* Regions::acquire(const void* memory, std::uint64_t bytes, Use use, bool tell) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t end = begin + bytes;
  if (use == Use::sink && sink_rights_ != 0) return add(begin, end, use, false, tell);
  Region* const found = find(begin, end, use != Use::source);
  if (found == nullptr) return add(begin, end, use, true, tell);
  ++counters_->registrations_met;
  if (found->users++ == 0) {
    found->unlink();
    kept_bytes_ -= found->end - found->begin;
  }
  return found;
}

/// Registers memory as a new region with one user; null: it cannot be registered.
Region* Regions::add(std::uintptr_t begin, std::uintptr_t end, Use use, bool shared, bool tell) noexcept try {
  auto region = std::make_unique<Region>();
  region->begin = begin;
  region->end = end;
  region->users = 1;
  region->shared = shared;
  if (shared && watch_ != nullptr) {
    // Whole pages, so that memory on the same pages finds the region. They are watched before they are
    // registered, so that nothing is missed.
    const std::uintptr_t first = begin / page_ * page_, last = (end + page_ - 1) / page_ * page_;
    region->mark = watch_->add(first, last);
    if (region->mark != MemoryWatch::kNone) {
      region->begin = first;
      region->end = last;
    }
  }
  const bool may_be_read_only = use == Use::source;
  region->mr = register_memory(region->begin, region->end, shared ? rights_ : rights_ | sink_rights_,
                               {tell && !may_be_read_only, false});
  if (region->mr == nullptr && may_be_read_only) {
    region->writable = false;
    region->mr = register_memory(region->begin, region->end, 0, {tell, false});
  }
  if (region->mr == nullptr) {
    if (region->mark != MemoryWatch::kNone) watch_->remove(region->mark);
    return nullptr;
  }
  Region* const made = region.release();
  if (!shared) return made;
  try {
    by_begin_.emplace(made->begin, made);
    made->known = true;
  } catch (const std::bad_alloc&) {
    made->shared = false;
  }
  return made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void Regions::release(Region* region) noexcept {
  if (--region->users > 0) return;
  if (!region->known || region->mark == MemoryWatch::kNone) {
    destroy(region);
    return;
  }
  unused_.push_back(region);
  kept_bytes_ += region->end - region->begin;
  for (Region* oldest = unused_.front(); kept_bytes_ > keep_bytes_ && oldest != nullptr;) {
    Region* const next = unused_.next(oldest);
    ++counters_->registrations_evicted;
    destroy(oldest);
    oldest = next;
  }
}

/// Makes the region unknown to find().
void Regions::forget(Region& region) noexcept {
  if (!region.known) return;
  region.known = false;
  const auto [from, to] = by_begin_.equal_range(region.begin);
  for (auto at = from; at != to; ++at)
    if (at->second == &region) {
      by_begin_.erase(at);
      return;
    }
}

void Regions::destroy(Region* region) noexcept {
  if (region->linked()) {
    region->unlink();
    kept_bytes_ -= region->end - region->begin;
  }
  forget(*region);
  if (region->mark != MemoryWatch::kNone) watch_->remove(region->mark);
  ::ibv_dereg_mr(region->mr);
  delete region;
}

ibv_mr* Regions::make_key(const void* memory, std::uint64_t bytes, unsigned rights, bool lasting) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return register_memory(begin, begin + bytes, rights, {true, lasting});
}

}  // namespace stria::verbs
