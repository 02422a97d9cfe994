#include "transport/verbs/settings.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "transport/device_config.hpp"
#include "transport/providers.hpp"
#include "transport/verbs/variables.hpp"

namespace stria::verbs {

namespace {

constexpr const char* kDevices = "STRIA_VERBS_DEVICE";

}  // namespace

std::uint32_t count_devices(const stria_device_params_t& params) {
  const char* const text = params.config == nullptr ? nullptr : params.config(params.config_self, kDevices);
  const std::vector<std::string> names = transport::split_list(text == nullptr ? "" : text, ',');
  return std::max(static_cast<std::uint32_t>(names.size()), 1u);
}

Result<Settings> read_settings(const stria_device_params_t& params) {
  auto read = transport::read_device_config(kVariables, params);
  if (!read) return std::move(read).error();
  const Config config = *std::move(read);
  const auto number = [&](std::string_view name) { return static_cast<std::uint32_t>(config.number(name)); };
  Settings out;
  const std::vector<std::string> names = transport::split_list(config.text(kDevices), ',');
  if (params.device >= std::max(names.size(), std::size_t{1}))
    return Error{Status::invalid, fmt::format("verbs: {}={} names {} devices, there is none of index {}",
                                              kDevices, config.text(kDevices), names.size(), params.device)};
  if (!names.empty()) out.device = names[params.device];
  out.links = number("STRIA_VERBS_LINKS");
  out.credits = number("STRIA_VERBS_CREDITS");
  out.eager_bytes = number("STRIA_VERBS_EAGER_BYTES");
  out.send_buffers = number("STRIA_VERBS_SEND_BUFFERS");
  out.keys = number("STRIA_VERBS_KEYS");
  out.ack_timeout = static_cast<std::uint8_t>(number("STRIA_VERBS_ACK_TIMEOUT"));
  out.connect_ms = number("STRIA_VERBS_CONNECT_MS");
  const std::string_view watch = config.text("STRIA_VERBS_MEMORY_WATCH");
  out.memory_watch = watch == "hooks"         ? MemoryWatch::Source::hooks
                     : watch == "userfaultfd" ? MemoryWatch::Source::kernel
                                              : MemoryWatch::Source::any;
  out.cache_bytes = static_cast<std::uint64_t>(config.number("STRIA_VERBS_CACHE_BYTES"));
  return out;
}

}  // namespace stria::verbs
