// The calls by which messages are sent and received; see round.hpp.
#include "tests/mpi/p2p_random/round.hpp"

#include <array>
#include <utility>

namespace p2p_random {
namespace {

using mpitest::expect;
using mpitest::expect_equal;
using mpitest::Rng;

constexpr int kStrayTag = 7777;

using SendFunction = decltype(&MPI_Send);
using StartFunction = decltype(&MPI_Isend);

// By SendMode.
constexpr std::array<SendFunction, 4> kBlocking{MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend};
constexpr std::array<StartFunction, 4> kNonblocking{MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend};
constexpr std::array<StartFunction, 4> kPersistent{MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init,
                                                   MPI_Rsend_init};

// What the buffered messages of this rank need; attached as long as the round goes on.
class AttachedBuffer {
 public:
  AttachedBuffer(const Plan& plan, int rank) {
    std::size_t bytes = 0;
    constexpr std::size_t kOverhead = MPI_BSEND_OVERHEAD;
    for (const Message& m : plan.messages) {
      if (m.source == rank && m.mode == SendMode::buffered) bytes += m.bytes + 2 * kOverhead;
    }
    if (bytes == 0) return;
    memory_.resize(bytes);
    MPI_Buffer_attach(memory_.data(), static_cast<int>(bytes));
  }
  AttachedBuffer(const AttachedBuffer&) = delete;
  AttachedBuffer& operator=(const AttachedBuffer&) = delete;
  /// Waits until the messages have left.
  ~AttachedBuffer() {
    if (memory_.empty()) return;
    void* detached = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&detached, &bytes);
    expect(detached == memory_.data() && bytes == static_cast<int>(memory_.size()), "MPI_Buffer_detach");
  }

 private:
  std::vector<std::byte> memory_;
};

}  // namespace

Round::Round(Communicators& comms, const Plan& plan, Rng rng, bool threads)
    : comms_(comms), plan_(plan), rng_(rng), threads_(threads) {}

void Round::run() {
  const AttachedBuffer attached(plan_, comms_.rank());
  const std::size_t all = plan_.receives[static_cast<std::size_t>(comms_.rank())].size();
  if (plan_.arrival == Arrival::expected) post_receives(all);
  if (plan_.arrival == Arrival::mixed) post_receives(rng_.below(all + 1));
  if (plan_.arrival == Arrival::expected) MPI_Barrier(comms_.base());  // a ready send's receive is posted
  send_all();
  if (plan_.arrival == Arrival::unexpected && plan_.meet_before_receives) MPI_Barrier(comms_.base());
  take_receives();
  if (plan_.renew_transient) comms_.renew_transient();
  cancel_strays();

  std::vector<Pending*> open;
  for (Receiving& r : receives_) open.push_back(&r.pending);
  for (Sending& s : sends_) open.push_back(&s.pending);
  complete(rng_, std::move(open), threads_);
}

Receiving& Round::next_receive() {
  const Receive& wanted = plan_.receives[static_cast<std::size_t>(comms_.rank())][receives_.size()];
  Receiving& r = receives_.emplace_back(rng_, wanted);
  r.pending.may_fail = wanted.may_fail;
  r.source = comms_.named(wanted.comm, wanted.source);
  r.tag = wanted.tag;
  return r;
}

// Receives that are there before this rank sends.
void Round::post_receives(std::size_t upto) {
  while (receives_.size() < upto) {
    if (rng_.chance(10)) post_stray();
    receive_later(next_receive());
  }
}

void Round::receive_later(Receiving& r) {
  TypedBuffer& b = r.buffer;
  r.pending.persistent = rng_.chance(30);
  const auto start = r.pending.persistent ? MPI_Recv_init : MPI_Irecv;
  start(b.origin(), b.count(), b.type(), r.source, r.tag, comms_[r.receive->comm], &r.pending.request);
  if (r.pending.persistent) MPI_Start(&r.pending.request);
  if (rng_.chance(30)) b.free_type();
}

void Round::receive_now(Receiving& r) {
  TypedBuffer& b = r.buffer;
  r.pending.error =
      MPI_Recv(b.origin(), b.count(), b.type(), r.source, r.tag, comms_[r.receive->comm], &r.pending.status);
  r.pending.ended = true;
}

// The receives that are left when this rank has begun to send.
void Round::take_receives() {
  const std::size_t all = plan_.receives[static_cast<std::size_t>(comms_.rank())].size();
  while (receives_.size() < all) take(next_receive());
}

void Round::take(Receiving& r) {
  switch (rng_.below(8)) {
    case 0:
      receive_now(r);
      break;
    case 1:
    case 2:
      receive_later(r);
      break;
    case 3:
      probe_and_receive(r, true);
      break;
    case 4:
      probe_and_receive(r, false);
      break;
    case 5:
      match_and_receive(r, true);
      break;
    case 6:
      match_and_receive(r, false);
      break;
    default:
      receive_unless_cancelled(r);
      break;
  }
}

