// The send modes: blocking, non-blocking and persistent, to posted and unposted receives, at every size.
#include <algorithm>

#include "tests/mpi/p2p_semantics/parts.hpp"

namespace p2p {

using mpitest::Buffer;
using mpitest::expect;
using mpitest::expect_equal;
using mpitest::fill;
using mpitest::step;
using mpitest::text;

namespace {

using BlockingSend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using NonblockingSend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

struct Mode {
  const char* name;
  BlockingSend blocking;
  NonblockingSend nonblocking;
  NonblockingSend init;
  bool needs_receive;
  bool needs_buffer;
};

const Mode kModes[] = {
    {"send", MPI_Send, MPI_Isend, MPI_Send_init, false, false},
    {"ssend", MPI_Ssend, MPI_Issend, MPI_Ssend_init, false, false},
    {"rsend", MPI_Rsend, MPI_Irsend, MPI_Rsend_init, true, false},
    {"bsend", MPI_Bsend, MPI_Ibsend, MPI_Bsend_init, false, true},
};

// MPI's buffer for buffered sends, while this lives.
class Attached {
 public:
  explicit Attached(std::size_t bytes) : memory_(bytes + 16 * MPI_BSEND_OVERHEAD) {
    MPI_Buffer_attach(memory_.data(), static_cast<int>(memory_.size()));
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() { detach(); }
  void detach() {
    if (memory_.empty()) return;
    void* where = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&where, &bytes);
    expect(where == memory_.data() && bytes == static_cast<int>(memory_.size()),
           "detach returns what was attached");
    memory_.clear();
  }

