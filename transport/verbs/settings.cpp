#include "transport/verbs/settings.hpp"

#include <string_view>

#include "transport/device_config.hpp"
#include "transport/verbs/variables.hpp"

namespace stria::verbs {

Result<Settings> read_settings(const stria_device_params_t& params) {
  auto read = transport::read_device_config(kVariables, params);
  if (!read) return std::move(read).error();
  const Config config = *std::move(read);
  const auto number = [&](std::string_view name) { return static_cast<std::uint32_t>(config.number(name)); };
  Settings out;
  out.device = config.text("STRIA_VERBS_DEVICE");
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