// What was probed is received by its name: it is the first of its channel.
void Round::probe_and_receive(Receiving& r, bool waits) {
  const MPI_Comm comm = comms_[r.receive->comm];
  int found = 0;
  if (waits) MPI_Probe(r.source, r.tag, comm, &r.probed);
  while (!waits && found == 0) MPI_Iprobe(r.source, r.tag, comm, &found, &r.probed);
  r.was_probed = true;
  r.source = r.probed.MPI_SOURCE;
  r.tag = r.probed.MPI_TAG;
  if (rng_.chance(50)) {
    receive_now(r);
  } else {
    receive_later(r);
  }
}

void Round::match_and_receive(Receiving& r, bool waits) {
  const MPI_Comm comm = comms_[r.receive->comm];
  TypedBuffer& b = r.buffer;
  MPI_Message message = MPI_MESSAGE_NULL;
  int found = 0;
  if (waits) MPI_Mprobe(r.source, r.tag, comm, &message, &r.probed);
  while (!waits && found == 0) MPI_Improbe(r.source, r.tag, comm, &found, &message, &r.probed);
  r.was_probed = true;
  if (rng_.chance(50)) {
    r.pending.error = MPI_Mrecv(b.origin(), b.count(), b.type(), &message, &r.pending.status);
    r.pending.ended = true;
  } else {
    MPI_Imrecv(b.origin(), b.count(), b.type(), &message, &r.pending.request);
    if (rng_.chance(30)) b.free_type();
  }
  expect(message == MPI_MESSAGE_NULL, "a matched message that was received keeps its handle");
}

// A cancelled receive has either got its message or left it to the next one, and nothing in between.
void Round::receive_unless_cancelled(Receiving& r) {
  TypedBuffer& b = r.buffer;
  Pending& p = r.pending;
  MPI_Irecv(b.origin(), b.count(), b.type(), r.source, r.tag, comms_[r.receive->comm], &p.request);
  MPI_Cancel(&p.request);
  p.error = MPI_Wait(&p.request, &p.status);
  p.ended = true;
  int cancelled = 0;
  MPI_Test_cancelled(&p.status, &cancelled);
  if (cancelled == 0) return;
  expect_equal(class_of(p.error), MPI_SUCCESS, "the error of a cancelled receive");
  expect(b.holds(0, 0), "a cancelled receive wrote");
  receive_now(r);
}

void Round::post_stray() {
  static int nowhere = 0;
  const int comm = static_cast<int>(rng_.below(kTransient));
  const int source = rng_.chance(50)
                         ? MPI_ANY_SOURCE
                         : static_cast<int>(rng_.below(static_cast<std::uint64_t>(comms_.ranks())));
  strays_.push_back(MPI_REQUEST_NULL);
  MPI_Irecv(&nowhere, 1, MPI_INT, source, kStrayTag, comms_[comm], &strays_.back());
  if (rng_.chance(30)) {  // also ones that end before the messages come: their memory serves other requests
    MPI_Cancel(&strays_.back());
    MPI_Wait(&strays_.back(), MPI_STATUS_IGNORE);
    strays_.pop_back();
  }
}

void Round::cancel_strays() {
  for (MPI_Request& stray : strays_) {
    MPI_Cancel(&stray);
    if (rng_.chance(30)) {
      MPI_Request_free(&stray);
      continue;
    }
    MPI_Status status = {};
    int cancelled = 0;
    expect_equal(MPI_Wait(&stray, &status), MPI_SUCCESS, "a cancelled receive that nobody sends to");
    MPI_Test_cancelled(&status, &cancelled);
    expect(cancelled != 0, "a receive that nobody sends to was not cancelled");
  }
  strays_.clear();
}

void Round::send_all() {
  for (const Message& m : plan_.messages) {
    if (m.source != comms_.rank()) continue;
    send(sends_.emplace_back(rng_, m));
  }
}

// Only a send whose receive is posted, or that MPI buffers, may keep this rank from its own receives.
void Round::send(Sending& s) {
  const Message& m = *s.message;
  TypedBuffer& b = s.buffer;
  Pending& p = s.pending;
  b.fill(m.key);
  const MPI_Comm comm = comms_[m.comm];
  const int destination = comms_.named(m.comm, m.destination);
  const auto mode = static_cast<std::size_t>(m.mode);
  const bool may_block = plan_.arrival == Arrival::expected || m.mode == SendMode::buffered;
  if (may_block && rng_.chance(40)) {
    p.error = kBlocking.at(mode)(b.origin(), b.count(), b.type(), destination, m.tag, comm);
    p.ended = true;
    return;
  }
  p.persistent = rng_.chance(40);
  const StartFunction start = (p.persistent ? kPersistent : kNonblocking).at(mode);
  start(b.origin(), b.count(), b.type(), destination, m.tag, comm, &p.request);
  if (p.persistent) MPI_Start(&p.request);
  if (rng_.chance(30)) b.free_type();
  if (rng_.chance(15)) {  // its memory is kept until all ranks are through the round
    MPI_Request_free(&p.request);
    p.ended = true;
  }
}

}  // namespace p2p_random
