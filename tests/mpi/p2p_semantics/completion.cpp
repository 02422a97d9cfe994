// How operations end: truncation, status fields, the wait and test families, and requests freed before the
// end.
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

int class_of(int error) {
  int result = error;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &result);
  return result;
}

}  // namespace

// A message longer than its receive gives MPI_ERR_TRUNCATE; nothing is written behind the buffer; the rest
// goes on.
void truncation(const Pair& p) {
  MPI_Comm_set_errhandler(p.comm, MPI_ERRORS_RETURN);
  for (const std::uint64_t bytes : {8, 100, 1024, 5000, 9000, 70000, 1048577}) {
    if (p.avoid_peer_bugs && bytes > 4000) continue;
    for (const std::uint64_t room : {std::uint64_t{0}, bytes / 2, bytes - 1}) {
      for (int way = 0; way < 4; ++way) {
        step(text(bytes, " bytes into ", room, ", way ", way));
        if (p.rank == 0) {
          std::vector<std::byte> out(bytes);
          fill(out.data(), bytes, bytes);
          if (way == 1) meet(p);
          MPI_Send(out.data(), static_cast<int>(bytes), MPI_BYTE, 1, 1, p.comm);
          fill(out.data(), 8, 3);
          MPI_Send(out.data(), 8, MPI_BYTE, 1, 1, p.comm);
          continue;
        }
        Buffer in(room);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status = {};
        int error = MPI_SUCCESS;
        switch (way) {
          case 0:
            error = MPI_Recv(in.data(), static_cast<int>(room), MPI_BYTE, 0, 1, p.comm, &status);
            break;
          case 1:
            MPI_Irecv(in.data(), static_cast<int>(room), MPI_BYTE, MPI_ANY_SOURCE, 1, p.comm, &request);
            meet(p);
            error = MPI_Wait(&request, &status);
            break;
          case 2:
            MPI_Mprobe(0, 1, p.comm, &message, &status);
            error = MPI_Mrecv(in.data(), static_cast<int>(room), MPI_BYTE, &message, &status);
            break;
          default:
            MPI_Irecv(in.data(), static_cast<int>(room), MPI_BYTE, 0, 1, p.comm, &request);
            error = MPI_Waitall(1, &request, &status);
            if (expect_equal(class_of(error), MPI_ERR_IN_STATUS, "waitall of a truncated receive"))
              error = status.MPI_ERROR;
            break;
        }
        expect_equal(class_of(error), MPI_ERR_TRUNCATE, text(bytes, " bytes into ", room, ", way ", way));
        expect(in.untouched_beyond(room), "bytes behind a truncated receive were written");
        Buffer next(8);
        MPI_Recv(next.data(), 8, MPI_BYTE, 0, 1, p.comm, &status);
        next.expect_message(8, 3, "the message after a truncated one");
      }
    }
  }
  step("truncation of a message to self");
  if (p.avoid_peer_bugs) return;
  const int length = 5000;
  std::vector<std::byte> out(static_cast<std::size_t>(length));
  Buffer in(10);
  MPI_Request requests[2];
  MPI_Irecv(in.data(), 10, MPI_BYTE, p.rank, 2, p.comm, &requests[0]);
  MPI_Isend(out.data(), length, MPI_BYTE, p.rank, 2, p.comm, &requests[1]);
  expect_equal(class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)), MPI_ERR_TRUNCATE, "truncated to self");
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  expect(in.untouched_beyond(10), "bytes behind a truncated receive from self were written");
}

