#include "transport/uct/stash.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace stria::uct {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{128} * 1024;

}  // namespace

Stash::Chunk Stash::make(std::size_t least) {
  if (spare_.bytes >= least) return std::exchange(spare_, {});
  const std::size_t bytes = std::max(least, kChunkBytes);
  return {std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes, 0, 0};
}

std::byte* Stash::append(Am id, std::size_t bytes) noexcept {
  static_assert(sizeof(Head) == 16);
  const std::size_t room = room_for(bytes);
  if (chunks_.empty() || chunks_.back().bytes - chunks_.back().filled < room) {
    try {
      if (count_ == 0) chunks_.clear();  // first() reads the first chunk, so that may not be an empty one
      chunks_.push_back(make(room));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  Chunk& last = chunks_.back();
  std::byte* const at = last.memory.get() + last.filled;
  const Head head{bytes, id};
  std::memcpy(at, &head, sizeof head);
  last.filled += room;
  ++count_;
  return at + sizeof head;
}

Stash::Message Stash::first() const noexcept {
  const Chunk& chunk = chunks_.front();
  const std::byte* const at = chunk.memory.get() + chunk.read;
  Head head{};
  std::memcpy(&head, at, sizeof head);
  return {head.id, {at + sizeof head, head.bytes}};
}

void Stash::drop_first() noexcept {
  Chunk& chunk = chunks_.front();
  chunk.read += room_for(first().bytes.size());
  --count_;
  if (chunk.read < chunk.filled) return;
  chunk.read = chunk.filled = 0;
  if (chunks_.size() == 1 && chunk.bytes == kChunkBytes)
    return;  // the chunk is filled again from its beginning
  if (chunk.bytes == kChunkBytes) spare_ = std::move(chunk);
  chunks_.pop_front();
}

}  // namespace stria::uct
