// Common: what most parts of an engine are given (README.md has the table of the parts).
#pragma once

#include "rndv/finisher.hpp"
#include "rndv/operations.hpp"
#include "rndv/options.hpp"
#include "rndv/owner.hpp"

namespace stria::rndv {

struct Common {
  const Options& options;
  Operations& operations;
  Finisher& finisher;
  Owner& owner;
};

}  // namespace stria::rndv
