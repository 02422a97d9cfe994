// One rank's part of a plan, executed: what was started, and what became of it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <deque>
#include <vector>

#include "tests/mpi/harness.hpp"
#include "tests/mpi/p2p_random/communicators.hpp"
#include "tests/mpi/p2p_random/completion.hpp"
#include "tests/mpi/p2p_random/plan.hpp"
#include "tests/mpi/p2p_random/typed_buffer.hpp"

namespace p2p_random {

struct Sending {
  Sending(mpitest::Rng& rng, const Message& m) : message(&m), buffer(rng, m.bytes) {}
  const Message* message;
  TypedBuffer buffer;
  Pending pending;
};

struct Receiving {
  Receiving(mpitest::Rng& rng, const Receive& r) : receive(&r), buffer(rng, r.capacity) {}
  const Receive* receive;
  TypedBuffer buffer;
  Pending pending;
  MPI_Status probed{};  // what a probe said before
  bool was_probed = false;
  int source = 0;  // as MPI was told, or named by a probe
  int tag = 0;
};

class Round {
 public:
  Round(Communicators& comms, const Plan& plan, mpitest::Rng rng, bool threads);

  /// Sends and receives all; returns when everything of this rank but freed sends has ended.
  void run();
  /// In the order of posting. Addresses stay until the end of the round.
  [[nodiscard]] const std::deque<Receiving>& receives() const noexcept { return receives_; }
  [[nodiscard]] const std::deque<Sending>& sends() const noexcept { return sends_; }

 private:
  void post_receives(std::size_t upto);
  void take_receives();
  void take(Receiving& r);
  void probe_and_receive(Receiving& r, bool waits);
  void match_and_receive(Receiving& r, bool waits);
  void receive_unless_cancelled(Receiving& r);
  Receiving& next_receive();
  void receive_now(Receiving& r);
  void receive_later(Receiving& r);
  void send_all();
  void send(Sending& s);
  void post_stray();
  void cancel_strays();

  Communicators& comms_;
  const Plan& plan_;
  mpitest::Rng rng_;  // this rank's own: what is drawn here nobody else needs to know
  bool threads_;
  std::deque<Receiving> receives_;
  std::deque<Sending> sends_;
  std::vector<MPI_Request> strays_;  // receives that nobody sends to
};

}  // namespace p2p_random
