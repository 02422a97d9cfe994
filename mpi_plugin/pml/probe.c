/* Probes, matched probes, and receives of messages that a matched probe took out of the queue. */
#include "ompi/message/message.h"
#include "request.h"
#include "wait.h"

/* Looks once for a message. `message`: NULL for a plain probe; a matched probe takes the message out of the
 * queue and stores it there. */
static stria_status_t look(const stria_match_t* match, stria_message_t** message, stria_info_t* info) {
  return NULL == message ? stria_probe(pml_stria.worker, match, info)
                         : stria_mprobe(pml_stria.worker, match, message, info);
}

/* Looks for a message. If there is none, makes progress and looks again: once, or, if `waits`, until there is
 * one. Most rounds of a wait progress the worker alone, as in pml_stria_wait(). A probe that does not wait
 * progresses all of Open MPI, because programs also probe between computations to let their collectives and
 * windows go on. */
static stria_status_t look_again(const stria_match_t* match, stria_message_t** message, stria_info_t* info,
                                 bool waits) {
  unsigned rounds = 0;
  stria_status_t answer = look(match, message, info);
  while (STRIA_IN_PROGRESS == answer) {
    if (!waits || opal_using_threads() || opal_progress_yield_when_idle || 0 == ++rounds % PML_STRIA_POLLS) {
      opal_progress();
    } else {
      (void)stria_worker_progress(pml_stria.worker);
    }
    answer = look(match, message, info);
    if (!waits) break;
  }
  return answer;
}

/* A plain probe. The parameters are those of MPI_Iprobe, and `waits`. */
static int probe(int source, int tag, ompi_communicator_t* comm, bool waits, int* matched,
                 ompi_status_public_t* status) {
  stria_match_t match;
  stria_info_t info;
  if (!pml_stria_match(comm, source, tag, &match)) return OMPI_ERR_UNREACH;
  const stria_status_t answer = look_again(&match, NULL, &info, waits);
  *matched = STRIA_OK == answer;
  if (STRIA_IN_PROGRESS == answer) return OMPI_SUCCESS;
  if (STRIA_OK != answer) return pml_stria_refused(answer, "a probe", match.source);
  if (MPI_STATUS_IGNORE != status) pml_stria_set_status(status, &info);
  return OMPI_SUCCESS;
}

int pml_stria_iprobe(int source, int tag, ompi_communicator_t* comm, int* matched,
                     ompi_status_public_t* status) {
  return probe(source, tag, comm, false, matched, status);
}

int pml_stria_probe(int source, int tag, ompi_communicator_t* comm, ompi_status_public_t* status) {
  int matched = 0;
  return probe(source, tag, comm, true, &matched, status);
}

/* A matched probe. The parameters are those of MPI_Improbe, and `waits`. */
static int matched_probe(int source, int tag, ompi_communicator_t* comm, bool waits, int* matched,
                         ompi_message_t** out, ompi_status_public_t* status) {
  stria_match_t match;
  stria_info_t info;
  stria_message_t* taken = NULL;
  if (!pml_stria_match(comm, source, tag, &match)) return OMPI_ERR_UNREACH;
  /* The handle is allocated first, because a message cannot be put back into the queue. */
  ompi_message_t* message = ompi_message_alloc();
  if (NULL == message) return OMPI_ERR_OUT_OF_RESOURCE;
  const stria_status_t answer = look_again(&match, &taken, &info, waits);
  *matched = STRIA_OK == answer;
  if (STRIA_OK != answer) {
    ompi_message_return(message);
    return STRIA_IN_PROGRESS == answer ? OMPI_SUCCESS
                                       : pml_stria_refused(answer, "a matched probe", match.source);
  }
  OBJ_RETAIN(comm); /* the communicator may be freed before the message is received */
  message->comm = comm;
  message->req_ptr = taken;
  message->peer = (int)info.immediate;
  message->count = info.length;
  *out = message;
  if (MPI_STATUS_IGNORE != status) pml_stria_set_status(status, &info);
  return OMPI_SUCCESS;
}

int pml_stria_improbe(int source, int tag, ompi_communicator_t* comm, int* matched, ompi_message_t** out,
                      ompi_status_public_t* status) {
  return matched_probe(source, tag, comm, false, matched, out, status);
}

int pml_stria_mprobe(int source, int tag, ompi_communicator_t* comm, ompi_message_t** message,
                     ompi_status_public_t* status) {
  int matched = 0;
  return matched_probe(source, tag, comm, true, &matched, message, status);
}

/* Frees the handle of a matched message whose receive has begun. */
static void free_handle(ompi_message_t** message) {
  OBJ_RELEASE((*message)->comm);
  ompi_message_return(*message);
  *message = MPI_MESSAGE_NULL;
}

int pml_stria_imrecv(void* buf, size_t count, ompi_datatype_t* type, ompi_message_t** message,
                     ompi_request_t** out) {
  pml_stria_memory_t memory;
  const int described = pml_stria_describe(buf, count, type, &memory);
  if (OMPI_SUCCESS != described) return described;
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
    return pml_stria_refused(answer, "a matched receive", NULL);
  }
  free_handle(message);
  *out = &request->super;
  return OMPI_SUCCESS;
}

static int mrecv_with_threads(void* buf, size_t count, ompi_datatype_t* type, ompi_message_t** message,
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

int pml_stria_mrecv(void* buf, size_t count, ompi_datatype_t* type, ompi_message_t** message,
                    ompi_status_public_t* status) {
  if (OPAL_UNLIKELY(opal_using_threads())) return mrecv_with_threads(buf, count, type, message, status);
  pml_stria_memory_t memory;
  const int described = pml_stria_describe(buf, count, type, &memory);
  if (OMPI_SUCCESS != described) return described;
  stria_info_t info;
  const stria_recv_t recv = {
      .base = memory.base, .layout = memory.layout, .count = memory.count, .info = &info};
  stria_request_t op;
  const stria_status_t answer =
      stria_mrecv(pml_stria.worker, (stria_message_t*)(*message)->req_ptr, &recv, &op);
  if (OPAL_UNLIKELY(STRIA_OK != answer && STRIA_IN_PROGRESS != answer)) {
    return pml_stria_refused(answer, "a matched receive", NULL);
  }
  free_handle(message);
  if (STRIA_IN_PROGRESS == answer) pml_stria_wait(&op, &info);
  if (OPAL_LIKELY(STRIA_OK == info.status || STRIA_ERR_TRUNCATED == info.status)) {
    if (MPI_STATUS_IGNORE != status) pml_stria_set_status(status, &info);
  }
  return pml_stria_outcome(&info);
}
