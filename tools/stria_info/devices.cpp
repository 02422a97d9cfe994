#include "tools/stria_info/devices.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "base/format.hpp"
#include "tag/api/builtins.hpp"
#include "transport/capabilities.hpp"
#include "transport/contract.hpp"
#include "transport/device_config.hpp"
#include "transport/group_rows.hpp"
#include "transport/loader.hpp"
#include "transport/providers.hpp"
#include "transport/services.hpp"

namespace stria::info {
namespace {

/// Opens a device that talks to nobody, asks it, and closes it.
void ask(const stria_provider_t& provider, const Config& config, Device& out) {
  stria_sink_t deaf{};
  deaf.deliver = [](void*, void*, const stria_packet_t*) { return 1u; };
  deaf.peer_up = [](void*, std::uint64_t, stria_link_t*) -> void* { return nullptr; };
  deaf.link_down = [](void*, void*, stria_status_t) {};
  deaf.place = [](void*, void*, const stria_header_t*, std::uint32_t, stria_payload_t*) { return 0; };
  std::random_device random;
  const std::uint64_t high = random();
  const std::array<std::uint32_t, 4> secret = {random(), random(), random(),
                                               random()};  // so nobody can connect
  stria_device_params_t params{};
  params.size = sizeof params;
  params.worker_id = (high << 32) | random() | 1;
  params.job_secret = secret.data();
  params.job_secret_bytes = sizeof secret;
  params.sink = &deaf;
  params.services = &transport::services();
  params.config = transport::config_text;
  params.config_number = transport::config_number;
  params.config_self = const_cast<Config*>(&config);  // read only
  params.device = out.index;
  char text[512] = "";
  stria_device_t* device = nullptr;
  const stria_status_t status = provider.open(&params, &device, text, sizeof text);
  if (status != STRIA_OK || device == nullptr) {
    out.problem =
        fmt::format("{}{}{}", to_string(transport::from_c(status)), text[0] == '\0' ? "" : ": ", text);
    return;
  }
  out.capabilities = transport::capabilities_of(provider, device);
  out.address_bytes = provider.address(device, nullptr, 0);
  // What a link to itself says of its way names the adapter, where there is one.
  std::array<std::byte, 256> address{};
  stria_link_t* link = nullptr;
  if (out.address_bytes <= address.size()) {
    provider.address(device, address.data(), out.address_bytes);
    if (provider.connect(device, address.data(), out.address_bytes, nullptr, 0, &link, text, sizeof text) ==
            STRIA_OK &&
        link != nullptr) {
      stria_link_limits_t limits{};
      provider.link_limits(link, &limits);
      out.path = limits.path == nullptr ? "" : limits.path;
      out.zcopy_max = limits.zcopy_max;
      out.latency_ns = limits.latency_ns;
    }
  }
  provider.close(device, 0);
}

}  // namespace

std::vector<Device> look_for_devices(const Config& config) {
  const std::string& path = config.text("STRIA_PROVIDER_PATH");
  const std::vector<transport::ProviderFile> files = transport::provider_files(path);
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const auto& chosen :
       transport::chosen_providers(config.text("STRIA_PROVIDERS"), path, tag::builtin_providers()))
    add(chosen.name);
  const std::size_t ranked = names.size();
  for (const stria_provider_t* table : tag::builtin_providers()) add(table->name);
  for (const transport::ProviderFile& file : files) add(file.name);

  std::vector<Device> devices;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Device device;
    device.provider = device.label = names[i];
    device.rank = i < ranked ? static_cast<int>(i) + 1 : 0;
    device.origin = "not found";
    for (const transport::ProviderFile& file : files)
      if (file.name == names[i]) device.origin = file.path;
    for (const stria_provider_t* table : tag::builtin_providers())
      if (table->name == names[i]) device.origin = "built in";
    const auto found = transport::find_provider(names[i], path, tag::builtin_providers());
    if (found) {
      device.description = (*found)->table->description;
      device.groups = transport::groups_of(*(*found)->table);
    } else {
      device.problem = found.error().context;
    }
    const std::uint32_t offered = found ? transport::device_count(*(*found)->table, config) : 1;
    const unsigned count = std::min<std::uint32_t>(offered, STRIA_DEVICES_MAX);
    for (unsigned index = 0; index < count; ++index) {
      Device& one = devices.emplace_back(device);
      one.index = index;
      if (offered > 1) one.label = fmt::format("{}[{}]", one.provider, index);
      if (found) ask(*(*found)->table, config, one);
    }
  }
  return devices;
}

}  // namespace stria::info