void status_fields(const Pair& p) {
  struct Mixed {
    int i;
    double d;
  };
  MPI_Datatype mixed = MPI_DATATYPE_NULL;
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {offsetof(Mixed, i), offsetof(Mixed, d)};
  const MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, parts, &mixed);
  MPI_Type_commit(&mixed);
  // Sent as 2 n + 1 basic elements: n whole pairs and half of one more.
  MPI_Datatype sent = MPI_DATATYPE_NULL;
  const int n = 5;
  std::vector<Mixed> out(n + 1);
  std::vector<Mixed> in(n + 4);
  for (int k = 0; k <= n; ++k) out[static_cast<std::size_t>(k)] = {k, k / 2.0};
  const int struct_lengths[2] = {n, 1};
  const MPI_Aint struct_places[2] = {0, n * static_cast<MPI_Aint>(sizeof(Mixed))};
  const MPI_Datatype struct_parts[2] = {mixed, MPI_INT};
  MPI_Type_create_struct(2, struct_lengths, struct_places, struct_parts, &sent);
  MPI_Type_commit(&sent);
  MPI_Request requests[2];
  MPI_Status status = {};
  MPI_Irecv(in.data(), n + 4, mixed, MPI_ANY_SOURCE, MPI_ANY_TAG, p.comm, &requests[0]);
  MPI_Isend(out.data(), 1, sent, p.peer, 77, p.comm, &requests[1]);
  MPI_Wait(&requests[0], &status);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  int count = 0;
  int elements = 0;
  int cancelled = 1;
  MPI_Get_count(&status, mixed, &count);
  MPI_Get_elements(&status, mixed, &elements);
  MPI_Test_cancelled(&status, &cancelled);
  expect_equal(count, MPI_UNDEFINED, "count of a partial instance");
  expect_equal(elements, 2 * n + 1, "elements of a partial instance");
  expect(cancelled == 0 && status.MPI_SOURCE == p.peer && status.MPI_TAG == 77, "source, tag, cancelled");
  for (int k = 0; k <= n; ++k) {
    const Mixed& got = in[static_cast<std::size_t>(k)];
    expect(got.i == k && (k == n || got.d == k / 2.0), text("pair ", k));
  }
  MPI_Type_free(&sent);
  MPI_Type_free(&mixed);

  step("zero bytes and the largest tag");
  int* largest = nullptr;
  int found = 0;
  MPI_Comm_get_attr(p.comm, MPI_TAG_UB, &largest, &found);
  expect(found != 0 && *largest >= 32767, "MPI_TAG_UB");
  for (const int tag : {0, *largest}) {
    MPI_Sendrecv(nullptr, 0, MPI_INT, p.peer, tag, nullptr, 0, MPI_INT, p.peer, tag, p.comm, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count == 0 && status.MPI_TAG == tag && status.MPI_SOURCE == p.peer, text("zero bytes, tag ", tag));
  }
}

// waitany, waitsome, testany, testsome, testall and request_get_status, over messages that arrive in another
// order.
void completion(const Pair& p) {
  constexpr int kMany = 40;
  for (int way = 0; way < 6; ++way) {
    step(text("completion, way ", way));
    std::vector<std::vector<std::byte>> memory(kMany);
    std::vector<MPI_Request> requests(kMany);
    const auto bytes_of = [](int i) {
      return static_cast<std::size_t>(i) * static_cast<std::size_t>(i) * 90;
    };
    for (int i = 0; i < kMany; ++i) memory[static_cast<std::size_t>(i)].resize(bytes_of(i));
    if (p.rank == 0) {
      for (int i = kMany - 1; i >= 0; --i) {
        const auto k = static_cast<std::size_t>(i);
        fill(memory[k].data(), bytes_of(i), k);
        MPI_Isend(memory[k].data(), static_cast<int>(bytes_of(i)), MPI_BYTE, 1, i, p.comm, &requests[k]);
      }
      MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE);
      continue;
    }
    for (int i = 0; i < kMany; ++i) {
      const auto k = static_cast<std::size_t>(i);
      MPI_Irecv(memory[k].data(), static_cast<int>(bytes_of(i)), MPI_BYTE, 0, i, p.comm, &requests[k]);
    }
    std::vector<int> ended(kMany, 0);
    const auto check = [&](int i, const MPI_Status& status) {
      if (!expect(i >= 0 && i < kMany, text("index ", i))) return;
      const auto k = static_cast<std::size_t>(i);
      ++ended[k];
      expect(status.MPI_TAG == i && status.MPI_SOURCE == 0 && requests[k] == MPI_REQUEST_NULL,
             text("status of ", i));
      mpitest::expect_pattern(memory[k].data(), bytes_of(i), k, text("message ", i));
    };
    std::vector<int> indices(kMany);
    std::vector<MPI_Status> statuses(kMany);
    for (int left = kMany; left > 0;) {
      int some = 0;
      int flag = 0;
      int index = MPI_UNDEFINED;
      switch (way) {
        case 0:
          MPI_Waitany(kMany, requests.data(), &index, &statuses[0]);
          check(index, statuses[0]);
          some = 1;
          break;
        case 1:
          MPI_Waitsome(kMany, requests.data(), &some, indices.data(), statuses.data());
          break;
        case 2:
          MPI_Testany(kMany, requests.data(), &index, &flag, &statuses[0]);
          if (flag != 0) check(index, statuses[0]), some = 1;
          break;
        case 3:
          MPI_Testsome(kMany, requests.data(), &some, indices.data(), statuses.data());
          break;
        case 4:
          MPI_Testall(kMany, requests.data(), &flag, statuses.data());
          if (flag != 0) {
            for (int i = 0; i < kMany; ++i) check(i, statuses[static_cast<std::size_t>(i)]);
            some = kMany;
          }
          break;
        default:
          for (int i = 0; i < kMany; ++i) {
            const auto k = static_cast<std::size_t>(i);
            if (requests[k] == MPI_REQUEST_NULL) continue;
            MPI_Request_get_status(requests[k], &flag, &statuses[0]);
            if (flag == 0) continue;
            expect(requests[k] != MPI_REQUEST_NULL && statuses[0].MPI_TAG == i,
                   "request_get_status keeps the request");
            MPI_Test(&requests[k], &flag, &statuses[0]);
            expect(flag != 0, "test after request_get_status");
            check(i, statuses[0]);
            ++some;
          }
          break;
      }
      if (way == 1 || way == 3) {
        for (int s = 0; s < some; ++s)
          check(indices[static_cast<std::size_t>(s)], statuses[static_cast<std::size_t>(s)]);
      }
      left -= some;
    }
    expect(std::all_of(ended.begin(), ended.end(), [](int times) { return times == 1; }), "each ends once");
    int index = 0;
    MPI_Waitany(kMany, requests.data(), &index, MPI_STATUS_IGNORE);
    expect_equal(index, MPI_UNDEFINED, "waitany without active requests");
  }
}

