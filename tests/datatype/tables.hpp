// The tables of kernels that a property has to hold for.
#pragma once

#include <vector>

#include "datatype/kernels/kernels.hpp"

namespace stria::datatype {

/// Every table this processor can run, and the best one as if every destination outgrew the cache.
inline std::vector<Kernels> all_tables() {
  std::vector<Kernels> all;
  for (const Kernels* k : runnable_kernels()) all.push_back(*k);
  all.push_back(all.back());
  all.back().name = "past the cache";
  all.back().nontemporal_from = 0;
  return all;
}

}  // namespace stria::datatype
