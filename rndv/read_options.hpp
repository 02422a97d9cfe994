// The engine's options, from the STRIA_RNDV_* variables.
#pragma once

#include "base/config.hpp"
#include "rndv/options.hpp"

namespace stria::rndv {

Options read_options(const Config& config);

}  // namespace stria::rndv
