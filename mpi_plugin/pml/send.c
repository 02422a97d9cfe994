/* Sends. A send that completes at once, as most small ones do, needs no request. */
#include "ompi/mca/pml/base/pml_base_bsend.h"
#include "request.h"
#include "wait.h"

static uint32_t send_flags(mca_pml_base_send_mode_t mode) {
  return MCA_PML_BASE_SEND_SYNCHRONOUS == mode ? (uint32_t)STRIA_SEND_SYNCHRONOUS : 0u;
}

void pml_stria_fill_send(stria_send_t* send, const pml_stria_memory_t* memory, uint64_t tag,
                         uint32_t immediate, mca_pml_base_send_mode_t mode) {
  send->base = memory->base;
  send->layout = memory->layout;
  send->count = memory->count;
  send->tag = tag;
  send->immediate = immediate;
  send->flags = send_flags(mode);
  send->callback = NULL;
  send->user = NULL;
}

stria_status_t pml_stria_start_send(pml_stria_request_t* request, stria_endpoint_t* destination,
                                    stria_send_t* send) {
  send->callback = pml_stria_request_callback;
  send->user = request;
  return stria_send(destination, send, &request->op);
}

/* Allocates from the buffer that the application has attached (MPI_Buffer_attach). NULL: no room. */
static void* take_from_attached_buffer(size_t bytes) {
  void* taken = mca_pml_base_bsend_request_alloc_buf(bytes);
  if (NULL == taken) {
    /* Buffered sends whose end nothing has noticed yet may still hold their part of the buffer. */
    opal_progress();
    taken = mca_pml_base_bsend_request_alloc_buf(bytes);
  }
  return taken;
}

/* Copies in parts that are short enough for the C library to copy them by vector instructions. It copies
 * longer ones by REP MOVSB, which some processors do very slowly when source and destination have nearly the
 * same offset in their pages (docs/notebook/kernels.md), as easily happens with the attached buffer. memcpy
 * is called by a volatile pointer, because the compiler would otherwise emit REP MOVSB itself. */
static void copy_in_parts(char* to, const char* from, size_t bytes) {
  static void* (*const volatile copy)(void*, const void*, size_t) = memcpy;
  const size_t most = 2048;
  for (; bytes > most; to += most, from += most, bytes -= most) copy(to, from, most);
  copy(to, from, bytes);
}

/* Packs the message into `copy`, a part of the attached buffer, and sends it from there. IN_PROGRESS: `copy`
 * is freed when the message has left. Any other status: `copy` is still the caller's. */
static stria_status_t send_from_attached_buffer(const pml_stria_memory_t* memory, uint64_t bytes, void* copy,
                                                stria_endpoint_t* destination, stria_send_t* send) {
  if (NULL != memory->layout) {
    (void)stria_layout_pack(memory->layout, memory->base, (int64_t)memory->count, 0, (int64_t)bytes, copy);
  } else if (bytes > 0) {
    copy_in_parts(copy, memory->base, bytes);
  }
  pml_stria_request_t* request = pml_stria_request_new(false, false, NULL, NULL);
  if (NULL == request) return STRIA_ERR_NO_RESOURCE;
  send->base = copy;
  send->layout = NULL;
  send->count = bytes;
  send->flags = 0;
  request->buffered = copy;
  request->flags = PML_STRIA_FREED;
  const stria_status_t status = pml_stria_start_send(request, destination, send);
  if (STRIA_IN_PROGRESS == status) return status;
  request->buffered = NULL;
  pml_stria_request_return(request);
  return status;
}

/* The attached buffer has to have room for every message, as the MPI standard says. But a message that can
 * leave at once is sent from the application's memory, without a copy. */
int pml_stria_start_buffered(const pml_stria_memory_t* memory, stria_endpoint_t* destination, uint64_t tag,
                             uint32_t immediate) {
  uint64_t bytes = memory->count;
  if (NULL != memory->layout) {
    stria_layout_bounds_t bounds;
    (void)stria_layout_bounds(memory->layout, &bounds);
    bytes *= (uint64_t)bounds.size;
  }
  void* copy = NULL;
  if (bytes > 0) {
    copy = take_from_attached_buffer(bytes);
    if (NULL == copy) return MPI_ERR_BUFFER;
  }
  stria_send_t send;
  pml_stria_fill_send(&send, memory, tag, immediate, MCA_PML_BASE_SEND_STANDARD);
  send.flags = STRIA_SEND_IMMEDIATE;
  stria_status_t status = stria_send(destination, &send, NULL);
  if (STRIA_ERR_NO_RESOURCE == status) {
    status = send_from_attached_buffer(memory, bytes, copy, destination, &send);
    if (STRIA_IN_PROGRESS == status) return OMPI_SUCCESS;
  }
  if (NULL != copy) mca_pml_base_bsend_request_free(copy);
  return STRIA_OK == status ? OMPI_SUCCESS : pml_stria_refused(status, "a buffered send", destination);
}

