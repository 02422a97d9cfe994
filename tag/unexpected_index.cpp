#include "tag/unexpected_index.hpp"

namespace stria::tag {

bool UnexpectedIndex::make_links(const UnexpectedPool& pool) noexcept {
  try {
    links_.resize(pool.end());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool UnexpectedIndex::start(const UnexpectedPool& pool, bool any_source, std::uint64_t ignore) noexcept {
  stop();
  if (!table_.open() || !make_links(pool)) return false;
  any_source_ = any_source;
  ignore_ = ignore;
  unused_for_ = 0;
  active_ = true;
  return true;
}

void UnexpectedIndex::push(const UnexpectedPool& pool, const Unexpected& entry) noexcept {
  if (entry.self >= links_.size() && !make_links(pool)) {
    stop();  // receives then walk the queue again
    return;
  }
  ++unused_for_;
  table_.push(items(pool), entry.self, items(pool).key_of(entry.self));
}

}  // namespace stria::tag
