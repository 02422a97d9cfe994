#include "transport/verbs/settings.hpp"

#include <string_view>

#include "base/config.hpp"

namespace stria::verbs {

Result<Settings> read_settings(const stria_device_params_t& params) {
  Config config;
  for (const VarSpec& spec : config_table()) {
    if (!std::string_view(spec.name).starts_with("STRIA_VERBS_") || params.config == nullptr) continue;
    const char* text = params.config(params.config_self, spec.name);
    if (text == nullptr || *text == '\0') continue;
    auto set = config.set(spec.name, text, "device");
    if (!set) return std::move(set).error();
  }
  const auto number = [&](Var var) { return static_cast<std::uint32_t>(config.number(var)); };
  Settings out;
  out.device = config.text(Var::verbs_device);
  out.links = number(Var::verbs_links);
  out.credits = number(Var::verbs_credits);
  out.eager_bytes = number(Var::verbs_eager_bytes);
  out.send_buffers = number(Var::verbs_send_buffers);
  out.keys = number(Var::verbs_keys);
  out.ack_timeout = static_cast<std::uint8_t>(number(Var::verbs_ack_timeout));
  out.connect_ms = number(Var::verbs_connect_ms);
  const std::string_view watch = config.text(Var::verbs_memory_watch);
  out.memory_watch = watch == "hooks"         ? MemoryWatch::Source::hooks
                     : watch == "userfaultfd" ? MemoryWatch::Source::kernel
                                              : MemoryWatch::Source::any;
  out.cache_bytes = static_cast<std::uint64_t>(config.number(Var::verbs_cache_bytes));
  return out;
}

}  // namespace stria::verbs