// MPI_Request_free of active requests: the operation goes on. Likewise a datatype freed while in use.
void freed_early(const Pair& p) {
  for (const std::uint64_t bytes : p.sizes) {
    if (bytes % 8 != 0) continue;
    step(text("freed early, ", bytes));
    std::vector<std::byte> out(bytes);
    std::vector<std::byte> gapped(2 * bytes + 1);
    MPI_Request request = MPI_REQUEST_NULL;
    fill(out.data(), bytes, bytes + static_cast<std::uint64_t>(p.rank));
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(static_cast<int>(bytes / 8), 8, 16, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Irecv(gapped.data(), 1, type, p.peer, 1, p.comm, &receive);
    MPI_Type_free(&type);
    MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, p.peer, 1, p.comm, &request);
    MPI_Request_free(&request);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    bool right = true;
    for (std::uint64_t i = 0; i < bytes / 8; ++i) {
      right = right && mpitest::first_wrong(gapped.data() + 16 * i, 8,
                                            bytes + static_cast<std::uint64_t>(p.peer), 8 * i) == 8;
    }
    expect(right, text("request and type freed early, ", bytes, " bytes"));
    meet(p);  // the freed send is over when its receiver says so
  }
}

// The handle that Fortran has of a request is of no use after its end, also when its memory serves again.
void fortran_handles(const Pair& p) {
  const auto exchange = [&](int tag, MPI_Request* receive, int* value) {
    MPI_Send(&tag, 1, MPI_INT, p.peer, tag, p.comm);
    MPI_Wait(receive, MPI_STATUS_IGNORE);
    expect_equal(*value, tag, "what came");
  };
  for (int i = 0; i < 50; ++i) {
    int value = -1;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Irecv(&value, 1, MPI_INT, p.peer, 2 * i, p.comm, &receive);
    const MPI_Fint handle = MPI_Request_c2f(receive);
    expect(MPI_Request_f2c(handle) == receive, "a handle names its request");
    exchange(2 * i, &receive, &value);
    MPI_Irecv(&value, 1, MPI_INT, p.peer, 2 * i + 1, p.comm, &receive);
    expect(MPI_Request_f2c(handle) != receive, "the handle of a request that ended names another");
    exchange(2 * i + 1, &receive, &value);
  }
}