 private:
  std::vector<std::byte> memory_;
};

// Tells the sender that the receive is posted.
void token(const Pair& p, bool sends) {
  if (sends) {
    MPI_Recv(nullptr, 0, MPI_BYTE, p.peer, 30000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(nullptr, 0, MPI_BYTE, p.peer, 30000, MPI_COMM_WORLD);
  }
}

}  // namespace

void send_modes(const Pair& p) {
  const Attached attached(4U << 20);
  for (const Mode& mode : kModes) {
    for (const std::uint64_t bytes : p.sizes) {
      for (int way = 0; way < 4; ++way) {  // bit 0: non-blocking; bit 1: unexpected
        const bool unexpected = (way & 2) != 0;
        if (mode.needs_receive && unexpected) continue;
        for (int sender = 0; sender < 2; ++sender) {
          const std::string what =
              text((way & 1) != 0 ? "i" : "", mode.name, " of ", bytes, unexpected ? " unexpected" : "");
          step(what);
          const std::uint64_t key = bytes * 8 + static_cast<std::uint64_t>(way);
          const int count = static_cast<int>(bytes);
          if (p.rank == sender) {
            std::vector<std::byte> out(bytes);
            fill(out.data(), bytes, key);
            if (!unexpected) token(p, true);
            if ((way & 1) == 0) {
              mode.blocking(out.data(), count, MPI_BYTE, p.peer, way, p.comm);
            } else {
              MPI_Request request = MPI_REQUEST_NULL;
              mode.nonblocking(out.data(), count, MPI_BYTE, p.peer, way, p.comm, &request);
              MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            std::fill(out.begin(), out.end(), std::byte{0});  // the buffer is ours again
          } else {
            Buffer in(bytes + 100);
            MPI_Request request = MPI_REQUEST_NULL;
            if (unexpected) MPI_Probe(p.peer, way, p.comm, MPI_STATUS_IGNORE);
            MPI_Irecv(in.data(), count + 100, MPI_BYTE, p.peer, way, p.comm, &request);
            if (!unexpected) token(p, false);
            MPI_Status status = {};
            MPI_Wait(&request, &status);
            int got = -1;
            MPI_Get_count(&status, MPI_BYTE, &got);
            expect(got == count, what + ": count");
            in.expect_message(bytes, key, what);
          }
        }
      }
    }
  }
}

void persistent(const Pair& p) {
  const Attached attached(4U << 20);
  for (const Mode& mode : kModes) {
    for (const std::uint64_t bytes : p.sizes) {
      if (p.avoid_peer_bugs && mode.needs_buffer && bytes > 4000) continue;
      step(text("persistent ", mode.name, " of ", bytes));
      std::vector<std::byte> out(bytes);
      Buffer in(bytes);
      MPI_Request both[2];
      MPI_Recv_init(in.data(), static_cast<int>(bytes), MPI_BYTE, p.peer, 3, p.comm, &both[0]);
      mode.init(out.data(), static_cast<int>(bytes), MPI_BYTE, p.peer, 3, p.comm, &both[1]);
      int done = 0;
      MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE);
      expect(done != 0, "inactive requests test as complete");
      for (std::uint64_t round = 0; round < 3; ++round) {
        const auto key = [&](int rank) { return bytes * 16 + round * 2 + static_cast<std::uint64_t>(rank); };
        fill(out.data(), bytes, key(p.rank));
        in.reset();
        if (mode.needs_receive) {
          MPI_Start(&both[0]);
          meet(p);
          MPI_Start(&both[1]);
        } else {
          MPI_Startall(2, both);
        }
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        in.expect_message(bytes, key(p.peer), text("persistent ", mode.name, " round ", round));
      }
      MPI_Request_free(&both[0]);
      MPI_Request_free(&both[1]);
    }
  }
}

// A buffered send is complete without its receiver; detach waits until the buffer is free.
void buffered(const Pair& p) {
  constexpr std::size_t kBytes = 1U << 20;
  Attached attached(6 * kBytes);
  std::vector<std::byte> out(kBytes);
  if (p.rank == 0) {
    for (int i = 0; i < 5; ++i) {
      fill(out.data(), kBytes, static_cast<std::uint64_t>(i));
      MPI_Bsend(out.data(), kBytes, MPI_BYTE, p.peer, i, p.comm);
    }
    std::fill(out.begin(), out.end(), std::byte{0});
  }
  meet(p);  // rank 1 comes here before it receives anything
  if (p.rank == 0) {
    attached.detach();
  } else {
    Buffer in(kBytes);
    for (const int i : {4, 0, 3, 1, 2}) {
      in.reset();
      MPI_Recv(in.data(), kBytes, MPI_BYTE, 0, i, p.comm, MPI_STATUS_IGNORE);
      in.expect_message(kBytes, static_cast<std::uint64_t>(i), text("buffered ", i));
    }
  }
}

// What the attached buffer has no room for is refused, also where it could leave at once; and nothing of it
// arrives.
void buffered_without_room(const Pair& p) {
  if (p.avoid_peer_bugs) return;
  constexpr int kBuffer = 1024, kFits = 512, kTooLong = 32768;
  const Attached attached(kBuffer);
  MPI_Comm_set_errhandler(p.comm, MPI_ERRORS_RETURN);
  if (p.rank == 0) {
    std::vector<std::byte> out(kTooLong);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(MPI_Bsend(out.data(), kTooLong, MPI_BYTE, p.peer, 3, p.comm), &error_class);
    expect_equal(error_class, MPI_ERR_BUFFER, "the class of a buffered send that is too long");
    fill(out.data(), kFits, 1);
    MPI_Bsend(out.data(), kFits, MPI_BYTE, p.peer, 3, p.comm);
  } else {
    Buffer in(kTooLong);
    MPI_Status status = {};
    MPI_Recv(in.data(), kTooLong, MPI_BYTE, p.peer, 3, p.comm, &status);
    int got = -1;
    MPI_Get_count(&status, MPI_BYTE, &got);
    if (expect_equal(got, kFits, "bytes that arrive")) in.expect_message(kFits, 1, "one that fits");
  }
}

// A synchronous send does not complete before its receive has started.
void synchronous(const Pair& p) {
  for (const std::uint64_t bytes : {0, 1, 64, 4096, 8193, 65537, 1048576}) {
    step(text("synchronous ", bytes));
    if (p.rank == 0) {
      std::vector<std::byte> out(bytes);
      fill(out.data(), bytes, bytes);
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Issend(out.data(), static_cast<int>(bytes), MPI_BYTE, 1, 5, p.comm, &request);
      int done = 0;
      for (int round = 0; round < 200; ++round) {  // the receiver makes progress all the while
        MPI_Sendrecv(nullptr, 0, MPI_BYTE, 1, 6, nullptr, 0, MPI_BYTE, 1, 6, p.comm, MPI_STATUS_IGNORE);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!expect(done == 0, text("a synchronous send of ", bytes, " bytes completed unmatched"))) break;
      }
      if (done != 0) MPI_Abort(MPI_COMM_WORLD, 1);
      MPI_Send(nullptr, 0, MPI_BYTE, 1, 7, p.comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      for (int round = 0; round < 200; ++round) {
        MPI_Sendrecv(nullptr, 0, MPI_BYTE, 0, 6, nullptr, 0, MPI_BYTE, 0, 6, p.comm, MPI_STATUS_IGNORE);
      }
      MPI_Recv(nullptr, 0, MPI_BYTE, 0, 7, p.comm, MPI_STATUS_IGNORE);
      Buffer in(bytes);
      MPI_Recv(in.data(), static_cast<int>(bytes), MPI_BYTE, 0, 5, p.comm, MPI_STATUS_IGNORE);
      in.expect_message(bytes, bytes, "synchronous");
    }
  }
}

void exchange_calls(const Pair& p) {
  for (const std::uint64_t bytes : p.sizes) {
    step(text("sendrecv ", bytes));
    const int count = static_cast<int>(bytes);
    std::vector<std::byte> out(bytes);
    Buffer in(bytes);
    fill(out.data(), bytes, bytes + static_cast<std::uint64_t>(p.rank));
    MPI_Sendrecv(out.data(), count, MPI_BYTE, p.peer, 1, in.data(), count, MPI_BYTE, p.peer, 1, p.comm,
                 MPI_STATUS_IGNORE);
    in.expect_message(bytes, bytes + static_cast<std::uint64_t>(p.peer), "sendrecv");
    in.reset();
    fill(in.data(), bytes, bytes + static_cast<std::uint64_t>(p.rank));
    MPI_Status status = {};
    MPI_Sendrecv_replace(in.data(), count, MPI_BYTE, p.peer, 2 + p.rank, MPI_ANY_SOURCE, 2 + p.peer, p.comm,
                         &status);
    expect(status.MPI_SOURCE == p.peer && status.MPI_TAG == 2 + p.peer, "sendrecv_replace status");
    in.expect_message(bytes, bytes + static_cast<std::uint64_t>(p.peer), "sendrecv_replace");
  }
}

}  // namespace p2p
