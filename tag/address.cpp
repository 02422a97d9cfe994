#include "tag/address.hpp"

#include <cstring>

#include "base/format.hpp"
#include "stria/stria.h"
#include "transport/wire.hpp"

namespace stria::tag {
namespace {

constexpr char kMagic[4] = {'S', 'T', 'R', 'A'};
struct Head {
  char magic[4];
  std::uint8_t wire_version;
  std::uint8_t parts;
  std::uint8_t reserved[2];
  std::uint64_t worker_id;
};
static_assert(sizeof(Head) == 16);
constexpr std::size_t kPartHeadBytes = 1 + 1 + 2;  // of a part without a name
static_assert(sizeof(Head) +
                  std::size_t{STRIA_DEVICES_MAX} * (kPartHeadBytes + kMostNameBytes + kMostPartBytes) <=
              STRIA_ADDRESS_MAX);

/// Takes the next part from the front of `rest`; false when that is malformed.
bool next_part(std::span<const std::byte>& rest, AddressPart& part) noexcept {
  if (rest.empty()) return false;
  const auto name_length = std::to_integer<std::size_t>(rest[0]);
  if (rest.size() < 1 + name_length + 1 + 2) return false;
  part.provider = {reinterpret_cast<const char*>(rest.data() + 1), name_length};
  part.device = std::to_integer<std::uint8_t>(rest[1 + name_length]);
  std::uint16_t length = 0;
  std::memcpy(&length, rest.data() + 1 + name_length + 1, 2);
  rest = rest.subspan(1 + name_length + 1 + 2);
  if (rest.size() < length) return false;
  part.bytes = rest.first(length);
  rest = rest.subspan(length);
  return true;
}

void append(std::vector<std::byte>& out, const AddressPart& part) {
  out.push_back(static_cast<std::byte>(part.provider.size()));
  const auto* name = reinterpret_cast<const std::byte*>(part.provider.data());
  out.insert(out.end(), name, name + part.provider.size());
  out.push_back(static_cast<std::byte>(part.device));
  const auto length = static_cast<std::uint16_t>(part.bytes.size());
  out.push_back(static_cast<std::byte>(length & 0xff));
  out.push_back(static_cast<std::byte>(length >> 8));
  out.insert(out.end(), part.bytes.begin(), part.bytes.end());
}

}  // namespace

Result<ParsedAddress> parse_address(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof(head))
    return Error{Status::invalid, fmt::format("an address of {} bytes is too short: it begins with {}",
                                              bytes.size(), sizeof(head))};
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (std::memcmp(head.magic, kMagic, sizeof(kMagic)) != 0)
    return Error{Status::invalid, "these bytes are not a worker's address"};
  if (head.wire_version != wire::kVersion)
    return Error{Status::invalid,
                 fmt::format("the peer speaks wire version {}, this library {}; use one version of "
                             "stria in a job",
                             head.wire_version, wire::kVersion)};
  ParsedAddress parsed;
  parsed.worker_id = head.worker_id;
  parsed.parts_ = bytes.subspan(sizeof(head));
  parsed.count_ = head.parts;
  std::span<const std::byte> rest = parsed.parts_;
  for (unsigned i = 0; i < head.parts; ++i) {
    AddressPart part;
    if (!next_part(rest, part))
      return Error{Status::invalid, fmt::format("part {} of {} of an address is cut off", i + 1, head.parts)};
  }
  return parsed;
}

std::span<const std::byte> ParsedAddress::part(std::string_view provider,
                                               std::uint8_t device) const noexcept {
  std::span<const std::byte> rest = parts_;
  for (unsigned i = 0; i < count_; ++i) {
    AddressPart part;
    if (!next_part(rest, part)) break;
    if (part.provider == provider && part.device == device) return part.bytes;
  }
  return {};
}

std::vector<std::byte> make_address(std::uint64_t worker_id, std::span<const AddressPart> parts,
                                    std::string_view host) {
  Head head{{kMagic[0], kMagic[1], kMagic[2], kMagic[3]},
            wire::kVersion,
            static_cast<std::uint8_t>(parts.size()),
            {},
            worker_id};
  std::vector<std::byte> out(sizeof(head));
  for (const AddressPart& part : parts) append(out, part);
  const AddressPart of_host{{}, 0, std::as_bytes(std::span(host.substr(0, kMostHostBytes)))};
  if (!host.empty() && out.size() + kPartHeadBytes + of_host.bytes.size() <= STRIA_ADDRESS_MAX) {
    append(out, of_host);
    ++head.parts;
  }
  std::memcpy(out.data(), &head, sizeof(head));
  return out;
}

}  // namespace stria::tag
