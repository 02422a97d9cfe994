// Matching: order under wildcards, probes, collectives kept apart, messages to oneself, to nobody, and
// cancelling.
#include <algorithm>
#include <utility>

#include "tests/mpi/p2p_semantics/parts.hpp"

namespace p2p {

using mpitest::Buffer;
using mpitest::expect;
using mpitest::expect_equal;
using mpitest::fill;
using mpitest::Rng;
using mpitest::step;
using mpitest::text;

namespace {

// The message number `i` of a stream: its size and bytes follow from i.
std::uint64_t drawn_size(const Pair& p, int i) {
  Rng rng(static_cast<std::uint64_t>(i) + 99);
  const std::uint64_t size = p.sizes[rng.below(p.sizes.size())];
  return size > 100000 && !rng.chance(10) ? size % 1000 : size;
}

}  // namespace

// Two messages that match one receive are received in the order they were sent, whatever their sizes and
// modes.
void order_and_wildcards(const Pair& p) {
  constexpr int kMessages = 600;
  for (int way = 0; way < 4; ++way) {  // bit 0: any tag; bit 1: any source
    for (const bool early : {true, false}) {
      step(text("order, way ", way, early ? " expected" : " unexpected"));
      std::vector<MPI_Request> requests(kMessages);
      std::vector<std::vector<std::byte>> memory(kMessages);
      if (p.rank == 0) {
        if (early) meet(p);
        for (int i = 0; i < kMessages; ++i) {
          auto& out = memory[static_cast<std::size_t>(i)];
          out.resize(drawn_size(p, i));
          fill(out.data(), out.size(), static_cast<std::uint64_t>(i));
          const auto send = i % 7 == 3 ? MPI_Issend : MPI_Isend;
          send(out.data(), static_cast<int>(out.size()), MPI_BYTE, 1, (way & 1) != 0 ? i : 4, p.comm,
               &requests[static_cast<std::size_t>(i)]);
        }
        if (!early) meet(p);
        MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
        continue;
      }
      if (!early) meet(p);
      std::vector<MPI_Status> statuses(kMessages);
      for (int i = 0; i < kMessages; ++i) {
        const auto k = static_cast<std::size_t>(i);
        memory[k].resize(drawn_size(p, i));  // exactly: a message out of order is cut or short
        MPI_Irecv(memory[k].data(), static_cast<int>(memory[k].size()), MPI_BYTE,
                  (way & 2) != 0 ? MPI_ANY_SOURCE : 0, (way & 1) != 0 ? MPI_ANY_TAG : 4, p.comm,
                  &requests[k]);
      }
      if (early) meet(p);
      MPI_Waitall(kMessages, requests.data(), statuses.data());
      for (int i = 0; i < kMessages; ++i) {
        const auto k = static_cast<std::size_t>(i);
        int count = -1;
        MPI_Get_count(&statuses[k], MPI_BYTE, &count);
        expect(count == static_cast<int>(memory[k].size()) && statuses[k].MPI_SOURCE == 0 &&
                   statuses[k].MPI_TAG == ((way & 1) != 0 ? i : 4),
               text("message ", i, ": count ", count, " tag ", statuses[k].MPI_TAG));
        mpitest::expect_pattern(memory[k].data(), memory[k].size(), static_cast<std::uint64_t>(i),
                                text("message ", i));
      }
    }
  }

  step("a tag picks from the middle");
  constexpr int kTags = 64;
  std::vector<int> values(kTags);
  if (p.rank == 0) {
    for (int i = 0; i < kTags; ++i) MPI_Send(&i, 1, MPI_INT, 1, i, p.comm);
    meet(p);
  } else {
    meet(p);
    for (int i = kTags - 1; i >= 0; i -= 2)
      MPI_Recv(&values[static_cast<std::size_t>(i)], 1, MPI_INT, MPI_ANY_SOURCE, i, p.comm,
               MPI_STATUS_IGNORE);
    for (int i = 0; i < kTags; i += 2) {
      MPI_Status status = {};
      MPI_Recv(&values[static_cast<std::size_t>(i)], 1, MPI_INT, 0, MPI_ANY_TAG, p.comm, &status);
      expect_equal(status.MPI_TAG, i, "the oldest of the rest");
    }
    for (int i = 0; i < kTags; ++i) expect_equal(values[static_cast<std::size_t>(i)], i, "picked by tag");
  }
}

void probes(const Pair& p) {
  for (const std::uint64_t bytes : p.sizes) {
    for (int kind = 0; kind < 4; ++kind) {
      for (const bool wild : {false, true}) {
        step(text("probe kind ", kind, " of ", bytes, wild ? " wild" : ""));
        const int tag = 10 + kind;
        if (p.rank == 0) {
          std::vector<std::byte> out(bytes);
          fill(out.data(), bytes, bytes);
          MPI_Send(out.data(), static_cast<int>(bytes), MPI_BYTE, 1, tag, p.comm);
          continue;
        }
        const int source = wild ? MPI_ANY_SOURCE : 0;
        const int asked = wild ? MPI_ANY_TAG : tag;
        MPI_Status status = {};
        MPI_Message message = MPI_MESSAGE_NULL;
        int found = 0;
        switch (kind) {
          case 0:
            MPI_Probe(source, asked, p.comm, &status);
            break;
          case 1:
            while (found == 0) MPI_Iprobe(source, asked, p.comm, &found, &status);
            break;
          case 2:
            MPI_Mprobe(source, asked, p.comm, &message, &status);
            break;
          default:
            while (found == 0) MPI_Improbe(source, asked, p.comm, &found, &message, &status);
            break;
        }
        int count = -1;
        MPI_Get_count(&status, MPI_BYTE, &count);
        expect(count == static_cast<int>(bytes) && status.MPI_SOURCE == 0 && status.MPI_TAG == tag,
               "probed status");
        Buffer in(bytes);
        if (kind < 2) {
          MPI_Recv(in.data(), count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, p.comm, &status);
        } else {
          if (kind == 2) {
            MPI_Mrecv(in.data(), count, MPI_BYTE, &message, &status);
          } else {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Imrecv(in.data(), count, MPI_BYTE, &message, &request);
            MPI_Wait(&request, &status);
          }
          expect(message == MPI_MESSAGE_NULL, "the message handle is used up");
        }
        expect(status.MPI_SOURCE == 0 && status.MPI_TAG == tag, "received status");
        in.expect_message(bytes, bytes, text("probed ", bytes));
      }
    }
  }

  step("a matched message is out of reach of other receives");
  if (p.rank == 0) {
    for (int i = 0; i < 2; ++i) MPI_Send(&i, 1, MPI_INT, 1, 50, p.comm);
    meet(p);
  } else {
    meet(p);
    MPI_Message first = MPI_MESSAGE_NULL;
    int value = -1;
    int found = 1;
    MPI_Mprobe(0, 50, p.comm, &first, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 0, 50, p.comm, MPI_STATUS_IGNORE);
    expect_equal(value, 1, "the receive after mprobe gets the second message");
    MPI_Iprobe(0, 50, p.comm, &found, MPI_STATUS_IGNORE);
    expect(found == 0, "a matched message is not probed again");
    MPI_Mrecv(&value, 1, MPI_INT, &first, MPI_STATUS_IGNORE);
    expect_equal(value, 0, "mrecv gets the first");
  }
}

// A receive for any tag never takes a message of a collective operation on the same communicator.
void collectives_apart(const Pair& p) {
  int value = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, p.comm, &request);
  for (int i = 0; i < 200; ++i) {
    long sum = p.rank + i;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, p.comm);
    expect_equal(sum, 2L * i + 1, "allreduce under a wildcard receive");
    std::vector<int> block(5000, i);
    MPI_Bcast(block.data(), 5000, MPI_INT, i % 2, p.comm);
    int both[2] = {i, i};
    int got[2] = {-1, -1};
    MPI_Alltoall(both, 1, MPI_INT, got, 1, MPI_INT, p.comm);
    expect(got[0] == i && got[1] == i, "alltoall under a wildcard receive");
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, p.comm, &found, MPI_STATUS_IGNORE);
    expect(found == 0, "a probe saw a collective's message");
    MPI_Barrier(p.comm);
  }
  int done = 1;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  meet(p);  // neither sends before both have looked
  if (!expect(done == 0, "a wildcard receive took a collective's message")) MPI_Abort(MPI_COMM_WORLD, 1);
  const int mine = 1000 + p.rank;
  MPI_Status status = {};
  MPI_Send(&mine, 1, MPI_INT, p.peer, 12, p.comm);
  MPI_Wait(&request, &status);
  expect(value == 1000 + p.peer && status.MPI_TAG == 12 && status.MPI_SOURCE == p.peer,
         "the wildcard receive's message");
}

