// Around the halo exchange of docs/user-library.md: both neighbours are the worker itself, so that what goes
// up comes back from below; the ghosts are checked.
#include <array>
#include <cstdint>
#include <vector>

#include <stria/stria.hpp>

int main() {
  namespace st = stria::api;
  st::Context context;
  st::Worker worker(context);
  st::Endpoint left(worker, worker.address()), right(worker, worker.address());
  const std::int64_t nx = 6, ny = 5, nz = 4;
  std::vector<double> block((nx + 2) * (ny + 2) * (nz + 2), -1.0);
  const auto at = [&](std::int64_t x, std::int64_t y, std::int64_t z) -> double& {
    return block[(x * (ny + 2) + y) * (nz + 2) + z];
  };
  for (std::int64_t x = 1; x <= nx; ++x)
    for (std::int64_t y = 1; y <= ny; ++y)
      for (std::int64_t z = 1; z <= nz; ++z) at(x, y, z) = x * 10000 + y * 100 + z;
  {
    // BLOCK
  }
  for (std::int64_t x = 1; x <= nx; ++x)
    for (std::int64_t z = 1; z <= nz; ++z)
      if (at(x, 0, z) != at(x, ny, z) || at(x, ny + 1, z) != at(x, 1, z)) return 1;
  return at(0, 0, 0) == -1.0 && at(1, 0, 0) == -1.0 ? 0 : 1;
}
