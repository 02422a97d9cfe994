// What is sent while the cable is out arrives when it is back: two ranks on two guests send each other short
// and long messages in the dark, so that announcements with their binds stand behind packets that are lost.
// The rank on lab0 pulls the cable.
#include <cstdlib>
#include <iterator>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

constexpr std::uint64_t kSizes[] = {8, 1U << 20, 100, 3000001, 4096, 70000};
constexpr std::size_t kMessages = std::size(kSizes);
constexpr double kDarkSeconds = 1.0;

/// MPI makes progress meanwhile, and nothing has to complete.
void progress_for(double seconds, std::vector<MPI_Request>& requests) {
  for (const double end = now_seconds() + seconds; now_seconds() < end;) {
    int all = 0;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE);
  }
}

std::uint64_t key_of(int from, int round, std::size_t i) {
  return mix(i * 64 + static_cast<std::uint64_t>(from) * 8 + static_cast<std::uint64_t>(round));
}

void messages_in_the_dark(const Session& session, int round) {
  step(text("round ", round));
  const int peer = 1 - session.rank;
  std::vector<MPI_Request> requests;
  std::vector<Buffer> in;
  std::vector<std::vector<std::byte>> out;
  requests.reserve(2 * kMessages);
  in.reserve(kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) {
    in.emplace_back(kSizes[i]);
    MPI_Irecv(in[i].data(), static_cast<int>(kSizes[i]), MPI_BYTE, peer, 1, MPI_COMM_WORLD,
              &requests.emplace_back());
    out.emplace_back(kSizes[i]);
    fill(out[i].data(), kSizes[i], key_of(session.rank, round, i));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (session.rank == 0)
    expect(std::system("lab-cable out") == 0, "lab-cable out");
  else
    progress_for(kDarkSeconds / 2, requests);
  for (std::size_t i = 0; i < kMessages; ++i)
    MPI_Isend(out[i].data(), static_cast<int>(kSizes[i]), MPI_BYTE, peer, 1, MPI_COMM_WORLD,
              &requests.emplace_back());
  progress_for(kDarkSeconds, requests);
  if (session.rank == 0) expect(std::system("lab-cable in") == 0, "lab-cable in");
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < kMessages; ++i)
    in[i].expect_message(kSizes[i], key_of(peer, round, i), text(kSizes[i], " bytes in the dark"));
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "unplugged");
  for (int round = 0; round < 3; ++round) messages_in_the_dark(session, round);
  return session.finish();
}
