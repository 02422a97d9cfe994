// Messages whose instructions can be counted, as nobody spins inside of what is counted.
//   counted_messages posted|there BYTES
//   posted   windows, receives first: MPI_Irecv, MPI_Isend, MPI_Waitall
//   there    every message is there when its receive is posted: MPI_Send, MPI_Recv
// One rank sends to itself. Of two, rank 0 sends and rank 1 receives; they wait for each other outside of
// MPI, so that nothing moves meanwhile. Rank 0 prints how many messages were counted.
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

/// callgrind collects inside of this function alone.
extern "C" [[gnu::noinline]] void stria_counted(void (*work)(void*), void* argument) {
  work(argument);
  asm volatile("" ::: "memory");
}

namespace {

constexpr int kMostWindow = 32;
constexpr int kWarmUp = 100;  // windows: connected, free lists filled
constexpr int kRounds = 200;  // windows that are counted

/// Where two ranks meet, without MPI.
class Meeting {
 public:
  Meeting(int ranks, int rank) : rank_(rank), other_(ranks == 1 ? rank : 1 - rank) {
    int number = ::getpid();
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const std::string name = "/stria-counted-" + std::to_string(number);
    const int fd = ::shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
    void* memory = MAP_FAILED;
    if (fd >= 0 && ::ftruncate(fd, sizeof(*came_) * 2) == 0)
      memory = ::mmap(nullptr, sizeof(*came_) * 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
      std::perror("shared memory");
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    came_ = static_cast<std::atomic<int>*>(memory);
    MPI_Barrier(MPI_COMM_WORLD);
    ::shm_unlink(name.c_str());
    ::close(fd);
  }
  void meet() {
    const int mine = came_[rank_].fetch_add(1) + 1;
    while (came_[other_].load() < mine) ::sched_yield();
  }

 private:
  const int rank_, other_;
  std::atomic<int>* came_ = nullptr;
};

class Messages {
 public:
  Messages(int ranks, int rank, int bytes)
      : window(ranks == 1 ? kMostWindow : 8),  // so few have room wherever they wait
        sends_(rank == 0),
        receives_(rank == ranks - 1),
        to_rank_(ranks - 1),
        bytes_(bytes),
        meeting_(ranks, rank),
        from_(static_cast<std::size_t>(bytes), 3),
        to_(static_cast<std::size_t>(bytes) * kMostWindow) {}

  void run(bool posted, int rounds, bool count) {
    for (int round = 0; round < rounds; ++round) {
      if (posted)
        run_posted(count);
      else
        run_there(count);
    }
  }
  bool right() const {
    if (!receives_) return true;
    for (int i = 0; i < window * bytes_; ++i)
      if (to_[static_cast<std::size_t>(i)] != 3) return false;
    return true;
  }
  const int window;

 private:
  template <class Work>
  void step(bool mine, bool count, Work work) {
    if (mine && count) stria_counted([](void* of) { (*static_cast<Work*>(of))(); }, &work);
    if (mine && !count) work();
    meeting_.meet();
  }
  void run_posted(bool count) {
    step(receives_, count, [&] {
      for (int i = 0; i < window; ++i)
        MPI_Irecv(room(i), bytes_, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &receiving_[static_cast<std::size_t>(i)]);
    });
    step(sends_, count, [&] {
      for (int i = 0; i < window; ++i)
        MPI_Isend(from_.data(), bytes_, MPI_BYTE, to_rank_, 7, MPI_COMM_WORLD,
                  &sending_[static_cast<std::size_t>(i)]);
    });
    step(receives_, count, [&] { MPI_Waitall(window, receiving_.data(), MPI_STATUSES_IGNORE); });
    step(sends_, count, [&] { MPI_Waitall(window, sending_.data(), MPI_STATUSES_IGNORE); });
  }
  void run_there(bool count) {
    // To itself one by one: whatever a layer keeps of messages that nobody waits for stays short.
    const bool alone = sends_ && receives_;
    for (int i = 0; i < window; i += alone ? 1 : window) {
      const int end = alone ? i + 1 : window;
      step(sends_, count, [&] {
        for (int at = i; at < end; ++at)
          MPI_Send(from_.data(), bytes_, MPI_BYTE, to_rank_, 7, MPI_COMM_WORLD);
      });
      step(receives_, count, [&] {
        for (int at = i; at < end; ++at)
          MPI_Recv(room(at), bytes_, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      });
    }
  }
  char* room(int i) { return to_.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes_); }

  const bool sends_, receives_;
  const int to_rank_, bytes_;
  Meeting meeting_;
  std::vector<char> from_, to_;
  std::array<MPI_Request, kMostWindow> sending_{}, receiving_{};
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool posted = argc == 3 && std::strcmp(argv[1], "posted") == 0;
  if (ranks > 2 || argc != 3 || (!posted && std::strcmp(argv[1], "there") != 0)) {
    std::fprintf(stderr, "usage, of one or two ranks: counted_messages posted|there BYTES\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  bool right = false;
  {
    Messages messages(ranks, rank, std::atoi(argv[2]));
    messages.run(posted, kWarmUp, false);
    messages.run(posted, kRounds, true);
    right = messages.right();
    if (rank == 0) std::printf("messages %d\n", kRounds * messages.window);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
