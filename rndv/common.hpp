// Common: what nearly every part of an engine is given.
#pragma once

#include "rndv/ends.hpp"
#include "rndv/operations.hpp"
#include "rndv/options.hpp"
#include "rndv/owner.hpp"

namespace stria::rndv {

struct Common {
  const Options& options;
  Operations& operations;
  Ends& ends;
  Owner& owner;
};

}  // namespace stria::rndv
