#include "transport/fake/growth.hpp"

#include <algorithm>

#include "transport/fake/fabric.hpp"

namespace stria::fake {
namespace {

constexpr std::byte kNotThere{0xa5};
constexpr std::uint32_t kStandsStillPercent = 15;

}  // namespace

void Growth::begin(std::vector<std::byte>& payload, Fabric& fabric) {
  rest_.assign(payload.size(), kNotThere);
  rest_.swap(payload);
  write(payload, static_cast<std::uint32_t>(1 + fabric.random(payload.size() - 2)));
}

std::uint32_t Growth::there(const std::vector<std::byte>& payload) const noexcept {
  return is_under_way() ? there_ : static_cast<std::uint32_t>(payload.size());
}

std::uint32_t Growth::arrived(std::vector<std::byte>& payload, std::uint32_t bytes, Fabric& fabric) noexcept {
  if (!is_under_way() || bytes <= there_) return there(payload);
  if (is_cut_) return 0;
  const bool stands_still = fabric.chance(kStandsStillPercent);
  const std::uint32_t from = stands_still ? there_ : bytes;
  const std::uint32_t most = stands_still ? bytes - 1 : static_cast<std::uint32_t>(payload.size());
  write(payload, static_cast<std::uint32_t>(from + fabric.random(most - from)));
  return there(payload);
}

void Growth::end(std::vector<std::byte>& payload) noexcept {
  if (is_under_way() && !is_cut_) write(payload, static_cast<std::uint32_t>(payload.size()));
}

void Growth::write(std::vector<std::byte>& payload, std::uint32_t until) noexcept {
  std::copy(rest_.begin() + there_, rest_.begin() + until, payload.begin() + there_);
  there_ = until;
  if (until == payload.size()) rest_.clear();
}

}  // namespace stria::fake
