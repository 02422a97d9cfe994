// Providers and what their devices can do.

#include "base/format.hpp"
#include "tools/stria_info/section.hpp"

namespace stria::info {
namespace {

Json capabilities_json(const hw::Capabilities& capabilities) {
  Json out;
  for (const hw::CapabilityBit& entry : hw::capability_bits())
    out[entry.name] = hw::has(capabilities, entry.bit);
  for (const hw::CapabilityLimit& entry : hw::capability_limits())
    out[entry.name] = capabilities.*entry.member;
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

}  // namespace

Section devices_section(const std::vector<Device>& devices) {
  Section section{"providers", "Providers and their devices", "", Json::array()};
  for (const Device& device : devices) {
    const std::string use =
        device.rank == 0 ? "not in STRIA_PROVIDERS" : fmt::format("in use, choice {}", device.rank);
    section.text += fmt::format("{}  {}\n  {}; {}\n", device.label, device.description, device.origin, use);
    Json json{{"name", device.provider},
              {"device", device.index},
              {"description", device.description},
              {"origin", device.origin},
              {"choice", device.rank}};
    if (!device.problem.empty()) {
      section.text += fmt::format("  cannot be used: {}\n\n", device.problem);
      json["problem"] = device.problem;
    } else {
      section.text += fmt::format("  {:<18} {}\n  {:<18} {} bytes\n", "groups", listed(device.groups),
                                  "address", device.address_bytes);
      if (!device.path.empty()) section.text += fmt::format("  {:<18} {}\n", "way to itself", device.path);
      section.text += hw::to_text(device.capabilities, 2) + '\n';
      json["address_bytes"] = device.address_bytes;
      json["groups"] = device.groups;
      json["way_to_itself"] = device.path;
      json["capabilities"] = capabilities_json(device.capabilities);
    }
    section.json.push_back(std::move(json));
  }
  while (section.text.ends_with("\n\n")) section.text.pop_back();
  return section;
}

}  // namespace stria::info
