// Two jobs, each of an mpirun of its own (see two_jobs), find each other by a port. Where the layer reaches
// from one to the other they talk, disconnect, and meet once more; where it does not, MPI_Comm_accept and
// MPI_Comm_connect both give an error, in bounded time, and each job lives on.
//   --job=accept|connect   which of the two this is
//   --port-file=PATH       where the first job writes its port's name, and the second finds it
//   --reachable=0|1        whether the layer reaches from one to the other (default 1)
//   --attempts=N           how often they try (default 2, or 1 where the layer does not reach)
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

/// Only a whole name is seen: the file gets its own name when it is written.
void write_port(const std::string& path, const char* port) {
  const std::string draft = path + ".new";
  std::ofstream(draft) << port;
  std::rename(draft.c_str(), path.c_str());
}

std::string read_port(const std::string& path) {
  std::string port;
  for (int i = 0; i < 2000 && port.empty(); ++i) {
    std::ifstream(path) >> port;
    if (port.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return port;
}

// Every rank of one job with every rank of the other.
void talk(MPI_Comm inter, bool first) {
  int rank = 0;
  int remote = 0;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_remote_size(inter, &remote);
  const auto key = [](bool of_first, int from, int to) {
    return static_cast<std::uint64_t>((from * 64 + to) * 2 + (of_first ? 1 : 0));
  };
  for (int peer = 0; peer < remote; ++peer) {
    for (const int bytes : {8, 300000}) {
      std::vector<std::byte> out(static_cast<std::size_t>(bytes));
      Buffer in(out.size());
      fill(out.data(), out.size(), key(first, rank, peer));
      MPI_Sendrecv(out.data(), bytes, MPI_BYTE, peer, bytes, in.data(), bytes, MPI_BYTE, peer, bytes, inter,
                   MPI_STATUS_IGNORE);
      in.expect_message(out.size(), key(!first, peer, rank), "a message of the other job");
    }
  }
}

void meet(const std::string& port, bool first, bool reachable) {
  const char* const call = first ? "MPI_Comm_accept" : "MPI_Comm_connect";
  MPI_Comm inter = MPI_COMM_NULL;
  step(call);
  const int answer = first ? MPI_Comm_accept(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter)
                           : MPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  if (reachable) {
    if (expect_equal(answer, MPI_SUCCESS, call)) {
      talk(inter, first);
      step("disconnect");
      MPI_Comm_disconnect(&inter);
    }
  } else if (expect(answer != MPI_SUCCESS, text(call, " reached a host the layer does not reach"))) {
    char words[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(answer, words, &length);
    std::printf("connect_jobs: %s gave %d: %s\n", call, answer, words);
    std::fflush(stdout);
  }
  // What the job had before goes on working.
  step("the job's own communicator");
  int one = 1;
  int sum = 0;
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_equal(sum, size, "allreduce");
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "connect_jobs");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const bool first = session.options.get("job", "accept") == "accept";
  const bool reachable = session.options.number("reachable", 1) != 0;
  const std::string file = session.options.get("port-file", "");
  std::string port(MPI_MAX_PORT_NAME, '\0');
  if (session.rank == 0) {
    if (first) {
      MPI_Open_port(MPI_INFO_NULL, port.data());
      write_port(file, port.c_str());
    } else {
      step("wait for the first job's port");
      port = read_port(file);
      expect(!port.empty(), "no port");
    }
  }
  const std::int64_t attempts = session.options.number("attempts", reachable ? 2 : 1);
  for (std::int64_t i = 0; i < attempts; ++i) meet(port, first, reachable);
  if (first && session.rank == 0) MPI_Close_port(port.c_str());
  return session.finish();
}
