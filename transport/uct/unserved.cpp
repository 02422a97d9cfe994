#include "transport/uct/unserved.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/format.hpp"

namespace stria::uct {
namespace {

// Families of transports, which are the names up to the first underscore, best first.
constexpr std::array<std::string_view, 5> kOrder = {"dc", "rc", "ud", "srd", "ugni"};

/// The place of a transport in kOrder; behind all of them if its family is not known.
std::size_t rank_of(std::string_view transport) noexcept {
  const std::string_view family = transport.substr(0, transport.find('_'));
  return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), family) - kOrder.begin());
}

/// Whether only UCX drives this resource, and it is a network.
bool is_unserved(const uct_tl_resource_desc_t& resource) noexcept {
  return resource.dev_type == UCT_DEVICE_TYPE_NET && better_provider(resource).empty();
}

}  // namespace

std::string_view better_provider(const uct_tl_resource_desc_t& resource) noexcept {
  const std::string_view transport = resource.tl_name;
  if (resource.dev_type == UCT_DEVICE_TYPE_SHM || resource.dev_type == UCT_DEVICE_TYPE_SELF) return "shm";
  if (transport == "tcp") return "tcp";
  if (transport.ends_with("_verbs")) return "verbs";
  return "";
}

std::vector<Wanted> unserved(std::span<const uct_tl_resource_desc_t> resources, std::string_view device) {
  std::vector<Wanted> out;
  for (const uct_tl_resource_desc_t& one : resources)
    if (is_unserved(one) && (device.empty() || device == one.dev_name))
      out.push_back({one.tl_name, one.dev_name});
  std::stable_sort(out.begin(), out.end(), [](const Wanted& a, const Wanted& b) {
    return rank_of(a.transport) < rank_of(b.transport);
  });
  return out;
}

std::string list_served(std::span<const uct_tl_resource_desc_t> resources) {
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> served;  // provider, transports
  for (const uct_tl_resource_desc_t& one : resources) {
    const std::string_view provider = better_provider(one);
    if (provider.empty()) continue;
    auto at = std::find_if(served.begin(), served.end(), [&](const auto& s) { return s.first == provider; });
    if (at == served.end()) at = served.insert(at, {provider, {}});
    if (std::find(at->second.begin(), at->second.end(), one.tl_name) == at->second.end())
      at->second.emplace_back(one.tl_name);
  }
  std::string out;
  for (const auto& [provider, transports] : served) {
    if (!out.empty()) out += "; ";
    for (const std::string_view transport : transports)
      out.append(transport == transports.front() ? "" : ", ").append(transport);
    out.append(" by ").append(provider);
  }
  return out;
}

Result<void> open_unserved(std::span<const uct_tl_resource_desc_t> resources, std::string_view device,
                           const std::function<Result<void>(const Wanted&)>& open) {
  std::string found;
  for (const Wanted& candidate : unserved(resources, device)) {
    auto opened = open(candidate);
    if (opened) return {};
    std::string_view why = opened.error().context;
    if (why.starts_with("uct: ")) why.remove_prefix(5);  // the whole text begins so
    found += fmt::format("{}/{} does not open: {}; ", candidate.transport, candidate.device, why);
  }
  const std::string served = list_served(resources);
  found += served.empty() ? "there is no other transport" : "served better are " + served;
  return Error{
      Status::unsupported,
      fmt::format("uct: STRIA_UCT_TRANSPORT is empty, and UCX has no network{}{} here that it opens and that "
                  "no other provider of stria serves better ({}); to go by one of these all the same, name "
                  "it, as in STRIA_UCT_TRANSPORT=tcp",
                  device.empty() ? "" : " on device ", device, found)};
}

}  // namespace stria::uct
