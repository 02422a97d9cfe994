/* Communicators. The library knows nothing of them. A message for a communicator that this process has not
 * made yet waits in the unexpected queue under its context id. When a communicator goes, the messages left
 * under its context id go too, because the id will be given to another.
 */
#include "request.h"

/* The other side of an intercommunicator may be another job's. 4.1 has announced its processes before; 5.0
 * does not, and a job out of reach has to be refused here, where MPI_Comm_spawn and MPI_Comm_accept can still
 * answer an error. */
int pml_stria_add_comm(ompi_communicator_t* comm) {
  return OMPI_COMM_IS_INTER(comm) ? pml_stria_add_remote_group(comm) : OMPI_SUCCESS;
}

/* Receives a taken message into nothing, which also ends its sender's rendezvous. */
static void discard(stria_message_t* message) {
  pml_stria_request_t* request = pml_stria_request_new(true, false, NULL, NULL);
  if (NULL == request) return;
  stria_recv_t recv = {.base = NULL, .count = 0, .callback = pml_stria_request_callback, .user = request};
  request->flags = PML_STRIA_FREED;
  if (STRIA_IN_PROGRESS != stria_mrecv(pml_stria.worker, message, &recv, &request->op)) {
    pml_stria_request_return(request);
  }
}

static void discard_all(uint64_t tag, uint64_t ignore) {
  if (NULL == pml_stria.worker || !pml_stria.requests_ready) return;
  const stria_match_t those = {.source = NULL, .tag = tag, .ignore = ignore};
  stria_message_t* message = NULL;
  stria_info_t info;
  while (STRIA_OK == stria_mprobe(pml_stria.worker, &those, &message, &info)) discard(message);
}

int pml_stria_del_comm(ompi_communicator_t* comm) {
  discard_all(pml_stria_tag(comm, 0), PML_STRIA_ALL_TAG_BITS);
  return OMPI_SUCCESS;
}

void pml_stria_discard_rest(void) {
  discard_all(0, UINT64_MAX);
}