int pml_stria_isend(const void* buf, size_t count, ompi_datatype_t* type, int destination, int tag,
                    mca_pml_base_send_mode_t mode, ompi_communicator_t* comm, ompi_request_t** out) {
  pml_stria_memory_t memory;
  stria_endpoint_t* endpoint = pml_stria_endpoint(comm, destination);
  if (OPAL_UNLIKELY(NULL == endpoint)) return OMPI_ERR_UNREACH;
  const int described = pml_stria_describe(buf, count, type, &memory);
  if (OPAL_UNLIKELY(OMPI_SUCCESS != described)) return described;
  const uint64_t bits = pml_stria_tag(comm, tag);
  const uint32_t rank = (uint32_t)ompi_comm_rank(comm);

  if (OPAL_UNLIKELY(MCA_PML_BASE_SEND_BUFFERED == mode)) {
    const int rc = pml_stria_start_buffered(&memory, endpoint, bits, rank);
    if (OMPI_SUCCESS == rc) *out = &ompi_request_empty;
    return rc;
  }
  /* Most sends complete at once. Of a completed send, only whether it was cancelled can be asked, so one
   * request that Open MPI shares serves for all of them. */
  stria_send_t send;
  pml_stria_fill_send(&send, &memory, bits, rank, mode);
  send.flags |= STRIA_SEND_IMMEDIATE;
  *out = &ompi_request_empty;
  stria_status_t status = stria_send(endpoint, &send, NULL);
  if (OPAL_LIKELY(STRIA_OK == status)) return OMPI_SUCCESS;

  pml_stria_request_t* request = pml_stria_request_new(false, false, memory.layout, comm);
  if (OPAL_UNLIKELY(NULL == request)) return OMPI_ERR_OUT_OF_RESOURCE;
  send.flags &= ~(uint32_t)STRIA_SEND_IMMEDIATE;
  status = pml_stria_start_send(request, endpoint, &send);
  if (STRIA_IN_PROGRESS == status) {
    *out = &request->super;
    return OMPI_SUCCESS;
  }
  pml_stria_request_return(request);
  return OPAL_LIKELY(STRIA_OK == status) ? OMPI_SUCCESS : pml_stria_refused(status, "a send", endpoint);
}

/* A blocking send with threads. It uses a request, so that Open MPI chooses which of the waiting threads
 * makes progress. */
static int send_and_wait_with_threads(stria_endpoint_t* endpoint, stria_send_t* send,
                                      ompi_communicator_t* comm) {
  send->flags |= STRIA_SEND_IMMEDIATE;
  if (OPAL_LIKELY(STRIA_OK == stria_send(endpoint, send, NULL))) return OMPI_SUCCESS;
  send->flags &= ~(uint32_t)STRIA_SEND_IMMEDIATE;
  pml_stria_request_t* request = pml_stria_request_new(false, false, send->layout, comm);
  if (OPAL_UNLIKELY(NULL == request)) return OMPI_ERR_OUT_OF_RESOURCE;
  const stria_status_t status = pml_stria_start_send(request, endpoint, send);
  int rc = MPI_SUCCESS;
  if (STRIA_IN_PROGRESS == status) {
    ompi_request_wait_completion(&request->super);
    rc = request->super.req_status.MPI_ERROR;
  } else if (STRIA_OK != status) {
    rc = pml_stria_refused(status, "a send", endpoint);
  }
  pml_stria_request_return(request);
  return rc;
}

int pml_stria_send(const void* buf, size_t count, ompi_datatype_t* type, int destination, int tag,
                   mca_pml_base_send_mode_t mode, ompi_communicator_t* comm) {
  pml_stria_memory_t memory;
  stria_endpoint_t* endpoint = pml_stria_endpoint(comm, destination);
  if (OPAL_UNLIKELY(NULL == endpoint)) return OMPI_ERR_UNREACH;
  const int described = pml_stria_describe(buf, count, type, &memory);
  if (OPAL_UNLIKELY(OMPI_SUCCESS != described)) return described;
  const uint64_t bits = pml_stria_tag(comm, tag);
  const uint32_t rank = (uint32_t)ompi_comm_rank(comm);

  if (OPAL_UNLIKELY(MCA_PML_BASE_SEND_BUFFERED == mode)) {
    return pml_stria_start_buffered(&memory, endpoint, bits, rank);
  }
  stria_send_t send;
  pml_stria_fill_send(&send, &memory, bits, rank, mode);
  if (OPAL_UNLIKELY(opal_using_threads())) return send_and_wait_with_threads(endpoint, &send, comm);

  /* Most sends complete at once; they are tried without a request, so that nothing is stored for them. */
  send.flags |= STRIA_SEND_IMMEDIATE;
  if (OPAL_LIKELY(STRIA_OK == stria_send(endpoint, &send, NULL))) return OMPI_SUCCESS;
  send.flags &= ~(uint32_t)STRIA_SEND_IMMEDIATE;
  stria_request_t op;
  const stria_status_t status = stria_send(endpoint, &send, &op);
  if (STRIA_OK == status) return OMPI_SUCCESS;
  if (OPAL_UNLIKELY(STRIA_IN_PROGRESS != status)) return pml_stria_refused(status, "a send", endpoint);
  stria_info_t info;
  pml_stria_wait(&op, &info);
  return pml_stria_outcome(&info);
}
