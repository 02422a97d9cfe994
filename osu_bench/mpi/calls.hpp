// The calls of MPI that programs use beside MPI_Send and MPI_Recv, each as one step of two processes.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <span>

#include "osu_bench/common/buffer.hpp"

namespace stria::bench {

/// What a step works on: `bytes` a message, out of `out` into `in`, which have room for kAtOnce of them. What
/// is summed are as many words as hold them.
class Calls {
 public:
  static constexpr int kAtOnce = 6;  // messages of a halo in three dimensions

  explicit Calls(std::size_t bytes);
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls();

  // Ping-pongs.
  void send();
  void any_source();
  void any_tag();
  void ssend();
  void bsend();
  void iprobe();
  void mprobe();
  // Both ways at once.
  void sendrecv();
  void isend();       // kAtOnce each way, MPI_Waitall
  void persistent();  // the same by MPI_Startall
  void waitany();
  void testall();
  void late();  // all are sent before the first receive, and received from the last to the first
  // Alone.
  void self();
  // Collectives.
  void barrier();
  void bcast();   // from each
  void reduce();  // to each
  void allreduce();
  void iallreduce();
  void alltoall();
  void allgather();

  /// Fills `out` with what this process sends, and wipes `in`.
  void prepare();
  // Whether `in` holds what the other process sends; of one message, of kAtOnce, what it sends to itself, of
  // both processes, a sum.
  bool got_one() const;
  bool got_all() const;
  bool got_own() const;
  bool got_each() const;
  bool got_block() const;
  bool got_sum() const;
  bool got_nothing() const { return true; }
  /// That a sum takes.
  std::size_t summed_bytes() const { return static_cast<std::size_t>(words_) * 8; }

 private:
  using Requests = std::array<MPI_Request, 2 * kAtOnce>;
  std::byte* out(int slot) const { return out_.data() + static_cast<std::size_t>(slot) * bytes_; }
  std::byte* in(int slot) const { return in_.data() + static_cast<std::size_t>(slot) * bytes_; }
  void fill(std::byte* at, int rank) const;
  std::uint64_t seed(int rank, int slot) const;
  void start_all();
  template <class Send, class Recv>
  void ping_pong(Send&& send, Recv&& recv) {
    if (rank_ == 0) {
      send();
      recv();
    } else {
      recv();
      send();
    }
  }

  std::size_t bytes_;
  std::size_t room_;
  int count_;  // of MPI_BYTE
  int words_;  // of what is summed
  int rank_ = 0, other_ = 0;
  Buffer out_, in_, attached_;
  Requests requests_, persistent_;
};

struct Call {
  const char* name;
  void (Calls::*step)();
  bool (Calls::*right)() const;
  int calls;      ///< of them in a step: what a row says is the time of one (ping-pong: one way)
  bool has_size;  ///< barriers have none
};

std::span<const Call> calls();

}  // namespace stria::bench
