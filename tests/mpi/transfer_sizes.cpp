// Correct transfers of all sizes between all pairs of ranks, contiguous and strided, expected and unexpected.
// Run in surroundings that take a path away: refused cross-memory attach, namespaces, few descriptors.
//   --hog-descriptors=1   opens files after MPI_Init until none is left, before the first message
//   --leave=A,B,...       and closes A of them again on rank 0, B on rank 1, ... (none where nothing is said)
#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

std::uint64_t key_of(int from, int to, std::uint64_t bytes) {
  return mix(bytes * 64 + static_cast<std::uint64_t>(from)) + static_cast<std::uint64_t>(to);
}

// Every rank sends to its right neighbour at `distance` and receives from the left one.
void exchange(const Session& session, int distance, std::uint64_t bytes, bool expected) {
  const int to = (session.rank + distance) % session.size;
  const int from = (session.rank + session.size - distance) % session.size;
  step(text(bytes, " bytes to the rank ", distance, " further, ", expected ? "expected" : "unexpected"));
  std::vector<std::byte> out(bytes);
  Buffer in(bytes);
  fill(out.data(), bytes, key_of(session.rank, to, bytes));
  MPI_Request requests[2];
  const auto receive = [&] {
    MPI_Irecv(in.data(), static_cast<int>(bytes), MPI_BYTE, from, 1, MPI_COMM_WORLD, &requests[0]);
  };
  if (expected) receive();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[1]);
  if (!expected) {
    MPI_Probe(from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    receive();
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  in.expect_message(bytes, key_of(from, session.rank, bytes), text(bytes, " bytes"));
}

// Blocks of 24 bytes every 40 on the sender, every 56 on the receiver.
void exchange_strided(const Session& session, std::uint64_t bytes) {
  constexpr std::uint64_t kBlock = 24;
  constexpr std::uint64_t kSendPitch = 40;
  constexpr std::uint64_t kReceivePitch = 56;
  const int blocks = static_cast<int>(bytes / kBlock);
  if (blocks == 0) return;
  step(text(blocks, " strided blocks"));
  const int to = (session.rank + 1) % session.size;
  const int from = (session.rank + session.size - 1) % session.size;
  MPI_Datatype sent = MPI_DATATYPE_NULL;
  MPI_Datatype received = MPI_DATATYPE_NULL;
  MPI_Type_vector(blocks, kBlock, kSendPitch, MPI_BYTE, &sent);
  MPI_Type_vector(blocks, kBlock, kReceivePitch, MPI_BYTE, &received);
  MPI_Type_commit(&sent);
  MPI_Type_commit(&received);
  std::vector<unsigned char> out(static_cast<std::size_t>(blocks) * kSendPitch);
  std::vector<unsigned char> in(static_cast<std::size_t>(blocks) * kReceivePitch, 0xA5);
  fill(out.data(), out.size(), key_of(session.rank, to, bytes));
  MPI_Sendrecv(out.data(), 1, sent, to, 2, in.data(), 1, received, from, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (std::size_t i = 0; i < static_cast<std::size_t>(blocks); ++i) {
    const unsigned char* const block = in.data() + i * kReceivePitch;
    const bool right =
        first_wrong(block, kBlock, key_of(from, session.rank, bytes), i * kSendPitch) == kBlock;
    bool clean = true;
    for (std::size_t k = kBlock; k < kReceivePitch; ++k) clean = clean && block[k] == 0xA5;
    if (!expect(right && clean, text("block ", i, " of ", blocks, right ? ": gap written" : ": wrong bytes")))
      break;
  }
  MPI_Type_free(&sent);
  MPI_Type_free(&received);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "transfer_sizes");
  std::vector<int> hogged;
  if (session.options.number("hog-descriptors", 0) != 0) {
    for (int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); fd >= 0;
         fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) {
      hogged.push_back(fd);
    }
    const std::vector<std::uint64_t> leave = session.options.numbers("leave", {});
    const auto rank = static_cast<std::size_t>(session.rank);
    for (std::uint64_t left = rank < leave.size() ? leave[rank] : 0; left > 0 && !hogged.empty(); --left) {
      close(hogged.back());
      hogged.pop_back();
    }
  }
  for (const std::uint64_t bytes : threshold_sizes()) {
    for (int distance = 0; distance < session.size; ++distance) {
      exchange(session, distance, bytes, true);
      exchange(session, distance, bytes, false);
    }
    exchange_strided(session, bytes);
  }
  // Around a slice of a get, and of several of them.
  constexpr std::uint64_t kSlice = 4U << 20;
  for (const std::uint64_t bytes : {kSlice - 1, kSlice, kSlice + 1, std::uint64_t{9000001}}) {
    exchange(session, 1, bytes, true);
    exchange(session, 1, bytes, false);
  }
  exchange_strided(session, 9000000);
  for (const int fd : hogged) close(fd);
  return session.finish();
}
