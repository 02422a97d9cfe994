// fork() and system() inside a running job: traffic before, during and after; a child that scribbles over its
// copy of the buffers and exits; a child that outlives several transfers; no descriptor of the transport
// leaks through exec.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

struct Traffic {
  const Session& session;
  std::vector<std::byte> out;
  Buffer in;
  std::uint64_t round = 0;

  explicit Traffic(const Session& s) : session(s), out(2U << 20), in(2U << 20) {}

  void exchange() {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{3000},
                                      std::uint64_t{20000}, std::uint64_t{70000}, std::uint64_t{2} << 20}) {
      ++round;
      const int right = (session.rank + 1) % session.size;
      const int left = (session.rank + session.size - 1) % session.size;
      fill(out.data(), bytes, round * 64 + static_cast<std::uint64_t>(session.rank));
      in.reset();
      MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, right, 1, in.data(),
                   static_cast<int>(bytes), MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      in.expect_message(bytes, round * 64 + static_cast<std::uint64_t>(left),
                        text("round ", round, ", ", bytes, " bytes"));
    }
  }
};

void reap(pid_t child, const std::string& what) {
  int status = -1;
  expect(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
         text(what, ": child status ", status));
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "fault_fork");
  Traffic traffic(session);
  step("before");
  traffic.exchange();

  step("a child scribbles and exits at once");
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::memset(traffic.out.data(), 0x11, traffic.out.size());
      std::memset(traffic.in.data(), 0x22, traffic.in.size());
      _exit(0);
    }
    traffic.exchange();
    reap(child, "scribbling");
  }

  step("fork with transfers half done");
  for (int i = 0; i < 10; ++i) {
    const int peer = session.rank ^ 1;
    const std::size_t bytes = 1U << 20;
    fill(traffic.out.data(), bytes, 77 + static_cast<std::uint64_t>(session.rank));
    traffic.in.reset();
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (peer < session.size) {
      MPI_Irecv(traffic.in.data(), static_cast<int>(bytes), MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(traffic.out.data(), static_cast<int>(bytes), MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[1]);
    }
    const pid_t child = fork();
    if (child == 0) {
      std::memset(traffic.in.data(), 0x33, bytes);
      usleep(20000);
      _exit(0);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (peer < session.size)
      traffic.in.expect_message(bytes, 77 + static_cast<std::uint64_t>(peer), "across fork");
    reap(child, "sleeping");
  }

  step("system() and popen()");
  for (int i = 0; i < 5; ++i) {
    expect(std::system("true") == 0, "system(true)");
    traffic.exchange();
  }
  if (FILE* listing = popen("ls -l /proc/self/fd", "r")) {
    std::string seen;
    for (char line[512]; std::fgets(line, sizeof line, listing) != nullptr;) seen += line;
    pclose(listing);
    expect(seen.find("stria") == std::string::npos, "a descriptor of the transport survived exec:\n" + seen);
  }
  step("after");
  traffic.exchange();
  return session.finish();
}