// A receive that fails leaves the others of its call alone, also when their requests are made of memory that
// served receives which failed.
void one_error_of_two(const Pair& p) {
  MPI_Comm_set_errhandler(p.comm, MPI_ERRORS_RETURN);
  int values[2] = {70 + p.rank, 80 + p.rank};
  const auto send = [&](int count, int tag) { MPI_Send(values, count, MPI_INT, p.peer, tag, p.comm); };
  int small = 0;
  MPI_Request requests[2];
  for (const bool persistent_one : {false, true}) {
    for (int way = 0; way < 3; ++way) {
      step(text("one error of two, way ", way, persistent_one ? ", persistent" : ""));
      // Two requests that end in an error.
      send(2, 1);
      send(2, 1);
      for (MPI_Request& request : requests) MPI_Irecv(&small, 1, MPI_INT, p.peer, 1, p.comm, &request);
      for (MPI_Request& request : requests)
        expect_equal(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_TRUNCATE, "the first errors");
      int value = -1;
      if (persistent_one) {
        MPI_Recv_init(&value, 1, MPI_INT, p.peer, 2, p.comm, &requests[0]);
        MPI_Start(&requests[0]);
      } else {
        MPI_Irecv(&value, 1, MPI_INT, p.peer, 2, p.comm, &requests[0]);
      }
      MPI_Irecv(&small, 1, MPI_INT, p.peer, 3, p.comm, &requests[1]);
      send(2, 3);
      MPI_Status statuses[2] = {};
      int error = MPI_SUCCESS;
      int index = -1;
      int some = 0;
      if (way == 0) {
        error = MPI_Waitany(2, requests, &index, statuses);
      } else if (way == 1) {
        error = MPI_Waitsome(2, requests, &some, &index, statuses);
        if (expect_equal(class_of(error), MPI_ERR_IN_STATUS, "waitsome")) error = statuses[0].MPI_ERROR;
      } else {
        for (int done = 0; done == 0;) error = MPI_Testany(2, requests, &index, &done, statuses);
      }
      expect_equal(class_of(error), MPI_ERR_TRUNCATE, "the error of one");
      expect_equal(index, 1, "the one that failed");
      expect(requests[1] == MPI_REQUEST_NULL, "what failed is gone");
      meet(p);
      send(1, 2);
      if (expect(requests[0] != MPI_REQUEST_NULL, "a receive under way was freed for another's error")) {
        expect_equal(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS, "the other one");
        expect_equal(value, 70 + p.peer, "what the other one received");
        if (persistent_one) MPI_Request_free(&requests[0]);
      }
      meet(p);
    }
  }
}

namespace {

int types_ended = 0;

// Talks to itself, and waits for it.
int type_ends(MPI_Datatype, int, void*, void*) {
  const int out = 5;
  int in = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
  MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_equal(in, out, "a message to oneself while a type ends");
  ++types_ended;
  return MPI_SUCCESS;
}

}  // namespace

// A persistent receive that was freed while it is under way lets its type go when it ends, and with it the
// type's attributes: their callbacks may communicate.
void type_ends_with_request(const Pair& p) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_ends, &key, nullptr);
  const int rounds = 3;
  types_ended = 0;
  for (int round = 0; round < rounds; ++round) {
    step(text("type ends with its request, round ", round));
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(10, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, key, nullptr);
    int in[20];
    std::fill(std::begin(in), std::end(in), -1);
    int out[10];
    std::fill(std::begin(out), std::end(out), round);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Recv_init(in, 1, type, p.peer, 1, p.comm, &request);
    MPI_Start(&request);
    MPI_Type_free(&type);
    MPI_Request_free(&request);
    meet(p);
    MPI_Send(out, 10, MPI_INT, p.peer, 1, p.comm);
    meet(p);  // behind the message
    for (int tries = 0; tries < 1000 && types_ended == round; ++tries) {
      int found = 0;
      MPI_Iprobe(p.peer, 2, p.comm, &found, MPI_STATUS_IGNORE);
    }
    expect_equal(types_ended, round + 1, "types that ended");
    for (int i = 0; i < 20; ++i) expect_equal(in[i], i % 2 == 0 ? round : -1, "what the freed one received");
  }
  MPI_Type_free_keyval(&key);
}

}  // namespace p2p
