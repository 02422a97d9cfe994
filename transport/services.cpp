#include "transport/services.hpp"

#include "base/log.hpp"
#include "base/processor.hpp"
#include "datatype/pack.hpp"
#include "hw/machine.hpp"
#include "hw/string_copy.hpp"
#include "transport/contract.hpp"
#include "transport/memory_hooks.hpp"
#include "transport/payload.hpp"

namespace stria::transport {
namespace {

std::size_t list(const stria_payload_t& payload, struct iovec* out, std::size_t max,
                 std::int64_t* covered) noexcept {
  *covered = 0;
  if (payload.length == 0 || max == 0) return 0;
  if (payload.layout != nullptr) return datatype::iovecs(range_of(payload), out, max, covered);
  out[0] = {contiguous_begin(payload), static_cast<std::size_t>(payload.length)};
  *covered = payload.length;
  return 1;
}

int blocks(const stria_payload_t& payload, stria_blocks_t& out) noexcept {
  auto* const base = static_cast<std::byte*>(payload.base);
  const datatype::Layout* const layout = layout_of(payload);
  if (layout == nullptr) {
    out = {base, 1, payload.count, 0};
    return 1;
  }
  const std::int64_t count = payload.count;
  const datatype::Node& root = layout->root();
  if (count <= 0 || layout->size() == 0) return 0;
  std::byte* const first = base + layout->origin();
  if (const datatype::Block* block = root.block()) {
    if (layout->is_contiguous(count))
      out = {first, 1, block->bytes * count, 0};
    else
      out = {first, count, block->bytes, layout->extent()};
    return 1;
  }
  const datatype::Strided* const strided = root.strided();
  const datatype::Block* const block = strided != nullptr ? strided->child->block() : nullptr;
  // With several instances, each must begin where one more block of the instance before would.
  std::int64_t length = 0;
  if (block == nullptr || __builtin_mul_overflow(strided->count, strided->stride, &length) ||
      (count > 1 && layout->extent() != length))
    return 0;
  out = {first, strided->count * count, block->bytes, strided->stride};
  return 1;
}

/// Levels of the contract: 2 info, 3 warning, 4 error.
void write_log(int level, const char* text) noexcept {
  const log::Level at = level >= 4 ? log::Level::error : level == 3 ? log::Level::warn : log::Level::info;
  if (at >= log::level()) log::write(at, text);
}

constexpr stria_services_t kServices = {
    .size = sizeof(stria_services_t),
    .version = STRIA_PROVIDER_VERSION,
    .pack = [](const stria_payload_t* payload, void* out) { pack(*payload, out); },
    .unpack = [](const stria_payload_t* payload, const void* in) { unpack(*payload, in); },
    .iovecs = [](const stria_payload_t* payload, struct iovec* out, size_t max,
                 int64_t* covered) { return list(*payload, out, max, covered); },
    .log = [](int level, const char* text) { write_log(level, text); },
    .blocks = [](const stria_payload_t* payload, stria_blocks_t* out) { return blocks(*payload, *out); },
    .watch_memory = [](stria_memory_released_t released,
                       void* self) { return watch_memory(released, self) ? 1 : 0; },
    .unwatch_memory = [](stria_memory_released_t released, void* self) { unwatch_memory(released, self); },
};

}  // namespace

namespace {

/// Copies memory of this process that no other core has in its cache. What outgrows the first-level cache is
/// copied by the string instruction, which takes the lines of the target without reading them, unless the two
/// addresses do not suit it (docs/notebook/messages.md).
void copy_own(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t kStringsLeast = 24576;
  static const bool fast = processor().fast_strings && hw::choices().own_strings;
  if (bytes < kStringsLeast || !fast || !hw::string_copy_anywhere(to, from, bytes))
    datatype::copy_bytes(to, from, bytes);
}

}  // namespace

void copy(const stria_payload_t& from, const stria_payload_t& to, int64_t bytes) noexcept {
  if (bytes == 0) return;  // the addresses may be null
  const auto length = static_cast<std::uint64_t>(bytes);
  if (from.layout == nullptr && to.layout == nullptr) {
    copy_own(contiguous_begin(to), contiguous_begin(from), static_cast<std::size_t>(length));
  } else if (to.layout == nullptr) {
    pack(slice(from, 0, length), contiguous_begin(to));
  } else if (from.layout == nullptr) {
    unpack(slice(to, 0, length), contiguous_begin(from));
  } else {
    datatype::transfer(range_of(slice(from, 0, length)), range_of(slice(to, 0, length)));
  }
}

void copy_long_across(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  static const bool fast = processor().fast_strings && hw::choices().long_strings;
  if (!fast || !hw::string_copy_anywhere(to, from, bytes)) datatype::copy_bytes(to, from, bytes);
}

Arrival take_arriving(const Payload& memory, const Packet& packet) noexcept {
  const auto& arriving = reinterpret_cast<const stria_arriving_t&>(packet);
  const auto bytes = static_cast<std::uint32_t>(memory.length);  // of a packet: 32 bits
  if (bytes > 0 && !goes_by_pieces(memory) && !has_runs(memory, kManyRuns)) {
    const Arrival came = arrival_of(arriving.arrived(&arriving, bytes), bytes);
    if (came == Arrival::whole) unpack(memory, packet.payload);
    return came;
  }
  const auto step = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(turned_bytes(memory), 1, std::max<std::int64_t>(memory.length, 1)));
  const bool by_string = goes_by_string(memory, packet);
  for (std::uint32_t at = 0; at < bytes;) {
    const std::uint32_t wanted = at + std::min(step, bytes - at);
    const std::uint32_t there = arriving.arrived(&arriving, wanted);
    if (there < wanted) return arrival_of(there, wanted);
    const std::uint32_t part = std::min(there, bytes) - at;
    const std::byte* from = static_cast<const std::byte*>(packet.payload) + at;
    if (by_string)
      copy_long_across(contiguous_begin(memory) + at, from, part);
    else
      unpack(slice(memory, at, part), from);
    at += part;
  }
  return Arrival::whole;
}

const stria_services_t& services() noexcept {
  return kServices;
}

}  // namespace stria::transport
