#include "transport/uct/device_list.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "stria/stria.h"
#include "transport/providers.hpp"

namespace stria::uct {
namespace {

Error wrong_list(std::string text) {
  return {Status::invalid, "uct: " + std::move(text)};
}

std::string name_of(const Wanted& entry) {
  return entry.device.empty() ? entry.transport : entry.transport + '/' + entry.device;
}

/// What is wrong with the text of an entry; "": nothing.
std::string_view flaw_of(std::string_view entry) noexcept {
  if (entry.find_first_of(" \t\n") != std::string_view::npos) return "has a blank";
  if (entry.starts_with('/')) return "names no transport before the slash";
  if (entry.ends_with('/')) return "names no device behind the slash";
  return "";
}

/// Parses an entry. `device`: the device of an entry that names none.
Wanted parse_entry(std::string_view entry, std::string_view device) {
  const std::size_t slash = entry.find('/');
  if (slash == std::string_view::npos) return {std::string(entry), std::string(device)};
  return {std::string(entry.substr(0, slash)), std::string(entry.substr(slash + 1))};
}

}  // namespace

Result<std::vector<Wanted>> read_device_list(std::string_view transports, std::string_view device) {
  if (device.find(',') != std::string_view::npos)
    return wrong_list(
        fmt::format("STRIA_UCT_DEVICE={} is to be one device; name several in the list of transports, "
                    "as in STRIA_UCT_TRANSPORT=tcp/eth0,tcp/eth1",
                    device));
  const std::vector<std::string> entries = transport::split_list(transports, ',');
  if (entries.size() > STRIA_DEVICES_MAX)
    return wrong_list(
        fmt::format("STRIA_UCT_TRANSPORT={} has {} entries, and a worker has at most {} devices "
                    "of all its providers; name fewer",
                    transports, entries.size(), STRIA_DEVICES_MAX));
  std::vector<Wanted> out;
  for (const std::string& entry : entries) {
    if (const std::string_view flaw = flaw_of(entry); !flaw.empty())
      return wrong_list(
          fmt::format("entry {} of STRIA_UCT_TRANSPORT={}, '{}', {}; write transport or "
                      "transport/device, with commas between entries, as in tcp/eth0,tcp/eth1",
                      out.size() + 1, transports, entry, flaw));
    Wanted wanted = parse_entry(entry, device);
    if (const auto earlier = std::find(out.begin(), out.end(), wanted); earlier != out.end())
      return wrong_list(
          fmt::format("entries {} and {} of STRIA_UCT_TRANSPORT={} are both {}{}; leave one out, or give it "
                      "another device, as in tcp/eth0,tcp/eth1",
                      earlier - out.begin() + 1, out.size() + 1, transports, name_of(wanted),
                      entry != name_of(wanted) ? " (STRIA_UCT_DEVICE)" : ""));
    out.push_back(std::move(wanted));
  }
  if (out.empty()) out.push_back({"", std::string(device)});
  return out;
}

Result<void> check_is_single(std::span<const Wanted> list, std::size_t index, const Wanted& opened) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (i != index && list[i] == opened)
      return wrong_list(fmt::format(
          "entry {} of STRIA_UCT_TRANSPORT, {}, names no device, and the one to take is {}, which "
          "entry {} names; give it another one, or leave it out",
          index + 1, name_of(list[index]), name_of(opened), i + 1));
  return {};
}

}  // namespace stria::uct
