// Buffers of an accelerator: each call that is given one answers MPI_ERR_BUFFER and touches nothing of it,
// and messages of ordinary memory go on. The accelerator is pretended_accelerator.c's; its memory may be
// neither read nor written here.
#include "release_5_0/pretended_memory.h"

#include <sys/mman.h>

#include <vector>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

namespace {

void expect_refused(int rc, const char* call) {
  int error = MPI_SUCCESS;
  MPI_Error_class(rc, &error);
  expect_equal(error, MPI_ERR_BUFFER, call);
}

void refused(void* device, MPI_Datatype type) {
  MPI_Request request = MPI_REQUEST_NULL;
  expect_refused(MPI_Send(device, 10, type, 0, 1, MPI_COMM_SELF), "MPI_Send");
  expect_refused(MPI_Isend(device, 10, type, 0, 1, MPI_COMM_SELF, &request), "MPI_Isend");
  expect_refused(MPI_Recv(device, 10, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE), "MPI_Recv");
  expect_refused(MPI_Irecv(device, 10, type, 0, 1, MPI_COMM_SELF, &request), "MPI_Irecv");
  expect_refused(MPI_Send_init(device, 10, type, 0, 1, MPI_COMM_SELF, &request), "MPI_Send_init");
  expect_refused(MPI_Recv_init(device, 10, type, 0, 1, MPI_COMM_SELF, &request), "MPI_Recv_init");
  int found = 0;
  MPI_Iprobe(0, 1, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
  expect(!found, "nothing was sent");
  // Of no bytes, any address will do.
  expect_equal(MPI_Send(device, 0, type, MPI_PROC_NULL, 1, MPI_COMM_SELF), MPI_SUCCESS, "an empty message");
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "device_memory");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a fixed place is what both sides know
  void* const wanted = reinterpret_cast<void*>(PRETENDED_MEMORY);
  void* const device =
      mmap(wanted, PRETENDED_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (!expect(device == wanted, "the pretended memory is mapped")) return session.finish();
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 5, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  refused(device, MPI_BYTE);
  refused(device, column);
  MPI_Type_free(&column);
  std::vector<std::byte> out(100000);
  Buffer in(out.size());
  MPI_Request request = MPI_REQUEST_NULL;
  fill(out.data(), out.size(), 5);
  MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, 0, 1, MPI_COMM_SELF, &request);
  MPI_Recv(in.data(), static_cast<int>(in.size()), MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  in.expect_message(out.size(), 5, "ordinary memory");
  return session.finish();
}
