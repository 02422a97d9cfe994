/* Probes, and receives of what a matched probe took out of the queue. */
#include "ompi/message/message.h"
#include "request.h"
#include "wait.h"

/* One look, and a second one after progress when there was nothing. */
static stria_status_t look(const stria_match_t* match, stria_message_t** message, stria_info_t* info) {
  for (int tries = 0;; ++tries) {
    const stria_status_t answer = NULL == message ? stria_probe(pml_stria.worker, match, info)
                                                  : stria_mprobe(pml_stria.worker, match, message, info);
    if (STRIA_IN_PROGRESS != answer || 1 == tries) return answer;
    opal_progress();
  }
}

int pml_stria_iprobe(int source, int tag, ompi_communicator_t* comm, int* matched,
                     ompi_status_public_t* status) {
  stria_match_t match;
  stria_info_t info;
  if (!pml_stria_match(comm, source, tag, &match)) return OMPI_ERR_UNREACH;
  const stria_status_t answer = look(&match, NULL, &info);
  *matched = STRIA_OK == answer;
  if (STRIA_IN_PROGRESS == answer) return OMPI_SUCCESS;
  if (STRIA_OK != answer) return pml_stria_refused(answer, "a probe");
  if (MPI_STATUS_IGNORE != status) pml_stria_set_status(status, &info);
  return OMPI_SUCCESS;
}

int pml_stria_probe(int source, int tag, ompi_communicator_t* comm, ompi_status_public_t* status) {
  int matched = 0;
  int rc;
  do {
    rc = pml_stria_iprobe(source, tag, comm, &matched, status);
  } while (OMPI_SUCCESS == rc && !matched);
  return rc;
}

int pml_stria_improbe(int source, int tag, ompi_communicator_t* comm, int* matched, ompi_message_t** out,
                      ompi_status_public_t* status) {
  stria_match_t match;
  stria_info_t info;
  stria_message_t* taken = NULL;
  if (!pml_stria_match(comm, source, tag, &match)) return OMPI_ERR_UNREACH;
  /* The handle first: a message that was taken cannot be put back. */
  ompi_message_t* message = ompi_message_alloc();
  if (NULL == message) return OMPI_ERR_OUT_OF_RESOURCE;
  const stria_status_t answer = look(&match, &taken, &info);
  *matched = STRIA_OK == answer;
  if (STRIA_OK != answer) {
    ompi_message_return(message);
    return STRIA_IN_PROGRESS == answer ? OMPI_SUCCESS : pml_stria_refused(answer, "a matched probe");
  }
  OBJ_RETAIN(comm); /* it may be freed before the message is received */
  message->comm = comm;
  message->req_ptr = taken;
  message->peer = (int)info.immediate;
  message->count = info.length;
  *out = message;
  if (MPI_STATUS_IGNORE != status) pml_stria_set_status(status, &info);
  return OMPI_SUCCESS;
}

int pml_stria_mprobe(int source, int tag, ompi_communicator_t* comm, ompi_message_t** message,
                     ompi_status_public_t* status) {
  int matched = 0;
  int rc;
  do {
    rc = pml_stria_improbe(source, tag, comm, &matched, message, status);
  } while (OMPI_SUCCESS == rc && !matched);
  return rc;
}

int pml_stria_imrecv(void* buf, size_t count, ompi_datatype_t* type, ompi_message_t** message,
                     ompi_request_t** out) {
  pml_stria_memory_t memory;
  if (!pml_stria_describe(buf, count, type, &memory)) return OMPI_ERR_OUT_OF_RESOURCE;
  pml_stria_request_t* request = pml_stria_request_new(true, false, memory.layout, (*message)->comm);
  if (NULL == request) return OMPI_ERR_OUT_OF_RESOURCE;
  stria_info_t info;
  stria_recv_t recv = {.base = memory.base,
                       .layout = memory.layout,
                       .count = memory.count,
                       .callback = pml_stria_request_callback,
                       .user = request,
                       .info = &info};
  const stria_status_t answer =
      stria_mrecv(pml_stria.worker, (stria_message_t*)(*message)->req_ptr, &recv, &request->op);
  if (STRIA_OK == answer) {
    pml_stria_request_outcome(request, &info);
    request->flags = PML_STRIA_ENDED;
    request->super.req_complete = REQUEST_COMPLETED;
  } else if (STRIA_IN_PROGRESS != answer) {
    pml_stria_request_return(request);
    return pml_stria_refused(answer, "a matched receive");
  }
  OBJ_RELEASE((*message)->comm);
  ompi_message_return(*message);
  *message = MPI_MESSAGE_NULL;
  *out = &request->super;
  return OMPI_SUCCESS;
}

int pml_stria_mrecv(void* buf, size_t count, ompi_datatype_t* type, ompi_message_t** message,
                    ompi_status_public_t* status) {
  ompi_request_t* request = NULL;
  int rc = pml_stria_imrecv(buf, count, type, message, &request);
  if (OMPI_SUCCESS != rc) return rc;
  ompi_request_wait_completion(request);
  if (MPI_STATUS_IGNORE != status) OMPI_COPY_STATUS(status, request->req_status, false);
  rc = request->req_status.MPI_ERROR;
  pml_stria_request_return((void*)request);
  return rc;
}
