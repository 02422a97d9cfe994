// What a rank costs in memory before an application sends anything of size: after MPI_Init, and after 8 bytes
// went to and came from every other rank. Pages of shared memory count where they are touched.
//   --shared-kib=N --shared-kib-per-peer=N   most shared memory allowed of the layer stria (default 2304, of
//   which 2048 are the huge page of the cells, and 32)
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

namespace {

struct Use {
  std::uint64_t own;
  std::uint64_t shared;
};

// The most of any rank, known to all.
Use most() {
  Use mine{own_memory("RssAnon"), own_memory("RssShmem")};
  Use all{};
  MPI_Allreduce(&mine, &all, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

void print(const Session& session, const char* when, const Use& use) {
  if (session.rank != 0) return;
  std::printf("start_memory: %d ranks, %s: at most %llu KiB of own and %llu KiB of shared memory a rank\n",
              session.size, when, static_cast<unsigned long long>(use.own >> 10),
              static_cast<unsigned long long>(use.shared >> 10));
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "start_memory");
  const char* const layer = std::getenv("OMPI_MCA_pml");
  const bool ours = layer != nullptr && std::string_view(layer) == "stria";
  print(session, "after MPI_Init", most());
  for (int distance = 1; distance < session.size; ++distance) {
    const int to = (session.rank + distance) % session.size;
    const int from = (session.rank + session.size - distance) % session.size;
    std::uint64_t out = mix(static_cast<std::uint64_t>(session.rank));
    std::uint64_t in = 0;
    MPI_Sendrecv(&out, 1, MPI_UINT64_T, to, 0, &in, 1, MPI_UINT64_T, from, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect_equal(in, mix(static_cast<std::uint64_t>(from)), "a word");
  }
  const Use connected = most();
  print(session, "all connected", connected);
  const std::uint64_t allowed =
      (session.options.number("shared-kib", 2304) +
       session.options.number("shared-kib-per-peer", 32) * static_cast<std::uint64_t>(session.size - 1))
      << 10;
  if (ours)
    expect(connected.shared <= allowed,
           text(connected.shared, " bytes of shared memory a rank, allowed ", allowed));
  return session.finish();
}
