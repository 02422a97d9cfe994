#include "osu_bench/mpi/calls.hpp"

#include <cstring>
#include <vector>

#include "osu_bench/common/pattern.hpp"

namespace stria::bench {
namespace {

constexpr int kTag = 3;
constexpr std::size_t kBuffered = 4;  // messages that MPI_Bsend may keep
const MPI_Comm kWorld = MPI_COMM_WORLD;

constexpr Call kCalls[] = {
    {"send", &Calls::send, &Calls::got_one, 2, true},
    {"any-source", &Calls::any_source, &Calls::got_one, 2, true},
    {"any-tag", &Calls::any_tag, &Calls::got_one, 2, true},
    {"ssend", &Calls::ssend, &Calls::got_one, 2, true},
    {"bsend", &Calls::bsend, &Calls::got_one, 2, true},
    {"iprobe", &Calls::iprobe, &Calls::got_one, 2, true},
    {"mprobe", &Calls::mprobe, &Calls::got_one, 2, true},
    {"sendrecv", &Calls::sendrecv, &Calls::got_one, 1, true},
    {"isend-6", &Calls::isend, &Calls::got_all, 1, true},
    {"persistent-6", &Calls::persistent, &Calls::got_all, 1, true},
    {"waitany-6", &Calls::waitany, &Calls::got_all, 1, true},
    {"testall-6", &Calls::testall, &Calls::got_all, 1, true},
    {"late-6", &Calls::late, &Calls::got_all, 1, true},
    {"self", &Calls::self, &Calls::got_own, 1, true},
    {"barrier", &Calls::barrier, &Calls::got_nothing, 1, false},
    {"bcast", &Calls::bcast, &Calls::got_one, 2, true},
    {"reduce", &Calls::reduce, &Calls::got_sum, 2, true},
    {"allreduce", &Calls::allreduce, &Calls::got_sum, 1, true},
    {"iallreduce", &Calls::iallreduce, &Calls::got_sum, 1, true},
    {"alltoall", &Calls::alltoall, &Calls::got_block, 1, true},
    {"allgather", &Calls::allgather, &Calls::got_each, 1, true},
};

}  // namespace

std::span<const Call> calls() {
  return kCalls;
}

Calls::Calls(std::size_t bytes)
    : bytes_(bytes),
      room_(bytes * kAtOnce + 8),
      count_(static_cast<int>(bytes)),
      words_(static_cast<int>((bytes + 7) / 8)),
      out_(room_),
      in_(room_),
      attached_(kBuffered * (bytes + MPI_BSEND_OVERHEAD + 64)) {
  MPI_Comm_rank(kWorld, &rank_);
  other_ = 1 - rank_;
  MPI_Buffer_attach(attached_.data(), static_cast<int>(kBuffered * (bytes + MPI_BSEND_OVERHEAD + 64)));
  for (int i = 0; i < kAtOnce; ++i) {
    const auto at = static_cast<std::size_t>(i);
    MPI_Recv_init(in(i), count_, MPI_BYTE, other_, kTag + i, kWorld, &persistent_[at]);
    MPI_Send_init(out(i), count_, MPI_BYTE, other_, kTag + i, kWorld, &persistent_[kAtOnce + at]);
  }
}

Calls::~Calls() {
  for (MPI_Request& request : persistent_) MPI_Request_free(&request);
  void* at = nullptr;
  int size = 0;
  MPI_Buffer_detach(static_cast<void*>(&at), &size);
}

void Calls::send() {
  ping_pong([&] { MPI_Send(out(0), count_, MPI_BYTE, other_, kTag, kWorld); },
            [&] { MPI_Recv(in(0), count_, MPI_BYTE, other_, kTag, kWorld, MPI_STATUS_IGNORE); });
}

void Calls::any_source() {
  ping_pong([&] { MPI_Send(out(0), count_, MPI_BYTE, other_, kTag, kWorld); },
            [&] { MPI_Recv(in(0), count_, MPI_BYTE, MPI_ANY_SOURCE, kTag, kWorld, MPI_STATUS_IGNORE); });
}

void Calls::any_tag() {
  ping_pong([&] { MPI_Send(out(0), count_, MPI_BYTE, other_, kTag, kWorld); },
            [&] { MPI_Recv(in(0), count_, MPI_BYTE, other_, MPI_ANY_TAG, kWorld, MPI_STATUS_IGNORE); });
}

void Calls::ssend() {
  ping_pong([&] { MPI_Ssend(out(0), count_, MPI_BYTE, other_, kTag, kWorld); },
            [&] { MPI_Recv(in(0), count_, MPI_BYTE, other_, kTag, kWorld, MPI_STATUS_IGNORE); });
}

void Calls::bsend() {
  ping_pong([&] { MPI_Bsend(out(0), count_, MPI_BYTE, other_, kTag, kWorld); },
            [&] { MPI_Recv(in(0), count_, MPI_BYTE, other_, kTag, kWorld, MPI_STATUS_IGNORE); });
}

void Calls::iprobe() {
  ping_pong([&] { MPI_Send(out(0), count_, MPI_BYTE, other_, kTag, kWorld); },
            [&] {
              int found = 0;
              MPI_Status status;
              while (found == 0) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, kWorld, &found, &status);
              MPI_Recv(in(0), count_, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, kWorld, MPI_STATUS_IGNORE);
            });
}

