// What the parts of C++ in docs/user-library.md stand in: a worker whose only peer is itself, and a region of
// it.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <stria/stria.hpp>

namespace st = stria::api;

int main() {
  const std::int64_t n = 100, j = 3;
  std::vector<double> matrix(n * n, 1.0);
  const std::uint64_t tag = 7, mine = 1;
  st::Context context;
  st::Worker worker(context);
  st::Endpoint endpoint(worker, worker.address());
  std::vector<std::uint64_t> words(8);
  st::Region region(worker, words,
                    STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC);
  st::Key key(endpoint, region.key());
  st::Request request;
  {
    // BLOCK
  }
  std::vector<double> rest(n);
  while (worker.probe({.tag = tag})) (void)worker.recv_wait(rest, {.tag = tag});
  return 0;
}
