#include "tag/address_store.hpp"

#include <algorithm>
#include <cstring>

namespace stria::tag {
namespace {

constexpr std::size_t kPartHead = 1 + sizeof(std::uint16_t);

}  // namespace

std::span<const std::byte> part_of(KeptAddress kept, std::uint8_t device) noexcept {
  if (kept == nullptr) return {};
  const auto parts = std::to_integer<unsigned>(*kept++);
  for (unsigned i = 0; i < parts; ++i) {
    std::uint16_t bytes = 0;
    std::memcpy(&bytes, kept + 1, sizeof bytes);
    if (std::to_integer<std::uint8_t>(*kept) == device) return {kept + kPartHead, bytes};
    kept += kPartHead + bytes;
  }
  return {};
}

KeptAddress AddressStore::keep(std::span<const Part> parts) {
  std::size_t bytes = 1;
  for (const Part& part : parts) bytes += kPartHead + part.bytes.size();
  if (bytes > room_) {
    const std::size_t block = std::max(kBlock, bytes);
    blocks_.push_back(std::make_unique<std::byte[]>(block));
    next_ = blocks_.back().get();
    room_ = block;
  }
  std::byte* const kept = next_;
  next_ += bytes;
  room_ -= bytes;
  std::byte* at = kept;
  *at++ = static_cast<std::byte>(parts.size());
  for (const Part& part : parts) {
    const auto length = static_cast<std::uint16_t>(part.bytes.size());
    *at = static_cast<std::byte>(part.device);
    std::memcpy(at + 1, &length, sizeof length);
    std::memcpy(at + kPartHead, part.bytes.data(), length);
    at += kPartHead + length;
  }
  return kept;
}

}  // namespace stria::tag
