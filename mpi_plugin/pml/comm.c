/* Creation and end of communicators. The library does not know communicators: a message carries the context
 * id of its communicator in its tag. A message for a communicator that this process has not made yet waits in
 * the unexpected queue. When a communicator ends, the messages with its context id that are left in the queue
 * are dropped, because another communicator will get the id.
 */
#include "request.h"

/* Opens endpoints to the other side of an intercommunicator, which may be another job. Open MPI 4.1 has
 * announced these processes before (pml_add_procs); 5.0 does not announce them, and a job that cannot be
 * reached has to be refused here, where MPI_Comm_spawn and MPI_Comm_accept can still return an error. */
int pml_stria_add_comm(ompi_communicator_t* comm) {
  return OMPI_COMM_IS_INTER(comm) ? pml_stria_add_remote_group(comm) : OMPI_SUCCESS;
}

/* Receives a message that was taken out of the queue, and drops its data. This also ends the rendezvous of
 * its sender. */
static void discard(stria_message_t* message) {
  pml_stria_request_t* request = pml_stria_request_new(true, false, NULL, NULL);
  if (NULL == request) return;
  stria_recv_t recv = {.base = NULL, .count = 0, .callback = pml_stria_request_callback, .user = request};
  request->flags = PML_STRIA_FREED;
  if (STRIA_IN_PROGRESS != stria_mrecv(pml_stria.worker, message, &recv, &request->op)) {
    pml_stria_request_return(request);
  }
}

/* Drops all unexpected messages whose tag is `tag` in the bits that `ignore` does not have. */
static void discard_all(uint64_t tag, uint64_t ignore) {
  if (NULL == pml_stria.worker || !pml_stria.requests_ready) return;
  const stria_match_t match = {.source = NULL, .tag = tag, .ignore = ignore};
  stria_message_t* message = NULL;
  stria_info_t info;
  while (STRIA_OK == stria_mprobe(pml_stria.worker, &match, &message, &info)) discard(message);
}

int pml_stria_del_comm(ompi_communicator_t* comm) {
  discard_all(pml_stria_tag(comm, 0), PML_STRIA_ALL_TAG_BITS);
  return OMPI_SUCCESS;
}

void pml_stria_discard_rest(void) {
  discard_all(0, UINT64_MAX);
}
