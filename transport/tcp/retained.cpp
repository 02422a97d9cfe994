#include "transport/tcp/retained.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "transport/payload.hpp"

namespace stria::tcp {

/// The room for the next bytes. Empty: they are not retained.
std::span<std::byte> Retained::room() noexcept try {
  if (!keeps_) return {};
  if (end_ == filled_to()) {
    buffers_.reserve(buffers_.size() + 1);
    auto buffer = pool_.take();
    if (buffer == nullptr) return {};
    buffers_.push_back(std::move(buffer));
  }
  const std::size_t used = (end_ - base_) % kBytes;
  return {buffers_.back().get() + used, kBytes - used};
} catch (const std::bad_alloc&) {
  return {};
}

/// Bytes that are not retained count as acknowledged. The link ends if they have to be sent once more.
void Retained::add(std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const std::span<std::byte> here = room();
    if (here.empty()) return skip(bytes.size());
    const std::size_t count = std::min(here.size(), bytes.size());
    std::memcpy(here.data(), bytes.data(), count);
    cursor_ = end_ += count;
    bytes = bytes.subspan(count);
  }
}

void Retained::add(const transport::Payload& bytes) noexcept {
  if (bytes.layout == nullptr)
    return add({transport::contiguous_begin(bytes), static_cast<std::size_t>(bytes.length)});
  const auto all = static_cast<std::uint64_t>(bytes.length);
  for (std::uint64_t done = 0; done < all;) {
    const std::span<std::byte> here = room();
    if (here.empty()) return skip(all - done);
    const std::uint64_t count = std::min<std::uint64_t>(here.size(), all - done);
    transport::pack(transport::slice(bytes, done, count), here.data());
    cursor_ = end_ += count;
    done += count;
  }
}

void Retained::skip(std::uint64_t bytes) noexcept {
  cursor_ = end_ += bytes;
  forget_before(end_);
}

void Retained::acknowledged_but(std::uint64_t left) noexcept {
  asked_ = end_;
  if (cursor_ >= begin_ + left) forget_before(cursor_ - left);
}

void Retained::forget_before(std::uint64_t position) noexcept {
  begin_ = position;
  if (begin_ == end_) return clear();
  std::size_t over = 0;
  for (; base_ + kBytes <= begin_; base_ += kBytes) pool_.give(std::move(buffers_[over++]));
  buffers_.erase(buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(over));
}

void Retained::clear() noexcept {
  for (auto& buffer : buffers_) pool_.give(std::move(buffer));
  buffers_.clear();
  base_ = end_;
}

bool Retained::go_back(std::uint64_t position) noexcept {
  if (position < begin_ || position > end_) return false;
  cursor_ = position;
  return true;
}

std::span<const std::byte> Retained::to_repeat() const noexcept {
  if (cursor_ == end_) return {};
  const std::size_t from = cursor_ - base_;
  const std::size_t within = from % kBytes;
  return {buffers_[from / kBytes].get() + within, std::min<std::uint64_t>(kBytes - within, end_ - cursor_)};
}

}  // namespace stria::tcp
