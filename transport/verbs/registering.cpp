// Makes keys, each of the kind that serves its memory.
#include <limits>

#include "transport/payload.hpp"
#include "transport/verbs/key_maker.hpp"
#include "transport/verbs/link.hpp"

namespace stria::verbs {
namespace {

/// Whether the length of a block fits its field in the bytes of a key.
bool fits_key(const Blocks& blocks) noexcept {
  return blocks.is_one() || blocks.block <= std::numeric_limits<decltype(KeyStride::block)>::max();
}

}  // namespace

void KeyMaker::open() noexcept {
  const Adapter& adapter = *shared_.adapter;
  const hw::VerbsTraits& traits = adapter.traits;
  keys_.open(adapter.pd, shared_.regions, traits.has_windows(), shared_.settings.keys, shared_.counters);
  if (adapter.strided) keys_.open_strided(*adapter.strided, traits.strided.entries);
}

Status KeyMaker::fast_register(Link* link, const transport::Payload& memory, unsigned access,
                               transport::Key& key) noexcept {
  if ((access & STRIA_REGISTER_MAPPED) != 0) return Status::unsupported;
  // A key for ourselves belongs to the other end of a connection, which is not there yet.
  if (link != nullptr && link->worker() == worker_id_ && !link->is_attached() && !link->dying)
    return Status::no_resource;
  if (link != nullptr && shared_.adapter->strided) {
    const Status answer = register_strided(*link, memory, access, key);
    if (answer != Status::unsupported) return answer;
  }
  Blocks blocks;
  Span span;
  if (!transport::describe(*shared_.services, memory, blocks, span) || !fits_key(blocks))
    return Status::unsupported;
  if ((access & STRIA_REGISTER_GATHERED) != 0 && !blocks.is_one()) return Status::unsupported;
  if (link == nullptr || !shared_.adapter->traits.has_windows())
    return keys_.add_region(blocks, span, access, link == nullptr, key);
  if (link->dying) return Status::peer_failed;
  if (span.bytes > shared_.adapter->traits.max_window_bytes) return Status::unsupported;
  const bool reads_only = (access & (STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC)) == 0;
  Region* const region = shared_.regions.acquire(reinterpret_cast<const void*>(span.begin), span.bytes,
                                                 Regions::Use::window, !reads_only);
  if (region == nullptr)
    return reads_only ? keys_.add_region(blocks, span, access, false, key) : Status::unsupported;
  Link& owner = link->responder();
  Window* const window = keys_.take(owner, *region, span, access);
  if (window == nullptr) {
    shared_.regions.release(region);
    return Status::no_resource;
  }
  // With a zero-based window the peer does not learn where the memory lies.
  if (is_from_zero(window->rights, shared_.adapter->traits.zero_based)) blocks.first -= span.begin;
  return hand_out(owner, *window, blocks, key);
}

/// Makes a strided key, which shows memory that lies apart as one run. Unsupported: the memory is one run as
/// it is, or no strided key takes it, or it cannot be registered so, or no strided key is left.
Status KeyMaker::register_strided(Link& link, const transport::Payload& memory, unsigned access,
                                  transport::Key& key) noexcept {
  const datatype::Layout* const layout = transport::layout_of(memory);
  if (layout == nullptr || layout->is_contiguous(memory.count)) return Status::unsupported;
  if (link.dying) return Status::peer_failed;
  hw::KeyPattern pattern;
  if (!hw::fill_pattern(*layout, memory.count, reinterpret_cast<std::uint64_t>(memory.base),
                        shared_.adapter->traits.strided, pattern) ||
      !transport::is_dense(pattern.end - pattern.begin, pattern.bytes))
    return Status::unsupported;
  Region* const region = shared_.regions.acquire(reinterpret_cast<const void*>(pattern.begin),
                                                 pattern.end - pattern.begin, Regions::Use::window, false);
  if (region == nullptr) return Status::unsupported;
  Link& owner = link.responder();
  Window* const window = keys_.take_strided(owner, *region, pattern, access);
  if (window == nullptr) {
    shared_.regions.release(region);
    return Status::unsupported;
  }
  return hand_out(owner, *window, {0, pattern.bytes, pattern.bytes, 0}, key);
}

}  // namespace stria::verbs