void Calls::mprobe() {
  ping_pong([&] { MPI_Send(out(0), count_, MPI_BYTE, other_, kTag, kWorld); },
            [&] {
              MPI_Message message = MPI_MESSAGE_NULL;
              MPI_Mprobe(MPI_ANY_SOURCE, kTag, kWorld, &message, MPI_STATUS_IGNORE);
              MPI_Mrecv(in(0), count_, MPI_BYTE, &message, MPI_STATUS_IGNORE);
            });
}

void Calls::sendrecv() {
  MPI_Sendrecv(out(0), count_, MPI_BYTE, other_, kTag, in(0), count_, MPI_BYTE, other_, kTag, kWorld,
               MPI_STATUS_IGNORE);
}

void Calls::start_all() {
  for (int i = 0; i < kAtOnce; ++i)
    MPI_Irecv(in(i), count_, MPI_BYTE, other_, kTag + i, kWorld, &requests_[static_cast<std::size_t>(i)]);
  for (int i = 0; i < kAtOnce; ++i)
    MPI_Isend(out(i), count_, MPI_BYTE, other_, kTag + i, kWorld,
              &requests_[static_cast<std::size_t>(kAtOnce + i)]);
}

void Calls::isend() {
  start_all();
  MPI_Waitall(2 * kAtOnce, requests_.data(), MPI_STATUSES_IGNORE);
}

void Calls::persistent() {
  MPI_Startall(2 * kAtOnce, persistent_.data());
  MPI_Waitall(2 * kAtOnce, persistent_.data(), MPI_STATUSES_IGNORE);
}

void Calls::waitany() {
  start_all();
  for (int i = 0; i < 2 * kAtOnce; ++i) {
    int which = 0;
    MPI_Waitany(2 * kAtOnce, requests_.data(), &which, MPI_STATUS_IGNORE);
  }
}

void Calls::testall() {
  start_all();
  int ended = 0;
  while (ended == 0) MPI_Testall(2 * kAtOnce, requests_.data(), &ended, MPI_STATUSES_IGNORE);
}

void Calls::late() {
  for (int i = 0; i < kAtOnce; ++i)
    MPI_Isend(out(i), count_, MPI_BYTE, other_, kTag + i, kWorld, &requests_[static_cast<std::size_t>(i)]);
  for (int i = kAtOnce - 1; i >= 0; --i)
    MPI_Recv(in(i), count_, MPI_BYTE, other_, kTag + i, kWorld, MPI_STATUS_IGNORE);
  MPI_Waitall(kAtOnce, requests_.data(), MPI_STATUSES_IGNORE);
}

void Calls::self() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(in(0), count_, MPI_BYTE, rank_, kTag, kWorld, &request);
  MPI_Send(out(0), count_, MPI_BYTE, rank_, kTag, kWorld);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void Calls::barrier() {
  MPI_Barrier(kWorld);
}

void Calls::bcast() {
  for (int root = 0; root < 2; ++root)
    MPI_Bcast(rank_ == root ? out(0) : in(0), count_, MPI_BYTE, root, kWorld);
}

void Calls::reduce() {
  for (int root = 0; root < 2; ++root) MPI_Reduce(out(0), in(0), words_, MPI_UINT64_T, MPI_SUM, root, kWorld);
}

void Calls::allreduce() {
  MPI_Allreduce(out(0), in(0), words_, MPI_UINT64_T, MPI_SUM, kWorld);
}

void Calls::iallreduce() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(out(0), in(0), words_, MPI_UINT64_T, MPI_SUM, kWorld, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void Calls::alltoall() {
  MPI_Alltoall(out(0), count_, MPI_BYTE, in(0), count_, MPI_BYTE, kWorld);
}

void Calls::allgather() {
  MPI_Allgather(out(0), count_, MPI_BYTE, in(0), count_, MPI_BYTE, kWorld);
}

std::uint64_t Calls::seed(int rank, int slot) const {
  return static_cast<std::uint64_t>(rank) * 1000003 + static_cast<std::uint64_t>(slot) * 101 + bytes_;
}

/// What a process sends.
void Calls::fill(std::byte* at, int rank) const {
  for (int i = 0; i < kAtOnce; ++i)
    fill_pattern(at + static_cast<std::size_t>(i) * bytes_, bytes_, seed(rank, i));
  std::memset(at + bytes_ * kAtOnce, 0, room_ - bytes_ * kAtOnce);
}

void Calls::prepare() {
  fill(out(0), rank_);
  std::memset(in(0), 0, room_);
}

bool Calls::got_one() const {
  return has_pattern(in(0), bytes_, seed(other_, 0));
}

bool Calls::got_all() const {
  bool right = true;
  for (int i = 0; i < kAtOnce; ++i) right = right && has_pattern(in(i), bytes_, seed(other_, i));
  return right;
}

bool Calls::got_own() const {
  return has_pattern(in(0), bytes_, seed(rank_, 0));
}

bool Calls::got_each() const {
  return has_pattern(in(0), bytes_, seed(0, 0)) && has_pattern(in(1), bytes_, seed(1, 0));
}

bool Calls::got_block() const {
  return has_pattern(in(0), bytes_, seed(0, rank_)) && has_pattern(in(1), bytes_, seed(1, rank_));
}

bool Calls::got_sum() const {
  std::vector<std::byte> theirs(room_);
  fill(theirs.data(), other_);
  for (std::size_t at = 0; at < summed_bytes(); at += 8) {
    std::uint64_t a = 0, b = 0, sum = 0;
    std::memcpy(&a, out(0) + at, 8);
    std::memcpy(&b, theirs.data() + at, 8);
    std::memcpy(&sum, in(0) + at, 8);
    if (sum != a + b) return false;
  }
  return true;
}

}  // namespace stria::bench
