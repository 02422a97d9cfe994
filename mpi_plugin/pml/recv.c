/* Receives. A blocking receive without threads has stria's request on the stack; other receives have a
 * request from the free list.
 */
#include "request.h"
#include "wait.h"

/* Describes the memory of a receive in `recv`. The fields are stored one by one, because a copy of the whole
 * structure would load fields just stored, and wait for the store buffer. */
static inline int describe(stria_recv_t* recv, void* buf, size_t count, ompi_datatype_t* type) {
  pml_stria_memory_t memory;
  const int rc = pml_stria_describe(buf, count, type, &memory);
  if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) return rc;
  recv->base = memory.base;
  recv->layout = memory.layout;
  recv->count = memory.count;
  /* A receive that looks may end other requests. With threads their ends may not run here, so it does not
   * look. */
  recv->flags = opal_using_threads() ? 0u : STRIA_RECV_LOOK;
  return OMPI_SUCCESS;
}

stria_status_t pml_stria_start_recv(pml_stria_request_t* request, stria_recv_t* recv) {
  stria_info_t info;
  recv->callback = pml_stria_request_callback;
  recv->user = request;
  recv->info = &info;
  const stria_status_t status = stria_recv(pml_stria.worker, recv, &request->op);
  if (STRIA_OK == status) pml_stria_request_outcome(request, &info);
  return status;
}

/* After this many receives that completed at once, opal_progress() has to run: the program may wait for
 * nothing else while one of its non-blocking collectives needs progress. */
#define PML_STRIA_AT_ONCE 256u

/* A non-blocking receive longer than this does not look for its message. Copying it in the call would delay
 * the program's next sends, for which other ranks may be waiting. Unit: bytes, or instances of a layout. */
#define PML_STRIA_LOOK_MOST 2048u

/* A receive that completes at once makes no progress: MPI_Wait calls opal_progress() only for a request that
 * is not complete, and MPI_Irecv may not call it, because Open MPI expects no callback there. So after
 * PML_STRIA_AT_ONCE such receives, none looks for its message until one is not complete at once and has to be
 * waited for. */
int pml_stria_irecv(void* buf, size_t count, ompi_datatype_t* type, int source, int tag,
                    ompi_communicator_t* comm, ompi_request_t** out) {
  static unsigned at_once;
  stria_recv_t recv;
  if (OPAL_UNLIKELY(!pml_stria_match(comm, source, tag, &recv.match))) return OMPI_ERR_UNREACH;
  const int described = describe(&recv, buf, count, type);
  if (OPAL_UNLIKELY(OMPI_SUCCESS != described)) return described;
  pml_stria_request_t* request = pml_stria_request_new(true, false, recv.layout, comm);
  if (OPAL_UNLIKELY(NULL == request)) return OMPI_ERR_OUT_OF_RESOURCE;
  if (OPAL_UNLIKELY(recv.count > PML_STRIA_LOOK_MOST || at_once >= PML_STRIA_AT_ONCE)) recv.flags = 0;
  const stria_status_t status = pml_stria_start_recv(request, &recv);
  if (STRIA_OK == status) {
    if (0 != recv.flags) ++at_once;
    request->flags = PML_STRIA_ENDED;
    request->super.req_complete = REQUEST_COMPLETED;
  } else if (OPAL_UNLIKELY(STRIA_IN_PROGRESS != status)) {
    pml_stria_request_return(request);
    return pml_stria_refused(status, "a receive", recv.match.source);
  } else if (OPAL_UNLIKELY(at_once >= PML_STRIA_AT_ONCE)) {
    at_once = 0;
  }
  *out = &request->super;
  return OMPI_SUCCESS;
}

static int recv_and_wait_with_threads(stria_recv_t* recv, ompi_communicator_t* comm,
                                      ompi_status_public_t* status) {
  pml_stria_request_t* request = pml_stria_request_new(true, false, recv->layout, comm);
  if (OPAL_UNLIKELY(NULL == request)) return OMPI_ERR_OUT_OF_RESOURCE;
  const stria_status_t answer = pml_stria_start_recv(request, recv);
  int rc;
  if (OPAL_UNLIKELY(STRIA_OK != answer && STRIA_IN_PROGRESS != answer)) {
    rc = pml_stria_refused(answer, "a receive", recv->match.source);
  } else {
    if (STRIA_IN_PROGRESS == answer) ompi_request_wait_completion(&request->super);
    if (MPI_STATUS_IGNORE != status) OMPI_COPY_STATUS(status, request->super.req_status, false);
    rc = request->super.req_status.MPI_ERROR;
  }
  pml_stria_request_return(request);
  return rc;
}

int pml_stria_recv(void* buf, size_t count, ompi_datatype_t* type, int source, int tag,
                   ompi_communicator_t* comm, ompi_status_public_t* status) {
  stria_recv_t recv;
  if (OPAL_UNLIKELY(!pml_stria_match(comm, source, tag, &recv.match))) return OMPI_ERR_UNREACH;
  const int described = describe(&recv, buf, count, type);
  if (OPAL_UNLIKELY(OMPI_SUCCESS != described)) return described;
  if (OPAL_UNLIKELY(opal_using_threads())) return recv_and_wait_with_threads(&recv, comm, status);

  recv.callback = NULL;
  recv.user = NULL;
  if (!opal_progress_yield_when_idle) recv.flags |= STRIA_RECV_WAITS;
  stria_request_t op;
  stria_info_t info;
  recv.info = &info;
  const stria_status_t answer = stria_recv(pml_stria.worker, &recv, &op);
  if (OPAL_LIKELY(STRIA_OK == answer)) {
    static unsigned at_once;
    if (OPAL_UNLIKELY(0 == ++at_once % PML_STRIA_AT_ONCE)) opal_progress();
  } else {
    if (OPAL_UNLIKELY(STRIA_IN_PROGRESS != answer))
      return pml_stria_refused(answer, "a receive", recv.match.source);
    pml_stria_wait(&op, &info);
  }
  if (OPAL_LIKELY(STRIA_OK == info.status || STRIA_ERR_TRUNCATED == info.status)) {
    if (MPI_STATUS_IGNORE != status) pml_stria_set_status(status, &info);
  }
  return pml_stria_outcome(&info);
}