void self_messages(const Pair& p) {
  using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  for (MPI_Comm comm : {p.comm, MPI_COMM_SELF}) {
    int me = 0;
    MPI_Comm_rank(comm, &me);
    for (const std::uint64_t bytes : p.sizes) {
      std::vector<std::byte> out(bytes);
      Buffer in(bytes);
      fill(out.data(), bytes, bytes);
      const int count = static_cast<int>(bytes);
      for (const Send send :
           {static_cast<Send>(MPI_Isend), static_cast<Send>(MPI_Issend), static_cast<Send>(MPI_Irsend)}) {
        for (const bool expected : {true, false}) {
          if (!expected && send == static_cast<Send>(MPI_Irsend)) continue;
          step(text("to self, ", bytes, expected ? " expected" : " unexpected"));
          MPI_Request requests[2];
          MPI_Status statuses[2] = {};
          in.reset();
          if (expected) MPI_Irecv(in.data(), count, MPI_BYTE, me, 1, comm, &requests[0]);
          send(out.data(), count, MPI_BYTE, me, 1, comm, &requests[1]);
          if (!expected && send == static_cast<Send>(MPI_Issend)) {
            int done = 1;
            MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
            expect(done == 0, "a synchronous send to self completed unmatched");
          }
          if (!expected) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &statuses[0]);
            expect(statuses[0].MPI_SOURCE == me && statuses[0].MPI_TAG == 1, "probed to self");
            MPI_Irecv(in.data(), count, MPI_BYTE, MPI_ANY_SOURCE, 1, comm, &requests[0]);
          }
          MPI_Waitall(2, requests, statuses);
          expect(statuses[0].MPI_SOURCE == me && statuses[0].MPI_TAG == 1, "status to self");
          in.expect_message(bytes, bytes, "to self");
        }
      }
      step(text("to self, blocking and matched, ", bytes));
      MPI_Request request = MPI_REQUEST_NULL;
      in.reset();
      MPI_Irecv(in.data(), count, MPI_BYTE, me, 2, comm, &request);
      MPI_Ssend(out.data(), count, MPI_BYTE, me, 2, comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      in.expect_message(bytes, bytes, "ssend to self");
      in.reset();
      MPI_Isend(out.data(), count, MPI_BYTE, me, 3, comm, &request);
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Mprobe(me, 3, comm, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(in.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      in.expect_message(bytes, bytes, "mrecv to self");
      in.reset();
      MPI_Sendrecv(out.data(), count, MPI_BYTE, me, 4, in.data(), count, MPI_BYTE, me, 4, comm,
                   MPI_STATUS_IGNORE);
      in.expect_message(bytes, bytes, "sendrecv to self");
    }
  }
}

// MPI_PROC_NULL: done at once, nothing moved.
void nobody(const Pair& p) {
  Buffer in(64);
  MPI_Status status = {};
  MPI_Request requests[2];
  int count = -1;
  MPI_Message message = MPI_MESSAGE_NULL;
  const auto is_empty = [&](const char* what) {
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0, what);
  };
  MPI_Send(in.data(), 64, MPI_BYTE, MPI_PROC_NULL, 1, p.comm);
  MPI_Ssend(in.data(), 64, MPI_BYTE, MPI_PROC_NULL, 1, p.comm);
  MPI_Rsend(in.data(), 64, MPI_BYTE, MPI_PROC_NULL, 1, p.comm);
  MPI_Recv(in.data(), 64, MPI_BYTE, MPI_PROC_NULL, 1, p.comm, &status);
  is_empty("recv from nobody");
  MPI_Isend(in.data(), 64, MPI_BYTE, MPI_PROC_NULL, 1, p.comm, &requests[0]);
  MPI_Irecv(in.data(), 64, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, p.comm, &requests[1]);
  MPI_Wait(&requests[1], &status);
  is_empty("irecv from nobody");
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Sendrecv(in.data(), 64, MPI_BYTE, MPI_PROC_NULL, 1, in.data(), 64, MPI_BYTE, MPI_PROC_NULL, 1, p.comm,
               &status);
  is_empty("sendrecv with nobody");
  MPI_Probe(MPI_PROC_NULL, 1, p.comm, &status);
  is_empty("probe of nobody");
  MPI_Mprobe(MPI_PROC_NULL, 1, p.comm, &message, &status);
  expect(message == MPI_MESSAGE_NO_PROC, "mprobe of nobody");
  MPI_Mrecv(in.data(), 64, MPI_BYTE, &message, &status);
  is_empty("mrecv from nobody");
  MPI_Send_init(in.data(), 64, MPI_BYTE, MPI_PROC_NULL, 1, p.comm, &requests[0]);
  MPI_Recv_init(in.data(), 64, MPI_BYTE, MPI_PROC_NULL, 1, p.comm, &requests[1]);
  for (int round = 0; round < 2; ++round) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  expect(in.untouched_beyond(0), "nobody wrote into the buffer");
}

