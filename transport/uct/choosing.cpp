#include "transport/uct/choosing.hpp"

#include <cstddef>

namespace stria::uct {

int choose_resource(std::span<const uct_tl_resource_desc_t> resources, std::string_view transport,
                    std::string_view device) noexcept {
  int loopback = -1;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::string_view name = resources[i].dev_name;
    if (transport != resources[i].tl_name || (!device.empty() && device != name)) continue;
    if (!device.empty() || name != "lo") return static_cast<int>(i);
    loopback = static_cast<int>(i);
  }
  return loopback;
}

void list_resources(std::span<const uct_tl_resource_desc_t> resources, std::string& out) {
  for (const uct_tl_resource_desc_t& one : resources) {
    if (!out.empty()) out += ' ';
    out.append(one.tl_name).append("/").append(one.dev_name);
  }
}

}  // namespace stria::uct
