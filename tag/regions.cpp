#include "tag/regions.hpp"

#include "base/format.hpp"
#include "tag/memory.hpp"
#include "transport/atomic_word.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

Regions::~Regions() {
  table_.for_each([](Region& region) { delete &region; });
}

unsigned Regions::rights_for(const Device& device, unsigned access) const noexcept {
  constexpr unsigned kMoves = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;
  const bool performs = device.atomics == Device::Atomics::cpu ||
                        (device.atomics == Device::Atomics::adapter && devices_.size() == 1 &&
                         (access & STRIA_ACCESS_ATOMIC_WITH_CPU) == 0);
  return access & (performs ? kMoves | STRIA_ACCESS_REMOTE_ATOMIC : kMoves);
}

Result<Region*> Regions::add(Worker& worker, void* base, const stria_layout_t* layout, std::uint64_t count,
                             unsigned access) {
  stria_payload_t memory;
  if (describe_memory(base, layout, count, memory) != Status::ok)
    return Error{Status::invalid, fmt::format("a region of {} instances leaves 64 bits", count)};
  if ((access & ~kAllAccess) != 0 || access == 0)
    return Error{Status::invalid, fmt::format("access {:#x} is not made of STRIA_ACCESS_* bits", access)};
  if ((access & STRIA_ACCESS_ATOMIC_WITH_CPU) != 0 && (access & STRIA_ACCESS_REMOTE_ATOMIC) == 0)
    return Error{Status::invalid, fmt::format("access {:#x} has STRIA_ACCESS_ATOMIC_WITH_CPU without "
                                              "STRIA_ACCESS_REMOTE_ATOMIC",
                                              access)};
  auto region = std::make_unique<Region>();
  region->worker = &worker;
  region->layout = layout == nullptr ? nullptr : stria_layout_retain(layout);
  region->memory = memory;
  region->access = access;
  region->keys.resize(devices_.size());
  region->id = table_.insert(region.get());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Device& device = devices_[i];
    const unsigned rights = rights_for(device, access);
    stria_provider_key_t key{};
    // A device without a key for this memory is no obstacle: the engine serves puts, gets and atomics itself.
    if (rights == 0 ||
        device.ops->fast_register(device.handle, nullptr, &region->memory, rights, &key) != STRIA_OK)
      continue;
    region->keys[i] = key;
    if (device.atomics == Device::Atomics::adapter && (rights & STRIA_ACCESS_REMOTE_ATOMIC) != 0)
      region->performer = KeyHead::kAdapter;
  }
  return region.release();
}

void Regions::withdraw(const Region& region) noexcept {
  table_.erase(region.id);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (region.keys[i].bytes != 0)
      static_cast<void>(devices_[i].ops->invalidate(devices_[i].handle, &region.keys[i]));
  }
}

Status Regions::find(std::uint64_t region_id, unsigned right, const wire::RmaBody& body,
                     stria_payload_t& memory) const noexcept {
  const Region* region = table_.find(region_id);
  if (region == nullptr || (region->access & right) == 0) return Status::access_error;
  const auto length = static_cast<std::uint64_t>(region->memory.length);
  if (body.offset > length || body.length > length - body.offset) return Status::access_error;
  memory = transport::slice(region->memory, body.offset, body.length);
  return Status::ok;
}

Status Regions::perform(std::uint64_t region_id, const transport::Atomic& what,
                        std::uint64_t& before) const noexcept {
  const Region* region = table_.find(region_id);
  if (region == nullptr || (region->access & STRIA_ACCESS_REMOTE_ATOMIC) == 0) return Status::access_error;
  // An atomic of this CPU would not be atomic with those of the adapter.
  if (region->performer == KeyHead::kAdapter) return Status::unsupported;
  const auto length = static_cast<std::uint64_t>(region->memory.length);
  if (length < transport::kWordBytes || what.offset > length - transport::kWordBytes)
    return Status::access_error;
  if (!transport::is_atomic_op(what.op) || what.offset % transport::kWordBytes != 0) return Status::invalid;
  std::uint64_t* word = nullptr;
  if (const Status found = transport::find_word(region->memory, what.offset, word); found != Status::ok)
    return found;
  before = transport::perform(what, *word);
  return Status::ok;
}

}  // namespace stria::tag
