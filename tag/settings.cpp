#include "tag/settings.hpp"

#include "rndv/read_options.hpp"

namespace stria::tag {

Settings read_settings(const Config& config) {
  Settings settings;
  settings.rndv = rndv::read_options(config);
  settings.eager_limit = static_cast<std::uint64_t>(config.number("STRIA_EAGER_LIMIT"));
  settings.overlaps_packing =
      !config.is_given("STRIA_EAGER_LIMIT") && settings.rndv.force == rndv::Force::automatic;
  settings.copies_own = config.text("STRIA_SELF_COPY") == "on";
  settings.unexpected_budget = static_cast<std::uint64_t>(config.number("STRIA_UNEXPECTED_BUDGET"));
  settings.close_timeout = std::chrono::milliseconds(config.number("STRIA_CLOSE_TIMEOUT_MS"));
  settings.liveness = std::chrono::milliseconds(config.number("STRIA_LIVENESS_MS"));
  settings.wait_spin = std::chrono::microseconds(config.number("STRIA_WAIT_SPIN_US"));
  return settings;
}

}  // namespace stria::tag
