/* Persistent requests. A persistent request keeps its arguments, layout and datatype; each start begins one
 * operation with them. */
#include "request.h"

int pml_stria_irecv_init(void* buf, size_t count, ompi_datatype_t* type, int source, int tag,
                         ompi_communicator_t* comm, ompi_request_t** out) {
  stria_match_t match;
  if (!pml_stria_match(comm, source, tag, &match)) return OMPI_ERR_UNREACH;
  pml_stria_memory_t memory;
  const int described = pml_stria_describe(buf, count, type, &memory);
  if (OMPI_SUCCESS != described) return described;
  pml_stria_request_t* request = pml_stria_request_new(true, true, memory.layout, comm);
  if (NULL == request) return OMPI_ERR_OUT_OF_RESOURCE;
  request->memory = memory;
  request->match = match;
  request->type = type;
  OMPI_DATATYPE_RETAIN(type);
  *out = &request->super;
  return OMPI_SUCCESS;
}

int pml_stria_isend_init(const void* buf, size_t count, ompi_datatype_t* type, int destination, int tag,
                         mca_pml_base_send_mode_t mode, ompi_communicator_t* comm, ompi_request_t** out) {
  stria_endpoint_t* endpoint = pml_stria_endpoint(comm, destination);
  if (NULL == endpoint) return OMPI_ERR_UNREACH;
  pml_stria_memory_t memory;
  const int described = pml_stria_describe(buf, count, type, &memory);
  if (OMPI_SUCCESS != described) return described;
  pml_stria_request_t* request = pml_stria_request_new(false, true, memory.layout, comm);
  if (NULL == request) return OMPI_ERR_OUT_OF_RESOURCE;
  request->memory = memory;
  request->mode = mode;
  request->destination = endpoint;
  request->tag = pml_stria_tag(comm, tag);
  request->immediate = (uint32_t)ompi_comm_rank(comm);
  request->type = type;
  OMPI_DATATYPE_RETAIN(type);
  *out = &request->super;
  return OMPI_SUCCESS;
}

/* Sets an inactive request up for another operation. */
static void activate(pml_stria_request_t* request) {
  request->flags = 0;
  request->super.req_status._cancelled = 0;
  request->super.req_status.MPI_ERROR = MPI_SUCCESS;
  request->super.req_complete = REQUEST_PENDING;
  request->super.req_state = OMPI_REQUEST_ACTIVE;
}

/* Sets source and tag in the status of a send that completed at once. For other sends, the callback sets
 * them. */
static void set_status_of_send(pml_stria_request_t* request) {
  request->super.req_status.MPI_SOURCE = (int)request->immediate;
  request->super.req_status.MPI_TAG = (int)(uint32_t)request->tag;
}

static int start_one(pml_stria_request_t* request) {
  stria_status_t status;
  if (request->is_recv) {
    stria_recv_t recv = {.base = request->memory.base,
                         .layout = request->memory.layout,
                         .count = request->memory.count,
                         .match = request->match};
    activate(request);
    status = pml_stria_start_recv(request, &recv);
  } else if (MCA_PML_BASE_SEND_BUFFERED == request->mode) {
    /* This request is complete as soon as the data is sent or in the attached buffer. Another request carries
     * the transfer out of the buffer. */
    const int rc =
        pml_stria_start_buffered(&request->memory, request->destination, request->tag, request->immediate);
    if (OMPI_SUCCESS != rc) return rc;
    activate(request);
    status = STRIA_OK;
  } else {
    stria_send_t send;
    pml_stria_fill_send(&send, &request->memory, request->tag, request->immediate, request->mode);
    activate(request);
    status = pml_stria_start_send(request, request->destination, &send);
  }
  if (STRIA_IN_PROGRESS == status) return OMPI_SUCCESS;
  if (STRIA_OK == status) {
    if (!request->is_recv) set_status_of_send(request);
    pml_stria_request_ended(request);
    return OMPI_SUCCESS;
  }
  request->super.req_state = OMPI_REQUEST_INACTIVE;
  request->super.req_complete = REQUEST_COMPLETED;
  return pml_stria_refused(status, "the start of a persistent request", request->destination);
}

int pml_stria_start(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    if (NULL == requests[i] || OMPI_REQUEST_PML != requests[i]->req_type) continue;
    const int rc = start_one((void*)requests[i]);
    if (OMPI_SUCCESS != rc) return rc;
  }
  return OMPI_SUCCESS;
}
