/* Communicators. stria needs to know nothing of them: a message for one that this process has not made yet
 * waits in the unexpected queue under its context id. When a communicator goes, what it left there goes too,
 * because its context id will be given to another.
 */
#include "request.h"

int pml_stria_add_comm(ompi_communicator_t* comm) {
  (void)comm;
  return OMPI_SUCCESS;
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

int pml_stria_del_comm(ompi_communicator_t* comm) {
  if (NULL == pml_stria.worker || !pml_stria.requests_ready) return OMPI_SUCCESS;
  const stria_match_t everything = {
      .source = NULL, .tag = pml_stria_tag(comm, 0), .ignore = PML_STRIA_ALL_TAG_BITS};
  stria_message_t* message = NULL;
  stria_info_t info;
  while (STRIA_OK == stria_mprobe(pml_stria.worker, &everything, &message, &info)) discard(message);
  return OMPI_SUCCESS;
}
