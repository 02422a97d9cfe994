// Keys for the application's memory, as the contract asks for them: which kind serves, how one begins, and
// how this side ends it.
//
//   contiguous                          a memory window
//   lies apart, and the adapter has     a strided key: one run for the reader
//   strided keys that take it
//   equal blocks at equal distances     a window over all of it, and the blocks in the key
//   for all links, or without windows,  the last two with a region of the key's own
//   or memory that may not be written
//
// Memory that the driver does not register has no key, and its messages go packed, through the provider's
// own memory.
#include <limits>

#include "transport/verbs/device.hpp"

namespace stria::verbs {
namespace {

/// The memory is registered whole: not much that is mostly gaps.
bool is_dense(std::uint64_t span, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kSparse = 64, kMuch = 256 << 10;
  return span <= kMuch || span / kSparse <= bytes;
}

}  // namespace

/// The memory of a key over its blocks; false: none can describe it.
bool Device::describe(const transport::Payload& memory, Blocks& out, Span& span) const noexcept {
  constexpr std::int64_t kMostSmall = 1024;  // blocks of less than kSmall: packing them takes no longer
  constexpr std::int64_t kSmall = 4096;
  stria_blocks_t blocks{};
  if (memory.count <= 0 || services_->size < sizeof *services_ || services_->blocks(&memory, &blocks) == 0)
    return false;
  if (blocks.count > kMostSmall && blocks.bytes < kSmall) return false;
  out.first = reinterpret_cast<std::uint64_t>(blocks.first);
  out.block = static_cast<std::uint64_t>(blocks.bytes);
  out.stride = blocks.stride;
  if (__builtin_mul_overflow(out.block, static_cast<std::uint64_t>(blocks.count), &out.bytes)) return false;
  if (!out.is_one() && out.block > std::numeric_limits<decltype(KeyStride::block)>::max()) return false;
  return span_of(out, span) && is_dense(span.bytes, out.bytes);
}

Status Device::fast_register(Link* link, const transport::Payload& memory, unsigned access,
                             transport::Key& key) noexcept {
  if ((access & STRIA_REGISTER_MAPPED) != 0) return Status::unsupported;
  // A key for ourselves belongs to the other end of the connection, which comes with it.
  if (link != nullptr && link->worker() == worker_id_ && !link->is_attached() && !link->dying)
    return Status::no_resource;
  if (link != nullptr && adapter_->strided) {
    const Status answer = register_strided(*link, memory, access, key);
    if (answer != Status::unsupported) return answer;
  }
  Blocks blocks;
  Span span;
  if (!describe(memory, blocks, span)) return Status::unsupported;
  if ((access & STRIA_REGISTER_GATHERED) != 0 && !blocks.is_one()) return Status::unsupported;
  if (link == nullptr || !adapter_->traits.has_windows())
    return keys_.add_region(blocks, span, access, link == nullptr, key);
  if (link->dying) return Status::peer_failed;
  if (span.bytes > adapter_->traits.max_window_bytes) return Status::unsupported;
  const bool reads_only = (access & (STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC)) == 0;
  Region* const region = regions_.acquire(reinterpret_cast<const void*>(span.begin), span.bytes,
                                          Regions::Use::window, !reads_only);
  if (region == nullptr)
    return reads_only ? keys_.add_region(blocks, span, access, false, key) : Status::unsupported;
  Link& owner = link->responder();
  Window* const window = keys_.take(owner, *region, span, access);
  if (window == nullptr) {
    regions_.release(region);
    return Status::no_resource;
  }
  // A peer need not know where the memory lies.
  if (is_from_zero(window->rights, adapter_->traits.zero_based)) blocks.first -= span.begin;
  return hand_out(owner, *window, blocks, key);
}

/// Memory that lies apart behind one key that shows it as one run. Unsupported: it is one run as it is, or no
/// key of the adapter takes it, or it makes no more of them.
Status Device::register_strided(Link& link, const transport::Payload& memory, unsigned access,
                                transport::Key& key) noexcept {
  const datatype::Layout* const layout = transport::layout_of(memory);
  if (layout == nullptr || layout->is_contiguous(memory.count)) return Status::unsupported;
  if (link.dying) return Status::peer_failed;
  hw::KeyPattern pattern;
  if (!hw::fill_pattern(*layout, memory.count, reinterpret_cast<std::uint64_t>(memory.base),
                        adapter_->traits.strided, pattern) ||
      !is_dense(pattern.end - pattern.begin, pattern.bytes))
    return Status::unsupported;
  Region* const region = regions_.acquire(reinterpret_cast<const void*>(pattern.begin),
                                          pattern.end - pattern.begin, Regions::Use::window, false);
  if (region == nullptr) return Status::unsupported;
  Link& owner = link.responder();
  Window* const window = keys_.take_strided(owner, *region, pattern, access);
  if (window == nullptr) {
    regions_.release(region);
    return Status::unsupported;
  }
  return hand_out(owner, *window, {0, pattern.bytes, pattern.bytes, 0}, key);
}

/// The key goes out with the next packet of the link.
Status Device::hand_out(Link& owner, Window& window, const Blocks& memory, transport::Key& key) noexcept {
  const Status chosen = owner.choose(window);
  if (chosen == Status::ok)
    Keys::fill(window, memory, key);
  else if (!window.posted)
    keys_.free(window);
  return chosen;
}

Status Device::invalidate(const transport::Key& key) noexcept {
  KeyContent data;
  if (!read_key(key, data)) return Status::access_error;
  if (data.kind == KeyKind::region) return keys_.remove_region(data);
  Window* const window = keys_.find(data.rkey);
  if (window == nullptr || (window->strided != nullptr) != (data.kind == KeyKind::strided))
    return Status::access_error;
  const bool from_zero =
      window->strided == nullptr && is_from_zero(window->rights, adapter_->traits.zero_based);
  if (data.span.begin != (from_zero ? 0 : window->span.begin) || window->span.bytes != data.span.bytes)
    return Status::access_error;
  Link& link = *window->link;
  if (!window->posted) {
    link.withdraw(*window);
    keys_.free(*window);
    return Status::ok;
  }
  ++counters_.closed_here;
  if (link.end_window(*window) == Status::ok)
    keys_.free(*window);
  else
    keys_.destroy(*window);
  return Status::ok;
}

void Device::end_windows_of(Link& link) noexcept {
  while (Window* window = link.windows().front()) {
    link.withdraw(*window);
    if (window->posted)
      keys_.destroy(*window);
    else
      keys_.free(*window);
  }
}

}  // namespace stria::verbs
