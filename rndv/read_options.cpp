#include "rndv/read_options.hpp"

namespace stria::rndv {

Options read_options(const Config& config) {
  use_machine_profile();
  Options options;
  options.force = parse_force(config.text("STRIA_RNDV_SCHEME"));
  options.pull_slice = static_cast<std::uint64_t>(config.number("STRIA_RNDV_PULL_SLICE"));
  options.fragment_bytes = static_cast<std::uint32_t>(config.number("STRIA_RNDV_FRAGMENT"));
  options.fragment_fixed = config.is_given("STRIA_RNDV_FRAGMENT");
  options.patience_us = static_cast<std::uint32_t>(config.number("STRIA_RNDV_PATIENCE"));
  options.flows = parse_flows(config.text("STRIA_RNDV_FLOWS"));
  options.copy_by_both = parse_copy_by_both(config.text("STRIA_RNDV_SHARE"), options.force);
  options.rails_from = static_cast<std::uint64_t>(config.number("STRIA_RNDV_RAILS"));
  options.piece_bytes = static_cast<std::uint64_t>(config.number("STRIA_RNDV_PIECE"));
  return options;
}

}  // namespace stria::rndv
