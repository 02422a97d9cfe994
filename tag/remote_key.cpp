#include "tag/remote_key.hpp"

#include <cstring>

#include "base/format.hpp"
#include "tag/address.hpp"

namespace stria::tag {
namespace {

static_assert(sizeof(KeyHead) +
                  std::size_t{STRIA_DEVICES_MAX} * (1 + kMostNameBytes + 1 + 1 + STRIA_PROVIDER_KEY_MAX) <=
              STRIA_KEY_MAX);

Error refuse(std::string text) {
  return {Status::invalid, std::move(text)};
}

bool take_byte(std::span<const std::byte>& rest, std::uint8_t& out) noexcept {
  if (rest.empty()) return false;
  out = std::to_integer<std::uint8_t>(rest[0]);
  rest = rest.subspan(1);
  return true;
}
/// Takes a length of one byte, and as many bytes as it says, from the front of `rest`. False: `rest` is too
/// short.
bool take_counted(std::span<const std::byte>& rest, std::span<const std::byte>& out) noexcept {
  if (rest.empty()) return false;
  const auto bytes = std::to_integer<std::size_t>(rest[0]);
  if (rest.size() - 1 < bytes) return false;
  out = rest.subspan(1, bytes);
  rest = rest.subspan(1 + bytes);
  return true;
}

}  // namespace

Result<RemoteKey> parse_key(std::span<const std::byte> packed) {
  RemoteKey key;
  if (packed.size() < sizeof(key.head) || packed.size() > STRIA_KEY_MAX)
    return refuse(fmt::format("a packed key has {} to {} bytes, not {}", sizeof(key.head), STRIA_KEY_MAX,
                              packed.size()));
  std::memcpy(&key.head, packed.data(), sizeof(key.head));
  if (key.head.version != kKeyVersion)
    return refuse(
        fmt::format("the packed key has version {}, this library reads {}", key.head.version, kKeyVersion));
  if (key.head.access == 0 || (key.head.access & ~kAllAccess) != 0 || key.head.performer > KeyHead::kAdapter)
    return refuse(fmt::format("the packed key has access {:#x} and atomics by {}, which no region has",
                              key.head.access, key.head.performer));
  std::span<const std::byte> rest = packed.subspan(sizeof(key.head));
  for (unsigned i = 0; i < key.head.parts; ++i) {
    std::span<const std::byte> name, data;
    std::uint8_t device = 0;
    if (!take_counted(rest, name) || !take_byte(rest, device) || !take_counted(rest, data))
      return refuse(fmt::format("the packed key of {} bytes is cut short in part {} of {}", packed.size(),
                                i + 1, key.head.parts));
    RemoteKey::Part part{{reinterpret_cast<const char*>(name.data()), name.size()}, device, {}};
    if (data.size() > sizeof(part.key.data))
      return refuse(fmt::format("the packed key has {} bytes for provider {}, the limit is {}", data.size(),
                                part.provider, sizeof(part.key.data)));
    part.key.bytes = static_cast<std::uint32_t>(data.size());
    std::memcpy(part.key.data, data.data(), data.size());
    key.parts.push_back(std::move(part));
  }
  if (!rest.empty())
    return refuse(fmt::format("the packed key has {} bytes, but {} were given", packed.size() - rest.size(),
                              packed.size()));
  return key;
}

const stria_provider_key_t& part_for(const RemoteKey& key, std::string_view provider,
                                     std::uint8_t device) noexcept {
  static constexpr stria_provider_key_t kNone{};
  for (const RemoteKey::Part& part : key.parts)
    if (part.provider == provider && part.device == device) return part.key;
  return kNone;
}

}  // namespace stria::tag
