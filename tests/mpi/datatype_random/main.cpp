// Random MPI datatypes between two ranks: each drawn case is sent as one type and received as another with
// the same signature, in a drawn mode, expected or unexpected, and compared to the byte with the typemap
// walk.
//   --cases=N        how many (default 4000; times STRIA_TEST_ROUNDS)
//   --sizes=a,b,...  message sizes in bytes (default: around protocol thresholds)
//   --peer-bugs=avoid  leave out what is known to break Open MPI's convertor, to run over its own layers
//   --alloc-mem=1    messages out of memory of MPI_Alloc_mem, into such memory
//   --only=N         case N alone, as it would be drawn in the whole run
#include <algorithm>
#include <cstdio>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

#include "tests/mpi/datatype_random/case.hpp"
#include "tests/mpi/harness.hpp"
#include "tests/rounds.hpp"

namespace {

using namespace mpitest;

constexpr int kReadyTag = 30000;
constexpr std::uint64_t kBufferedLimit = 65536;
constexpr std::uint64_t kTogether = std::uint64_t{1} << 40;  // numbers beyond those of any run

enum class SendMode { send, isend, ssend, issend, init, ssend_init, bsend, rsend, rsend_init, kinds };
enum class ReceiveMode { recv, irecv, init, mrecv, imrecv, wildcard, kinds };
enum class Arrival { any, expected, unexpected, kinds };

struct Plan {
  SendMode send;
  ReceiveMode receive;
  Arrival arrival;
  int rounds;
  int tag;
};

Plan draw_plan(Rng& rng, const Case& c) {
  Plan plan{static_cast<SendMode>(rng.below(static_cast<std::uint64_t>(SendMode::kinds))),
            static_cast<ReceiveMode>(rng.below(static_cast<std::uint64_t>(ReceiveMode::kinds))),
            static_cast<Arrival>(rng.below(static_cast<std::uint64_t>(Arrival::kinds))),
            c.bytes <= 65536 && rng.chance(25) ? 2 : 1, static_cast<int>(rng.below(20000))};
  if (plan.send == SendMode::bsend && c.bytes > kBufferedLimit) plan.send = SendMode::send;
  if (plan.send == SendMode::rsend || plan.send == SendMode::rsend_init) plan.arrival = Arrival::expected;
  if (plan.arrival == Arrival::expected && plan.receive != ReceiveMode::init)
    plan.receive = ReceiveMode::irecv;
  return plan;
}

void send_once(Case& c, const Plan& plan, int peer, MPI_Comm comm, MPI_Request& persistent) {
  void* const data = c.sent.origin();
  const int count = c.sent.count;
  MPI_Datatype type = c.sent.type.handle;
  MPI_Request request = MPI_REQUEST_NULL;
  switch (plan.send) {
    case SendMode::send:
      MPI_Send(data, count, type, peer, plan.tag, comm);
      break;
    case SendMode::isend:
      MPI_Isend(data, count, type, peer, plan.tag, comm, &request);
      break;
    case SendMode::ssend:
      MPI_Ssend(data, count, type, peer, plan.tag, comm);
      break;
    case SendMode::issend:
      MPI_Issend(data, count, type, peer, plan.tag, comm, &request);
      break;
    case SendMode::bsend:
      MPI_Bsend(data, count, type, peer, plan.tag, comm);
      break;
    case SendMode::rsend:
      MPI_Rsend(data, count, type, peer, plan.tag, comm);
      break;
    case SendMode::init:
    case SendMode::ssend_init:
    case SendMode::rsend_init:
    case SendMode::kinds:
      if (persistent == MPI_REQUEST_NULL) {
        const auto init = plan.send == SendMode::init         ? MPI_Send_init
                          : plan.send == SendMode::ssend_init ? MPI_Ssend_init
                                                              : MPI_Rsend_init;
        init(data, count, type, peer, plan.tag, comm, &persistent);
      }
      MPI_Start(&persistent);
      MPI_Wait(&persistent, MPI_STATUS_IGNORE);
      break;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

MPI_Status receive_once(Case& c, const Plan& plan, int peer, MPI_Comm comm, MPI_Request& persistent) {
  void* const data = c.received.origin();
  const int count = c.received.count;
  MPI_Datatype type = c.received.type.handle;
  MPI_Status status = {};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  if (plan.receive == ReceiveMode::init && persistent == MPI_REQUEST_NULL) {
    MPI_Recv_init(data, count, type, peer, plan.tag, comm, &persistent);
  }
  if (plan.arrival == Arrival::unexpected) {
    MPI_Status seen = {};
    MPI_Probe(peer, plan.tag, comm, &seen);
    MPI_Count bytes = -1;
    MPI_Get_elements_x(&seen, MPI_BYTE, &bytes);
    if (bytes != static_cast<MPI_Count>(c.bytes)) expect(false, text("probed ", bytes, " bytes: ", c.text()));
  }
  switch (plan.receive) {
    case ReceiveMode::recv:
      MPI_Recv(data, count, type, peer, plan.tag, comm, &status);
      break;
    case ReceiveMode::wildcard:
      MPI_Recv(data, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
      break;
    case ReceiveMode::irecv:
      MPI_Irecv(data, count, type, peer, plan.tag, comm, &request);
      break;
    case ReceiveMode::mrecv:
      MPI_Mprobe(peer, plan.tag, comm, &message, &status);
      MPI_Mrecv(data, count, type, &message, &status);
      break;
    case ReceiveMode::imrecv:
      for (int found = 0; found == 0;) MPI_Improbe(MPI_ANY_SOURCE, plan.tag, comm, &found, &message, &status);
      MPI_Imrecv(data, count, type, &message, &request);
      break;
    case ReceiveMode::init:
    case ReceiveMode::kinds:
      MPI_Start(&persistent);
      break;
  }
  if (plan.arrival == Arrival::expected) MPI_Send(nullptr, 0, MPI_BYTE, peer, kReadyTag, MPI_COMM_WORLD);
  if (plan.receive == ReceiveMode::init) MPI_Wait(&persistent, &status);
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, &status);
  return status;
}

void exchange(Case& c, const Plan& plan, bool sends, int peer, MPI_Comm comm) {
  MPI_Request persistent = MPI_REQUEST_NULL;
  if (sends) fill_sent(c);
  for (int round = 0; round < plan.rounds; ++round) {
    if (sends) {
      if (plan.arrival == Arrival::expected) {
        MPI_Recv(nullptr, 0, MPI_BYTE, peer, kReadyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      send_once(c, plan, peer, comm, persistent);
    } else {
      fill_received(c);
      check_received(c, receive_once(c, plan, peer, comm, persistent), peer, plan.tag);
    }
  }
  if (persistent != MPI_REQUEST_NULL) MPI_Request_free(&persistent);
  if (sends) check_sent(c);
}

// A message from this rank to itself.
void exchange_with_self(Case& c, const Plan& plan, int rank, MPI_Comm comm) {
  fill_sent(c);
  fill_received(c);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  const auto receive = [&](MPI_Request* r) {
    MPI_Irecv(c.received.origin(), c.received.count, c.received.type.handle, rank, plan.tag, comm, r);
  };
  const auto isend = plan.send == SendMode::issend || plan.send == SendMode::ssend ? MPI_Issend : MPI_Isend;
  if (plan.arrival == Arrival::expected) receive(&requests[0]);
  isend(c.sent.origin(), c.sent.count, c.sent.type.handle, rank, plan.tag, comm, &requests[1]);
  if (plan.arrival != Arrival::expected) receive(&requests[0]);
  MPI_Waitall(2, requests, statuses);
  check_received(c, statuses[0], rank, plan.tag);
  check_sent(c);
}

// Several cases in flight at once, received in another order than sent.
void exchange_together(std::vector<Case>& cases, Rng& rng, bool sends, int peer, MPI_Comm comm) {
  std::vector<MPI_Request> requests(cases.size());
  std::vector<MPI_Status> statuses(cases.size());
  std::vector<std::size_t> order(cases.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Case& c = cases[sends ? i : order[i]];
    const int tag = static_cast<int>(sends ? i : order[i]);
    if (sends) {
      fill_sent(c);
      MPI_Isend(c.sent.origin(), c.sent.count, c.sent.type.handle, peer, tag, comm, &requests[i]);
    } else {
      fill_received(c);
      MPI_Irecv(c.received.origin(), c.received.count, c.received.type.handle, peer, tag, comm, &requests[i]);
    }
  }
  MPI_Waitall(static_cast<int>(cases.size()), requests.data(), statuses.data());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (sends) {
      check_sent(cases[i]);
    } else {
      check_received(cases[order[i]], statuses[i], peer, static_cast<int>(order[i]));
    }
  }
}

class AllocMem : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t /*alignment*/) override {
    void* out = nullptr;
    if (MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &out) != MPI_SUCCESS)
      throw std::bad_alloc();
    return out;
  }
  void do_deallocate(void* memory, std::size_t /*bytes*/, std::size_t /*alignment*/) override {
    MPI_Free_mem(memory);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

std::uint64_t draw_size(Rng& rng, const std::vector<std::uint64_t>& sizes) {
  for (;;) {
    const std::uint64_t size = sizes[rng.below(sizes.size())];
    if (size > 100000 && sizes.size() > 4 && !rng.chance(20))
      continue;  // the walk of a long message takes its time
    if (size > 16000 && sizes.size() > 4 && !rng.chance(40)) continue;
    return rng.chance(15) && size > 4 ? size - rng.below(3) : size;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "datatype_random");
  if (session.size != 2) {
    expect(false, "needs 2 ranks");
    return session.finish();
  }
  static AllocMem alloc_mem;
  if (session.options.number("alloc-mem", 0) != 0) std::pmr::set_default_resource(&alloc_mem);
  const auto cases = static_cast<std::uint64_t>(
      stria::test::rounds(static_cast<std::int64_t>(session.options.number("cases", 4000))));
  const std::vector<std::uint64_t> sizes = session.options.numbers("sizes", threshold_sizes());
  const std::uint64_t only = session.options.number("only", kTogether);
  const std::uint64_t first = only < kTogether ? only : 0, last = only < kTogether ? only + 1 : cases;
  if (session.options.get("peer-bugs", "meet") == "avoid") avoid_peer_bugs();
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<char> attached(2 * kBufferedLimit + 2 * MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));

  const double start = now_seconds();
  for (std::uint64_t number = first; number < last && failures() < 50; ++number) {
    step(text("case ", number));
    Rng rng(mix(session.seed) + number);
    Case c = draw_case(session.seed, number, draw_size(rng, sizes));
    const Plan plan = draw_plan(rng, c);
    step(text("case ", number, ", ", c.bytes, " bytes, send mode ", static_cast<int>(plan.send),
              ", receive mode ", static_cast<int>(plan.receive), ", arrival ",
              static_cast<int>(plan.arrival)));
    const int sender = static_cast<int>(rng.below(2));
    const std::uint64_t kind = rng.below(20);
    if (kind < 2) {
      if (session.rank == sender) exchange_with_self(c, plan, session.rank, comm);
    } else if (kind < 5) {
      std::vector<Case> together;
      together.push_back(std::move(c));
      for (std::uint64_t more = 1 + rng.below(4); more > 0; --more) {
        together.push_back(draw_case(session.seed, kTogether + number * 16 + more, draw_size(rng, sizes)));
      }
      exchange_together(together, rng, session.rank == sender, 1 - session.rank, comm);
    } else {
      exchange(c, plan, session.rank == sender, 1 - session.rank, comm);
    }
  }
  void* detached = nullptr;
  int detached_bytes = 0;
  MPI_Buffer_detach(&detached, &detached_bytes);
  MPI_Comm_free(&comm);
  if (session.rank == 0)
    std::printf("datatype_random: %llu cases in %.1f s\n", static_cast<unsigned long long>(last - first),
                now_seconds() - start);
  return session.finish();
}
