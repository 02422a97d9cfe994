// Long messages out of, and into, memory that goes away between them and comes back at the same address with
// other pages: by munmap and mmap, by mapping over it, by madvise, by a file in its place, and by free. A
// registration that was kept beyond that would read and write pages that are nobody's any more.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

constexpr std::size_t kBytes = std::size_t{1} << 20;
constexpr int kRounds = 20;

enum class Way { kept, unmapped, mapped_over, dropped, file, freed };
constexpr Way kWays[] = {Way::kept, Way::unmapped, Way::mapped_over, Way::dropped, Way::file, Way::freed};
constexpr const char* kNames[] = {"kept", "unmapped", "mapped over", "dropped", "a file in its place",
                                  "freed"};

std::byte* map(void* at, int file) {
  const int kind = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* made = ::mmap(at, kBytes, PROT_READ | PROT_WRITE, kind | (at != nullptr ? MAP_FIXED : 0), file, 0);
  if (made == MAP_FAILED) std::abort();
  return static_cast<std::byte*>(made);
}

/// The memory of the next round, at the same address wherever the way allows it.
std::byte* renew(std::byte* memory, Way way) {
  switch (way) {
    case Way::kept:
      return memory;
    case Way::unmapped:
      ::munmap(memory, kBytes);
      return map(memory, -1);
    case Way::mapped_over:
      return map(memory, -1);
    case Way::dropped:
      ::madvise(memory, kBytes, MADV_DONTNEED);
      return memory;
    case Way::file: {
      const int file = ::memfd_create("remapped", MFD_CLOEXEC);
      if (file < 0 || ::ftruncate(file, static_cast<off_t>(kBytes)) != 0) std::abort();
      std::byte* const made = map(memory, file);
      ::close(file);
      return made;
    }
    case Way::freed:
      std::free(memory);
      return static_cast<std::byte*>(std::malloc(kBytes));
  }
  return memory;
}

void messages(const Session& session, Way way) {
  const char* name = kNames[static_cast<std::size_t>(way)];
  step(name);
  std::byte* memory = way == Way::freed ? static_cast<std::byte*>(std::malloc(kBytes)) : map(nullptr, -1);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t key = mix(static_cast<std::uint64_t>(way) * 64 + static_cast<std::uint64_t>(round));
    const bool sends = (round % 2 == 0) == (session.rank == 0);
    if (sends) {
      fill(memory, kBytes, key);
      MPI_Send(memory, static_cast<int>(kBytes), MPI_BYTE, 1 - session.rank, 1, MPI_COMM_WORLD);
    } else {
      MPI_Recv(memory, static_cast<int>(kBytes), MPI_BYTE, 1 - session.rank, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      expect_pattern(memory, kBytes, key, text("memory that was ", name, ", round ", round));
    }
    memory = renew(memory, way);
  }
  if (way == Way::freed)
    std::free(memory);
  else
    ::munmap(memory, kBytes);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "remapped");
  for (const Way way : kWays) messages(session, way);
  return session.finish();
}
