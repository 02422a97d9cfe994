// What stria_info prints: sections, each made once as text for people and as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "tools/stria_info/devices.hpp"
#include "tools/stria_info/layout_language.hpp"

namespace stria::info {

using Json = nlohmann::ordered_json;

struct Section {
  std::string key;    ///< in JSON
  std::string title;  ///< above the text
  std::string text;   ///< whole lines
  Json json;
};

/// A layout by the expression it was asked for with.
struct NamedLayout {
  std::string name;
  datatype::Layout layout;
};

Section version_section();
Section devices_section(const std::vector<Device>& devices);
/// `folder`: where the kernel lists them.
Section rdma_section(const std::string& folder = "/sys/class/infiniband");
/// Without I/O devices when `io` is false.
Section topology_section(bool io);
/// The machine profile (hw/machine.hpp), which is measured if there is none yet.
Section profile_section(const Config& config);
/// `problem`: why the environment could not be read, "" if it could. Level::user: without the variables for
/// experts, but for those that are set.
Section config_section(const Config& config, const std::string& problem, Level level);
/// Which way a message goes, for sizes times layouts, over each device in use, and why. Each layout is the
/// sender's, and the receiver's is `into`; null: the same.
Section schemes_section(const Config& config, const std::vector<Device>& devices,
                        const std::vector<NamedLayout>& layouts, const NamedLayout* into = nullptr);
Section layout_section(const std::vector<NamedLayout>& layouts);

/// The layouts that schemes_section shows when none is asked for.
std::vector<NamedLayout> usual_layouts();

}  // namespace stria::info
