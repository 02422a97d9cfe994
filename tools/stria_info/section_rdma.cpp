// The RDMA devices that the kernel has, whether a provider that drives them is in use or not.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "tools/stria_info/section.hpp"

namespace stria::info {
namespace {

namespace fs = std::filesystem;

/// The first line of a small file; "" without one.
std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "4: ACTIVE" without the number.
std::string word_of(const std::string& numbered) {
  const auto at = numbered.find(": ");
  return at == std::string::npos ? numbered : numbered.substr(at + 2);
}

/// What a folder holds, sorted; empty where there is none.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// "InfiniBand", "RoCE" or "iWARP", by the kind of the node and the link of the port.
std::string kind_of(const std::string& node, const std::string& link) {
  if (node == "RNIC") return "iWARP";
  return link == "Ethernet" ? "RoCE" : link;
}

}  // namespace

Section rdma_section(const std::string& folder) {
  Section section{"rdma_devices", "RDMA devices of this machine", "", Json::array()};
  for (const fs::path& device : entries_of(folder)) {
    const std::string name = device.filename();
    const std::string node = word_of(line_of(device / "node_type"));
    Json json{{"name", name}, {"node", node}, {"ports", Json::array()}};
    for (const fs::path& port : entries_of(device / "ports")) {
      const std::string number = port.filename();
      const std::string kind = kind_of(node, line_of(port / "link_layer")),
                        state = word_of(line_of(port / "state"));
      const std::string interface = line_of(port / "gid_attrs" / "ndevs" / "0");
      section.text += fmt::format("{:<12} port {}: {}, {}{}\n", name, number, kind, state,
                                  interface.empty() ? "" : ", interface " + interface);
      json["ports"].push_back({{"port", number}, {"kind", kind}, {"state", state}, {"interface", interface}});
    }
    section.json.push_back(std::move(json));
  }
  if (section.text.empty()) section.text = "none\n";
  return section;
}

}  // namespace stria::info