void cancel(const Pair& p) {
  int cancelled = 0;
  for (const bool persistent_one : {false, true}) {
    for (const bool wild : {false, true}) {
      step(text("cancel ", persistent_one ? "persistent " : "", wild ? "wild" : "exact"));
      int value = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Status status = {};
      const int source = wild ? MPI_ANY_SOURCE : p.peer;
      const int tag = wild ? MPI_ANY_TAG : 1;
      if (persistent_one) {
        MPI_Recv_init(&value, 1, MPI_INT, source, tag, p.comm, &request);
        MPI_Start(&request);
      } else {
        MPI_Irecv(&value, 1, MPI_INT, source, tag, p.comm, &request);
      }
      MPI_Cancel(&request);
      MPI_Wait(&request, &status);
      MPI_Test_cancelled(&status, &cancelled);
      expect(cancelled != 0, "an unmatched receive can be cancelled");
      meet(p);
      // What comes now belongs to the next receive.
      const int mine = 70 + p.rank;
      MPI_Send(&mine, 1, MPI_INT, p.peer, 1, p.comm);
      int next = -1;
      if (persistent_one) {
        MPI_Start(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        expect(cancelled == 0, "a restarted receive is not cancelled");
        std::swap(next, value);
        MPI_Request_free(&request);
      } else {
        MPI_Recv(&next, 1, MPI_INT, p.peer, 1, p.comm, MPI_STATUS_IGNORE);
      }
      expect_equal(next, 70 + p.peer, "the message after the cancelled receive");
      expect_equal(value, -1, "the cancelled receive's buffer");
    }
  }
  step("cancel too late");
  int value = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status = {};
  const int mine = 90 + p.rank;
  MPI_Send(&mine, 1, MPI_INT, p.peer, 1, p.comm);
  MPI_Probe(p.peer, 1, p.comm, MPI_STATUS_IGNORE);
  MPI_Irecv(&value, 1, MPI_INT, p.peer, 1, p.comm, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  expect(cancelled == 0 && value == 90 + p.peer, "a matched receive completes in spite of a cancel");

  step("cancel one of many");
  constexpr int kMany = 50;
  std::vector<int> values(kMany, -1);
  std::vector<MPI_Request> requests(kMany);
  for (std::size_t i = 0; i < kMany; ++i) MPI_Irecv(&values[i], 1, MPI_INT, p.peer, 8, p.comm, &requests[i]);
  for (std::size_t i = 0; i < kMany; i += 3) MPI_Cancel(&requests[i]);
  meet(p);
  int sent = 0;
  for (int i = 0; i < kMany; ++i) {
    if (i % 3 != 0) MPI_Send(&i, 1, MPI_INT, p.peer, 8, p.comm), ++sent;
  }
  MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE);
  for (int i = 0; i < kMany; ++i)
    expect_equal(values[static_cast<std::size_t>(i)], i % 3 == 0 ? -1 : i, "one of many");
  expect(sent > 0);
}

}  // namespace p2p
