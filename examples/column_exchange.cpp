// Two processes exchange a column of their row-major matrices: process 0 sends its last column and receives
// into its first, process 1 the other way round. A column is described once, as a layout; nobody packs
// anything. Then process 0 reads a column of process 1's matrix from there, through a key.
//
//   column_exchange [N]     N x N doubles, default 512; forks the second process, and the two exchange their
//                           addresses over a socket pair
//
// Each side checks its whole matrix: the column that came, and that nothing else changed.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "stria/stria.hpp"

namespace st = stria::api;

namespace {

constexpr std::uint64_t kTagColumn = 1;
constexpr std::uint64_t kTagKey = 2;
constexpr std::uint64_t kTagDone = 3;

/// The value at (row, column) of the matrix that process `owner` starts with.
double value(int owner, std::int64_t row, std::int64_t column) {
  return owner * 1e9 + static_cast<double>(row) * 1e4 + static_cast<double>(column);
}

/// An n x n row-major matrix and the layout of its columns.
class Matrix {
 public:
  Matrix(int owner, std::int64_t n)
      : n_(n),
        values_(static_cast<std::size_t>(n * n)),
        column_(st::Layout::vector(n, 1, n * static_cast<std::int64_t>(sizeof(double)),
                                   st::Layout::of<double>())) {
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t column = 0; column < n; ++column) at(row, column) = value(owner, row, column);
  }
  double& at(std::int64_t row, std::int64_t column) {
    return values_[static_cast<std::size_t>(row * n_ + column)];
  }
  st::Memory column(std::int64_t index) { return {&at(0, index), column_}; }
  st::ConstMemory const_column(std::int64_t index) { return {&at(0, index), column_}; }
  const st::Layout& column_layout() const { return column_; }

  /// Compares with what process `owner` started with, but for column `index`, which is column `from` of
  /// `other`.
  void verify(int owner, std::int64_t index, int other, std::int64_t from) {
    for (std::int64_t row = 0; row < n_; ++row) {
      for (std::int64_t column = 0; column < n_; ++column) {
        const double wanted = column == index ? value(other, row, from) : value(owner, row, column);
        if (at(row, column) != wanted)
          throw std::runtime_error("process " + std::to_string(owner) + ": (" + std::to_string(row) + ", " +
                                   std::to_string(column) + ") is " + std::to_string(at(row, column)) +
                                   " instead of " + std::to_string(wanted));
      }
    }
  }

 private:
  std::int64_t n_;
  std::vector<double> values_;
  st::Layout column_;
};

/// Sends ours, receives theirs, over any byte stream: this is all that two workers need to find each other.
std::vector<std::byte> swap_addresses(int socket, const std::vector<std::byte>& ours) {
  if (write(socket, ours.data(), ours.size()) != static_cast<ssize_t>(ours.size()))
    throw std::runtime_error("the address could not be sent");
  std::vector<std::byte> theirs(STRIA_ADDRESS_MAX);
  const ssize_t size = read(socket, theirs.data(), theirs.size());  // SOCK_SEQPACKET: one write is one read
  if (size <= 0) throw std::runtime_error("the peer went away before it gave its address");
  theirs.resize(static_cast<std::size_t>(size));
  return theirs;
}

void finish(st::Worker& worker, st::Request& request, const char* what) {
  st::check(worker.wait(request), what);
}

void run(int self, int socket, std::int64_t n) {
  const int other = 1 - self;
  st::Context context;
  st::Worker worker(context);
  st::Endpoint peer(worker, swap_addresses(socket, worker.address()));

  // 1. Columns out of one matrix and into another, in both directions at once.
  constexpr int kRounds = 20;
  const std::int64_t out = self == 0 ? n - 1 : 0;  // what this process sends
  const std::int64_t in = self == 0 ? 0 : n - 1;   // where it receives
  Matrix matrix(self, n);
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < kRounds; ++round) {
    st::Request sending;
    st::Request receiving;
    st::check(worker.recv(matrix.column(in), {.tag = kTagColumn, .source = &peer}, receiving), "recv");
    st::check(peer.send(matrix.const_column(out), kTagColumn, sending), "send");
    finish(worker, receiving, "receive of a column");
    finish(worker, sending, "send of a column");
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  matrix.verify(self, in, other, self == 0 ? 0 : n - 1);

  // 2. One-sided: process 1 registers its middle column, process 0 reads it into its own middle column.
  if (self == 1) {
    Matrix exposed(1, n);
    const st::Region region(worker, exposed.column(n / 2), STRIA_ACCESS_REMOTE_READ);
    const std::vector<std::byte> key = region.key();
    st::Request telling;
    st::Request hearing;
    st::check(peer.send(key, kTagKey, telling), "send of the key");
    finish(worker, telling, "send of the key");
    st::check(worker.recv(std::span<std::byte>(), {.tag = kTagDone, .source = &peer}, hearing), "recv");
    finish(worker, hearing, "waiting for the reader");
    return;
  }
  Matrix copy(0, n);
  std::array<std::byte, STRIA_KEY_MAX> packed;
  st::Request hearing;
  st::Request reading;
  st::Request telling;
  st::Info info{};
  st::check(worker.recv(packed, {.tag = kTagKey, .source = &peer}, hearing), "recv of the key");
  st::check(worker.wait(hearing, &info), "recv of the key");
  const st::Key key(peer, std::span<const std::byte>(packed).first(info.received));
  st::check(peer.get(copy.column(n / 2), key, 0, reading), "get");
  finish(worker, reading, "get of a column");
  copy.verify(0, n / 2, 1, n / 2);
  st::check(peer.send(std::span<const std::byte>(), kTagDone, telling), "send");
  finish(worker, telling, "send");

  std::printf("layout of a column: %s", matrix.column_layout().dump().c_str());
  std::printf("%lld doubles each way in %.2f us; both matrices right to the byte\n",
              static_cast<long long>(n), took.count() / kRounds);
  const st::EndpointState state = peer.state();
  std::printf("provider %s, path: %s\n", state.provider, state.path);
}

int guarded(int self, int socket, std::int64_t n) {
  try {
    run(self, socket, n);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "column_exchange (process %d): %s\n", self, error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long long n = argc == 1 ? 512 : argc == 2 ? std::atoll(argv[1]) : 0;
  if (n < 2 || n > 16384) {
    std::fprintf(stderr, "usage: column_exchange [N]   N x N doubles, 2 to 16384\n");
    return 2;
  }
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    std::perror("socketpair");
    return 1;
  }
  const pid_t child = fork();  // before any use of stria: a child never touches its parent's rings
  if (child < 0) {
    std::perror("fork");
    return 1;
  }
  if (child == 0) {
    close(sockets[0]);
    return guarded(1, sockets[1], n);
  }
  close(sockets[1]);
  const int ours = guarded(0, sockets[0], n);
  close(sockets[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) return 1;
  return ours;
}
