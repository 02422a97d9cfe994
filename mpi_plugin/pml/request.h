/* A request of the component: Open MPI's request with stria's request inside it. Requests come from one free
 * list, so that starting an operation allocates no memory.
 */
#ifndef PML_STRIA_REQUEST_H
#define PML_STRIA_REQUEST_H

#include "memory.h"
#include "pml_stria.h"

enum {
  PML_STRIA_ENDED = 1u << 0, /* the operation has ended; the request is complete, or about to be */
  PML_STRIA_FREED = 1u << 1, /* the handle was freed: the request is given back when the operation ends */
  PML_STRIA_CALLS = 1u << 2, /* completing the request runs a callback of Open MPI, which may free it */
  PML_STRIA_RUNS = 1u << 3   /* the deferred end of the request has begun: its callback is running */
};

typedef struct pml_stria_request {
  ompi_request_t super;
  uint32_t flags; /* PML_STRIA_*; atomic when there are threads */
  bool is_recv;
  bool simple;                  /* the request holds a communicator, but no layout, datatype or error */
  const stria_layout_t* layout; /* held until the request is given back, as the communicator is; NULL: none */
  struct pml_stria_request* next; /* in the list of deferred ends, or of spare requests */
  void* buffered; /* memory of the attached buffer that is freed when the operation ends; NULL: none */
  stria_request_t op __attribute__((aligned(64)));
  /* The arguments of a persistent request, for each start. */
  pml_stria_memory_t memory;
  mca_pml_base_send_mode_t mode;
  stria_endpoint_t* destination;
  uint64_t tag;
  uint32_t immediate;
  stria_match_t match;
  ompi_datatype_t* type;
} pml_stria_request_t;
OBJ_CLASS_DECLARATION(pml_stria_request_t);

int pml_stria_requests_open(void);
void pml_stria_requests_close(void);

/* Takes a request from the free list and retains `comm`, unless that is NULL. NULL: out of memory. */
pml_stria_request_t* pml_stria_request_from_list(ompi_communicator_t* comm);
/* Makes a request that is set up for its operation or, if persistent, inactive. Retains `layout` (NULL: none)
 * and `comm` (NULL: an internal request has none). NULL: out of memory. */
static inline pml_stria_request_t* pml_stria_request_new(bool is_recv, bool persistent,
                                                         const stria_layout_t* layout,
                                                         ompi_communicator_t* comm) {
  /* Without threads, requests that were given back are in a list that costs a load and a store. The request
   * holds its communicator, so that the context id is not given to another one before the last operation has
   * ended. */
  pml_stria_request_t* request = pml_stria.spare;
  if (OPAL_LIKELY(NULL != request && !opal_using_threads())) {
    pml_stria.spare = request->next;
    if (OPAL_LIKELY(NULL != comm)) ++((opal_object_t*)comm)->obj_reference_count;
  } else {
    request = pml_stria_request_from_list(comm);
    if (OPAL_UNLIKELY(NULL == request)) return NULL;
  }
  /* Does the work of OMPI_REQUEST_INIT and of starting an operation in one step. */
  request->super.req_persistent = persistent;
  request->super.req_complete_cb = NULL;
  request->super.req_complete_cb_data = NULL;
  request->super.req_complete = persistent ? REQUEST_COMPLETED : REQUEST_PENDING;
  request->super.req_state = persistent ? OMPI_REQUEST_INACTIVE : OMPI_REQUEST_ACTIVE;
  if (!is_recv) request->super.req_status._cancelled = 0; /* the outcome of a receive sets it */
  request->super.req_mpi_object.comm = comm;
  request->is_recv = is_recv;
  request->simple = !persistent && NULL == layout;
  request->flags = 0;
  /* The layout is retained, because the datatype may be freed while the operation is under way. */
  if (OPAL_UNLIKELY(NULL != layout)) request->layout = stria_layout_retain(layout);
  return request;
}
/* Gives a request that is not in flight back to the list of free ones. */
void pml_stria_request_return(pml_stria_request_t* request);
/* Sets the request's MPI status from the outcome of the operation. */
void pml_stria_request_outcome(pml_stria_request_t* request, const stria_info_t* info);
/* Called when the operation has ended: completes the request, or gives it back if its handle was freed. */
void pml_stria_request_ended(pml_stria_request_t* request);
/* Receives and drops the unexpected messages of all communicators. Called before the worker is closed. */
void pml_stria_discard_rest(void);
/* Runs the ends of requests that were deferred because they call code outside stria. */
void pml_stria_requests_run_deferred(void);
/* stria's callback for every operation of a request; `user` is the request. */
void pml_stria_request_callback(stria_request_t* op, const stria_info_t* info, void* user);

int pml_stria_request_free(ompi_request_t** request);
int pml_stria_request_cancel(ompi_request_t* request, int flag);

/* Fills all fields of `send`. There is no callback: pml_stria_start_send() sets it. */
void pml_stria_fill_send(stria_send_t* send, const pml_stria_memory_t* memory, uint64_t tag,
                         uint32_t immediate, mca_pml_base_send_mode_t mode);
/* Start the operation of a request, with pml_stria_request_callback as its callback. They answer as
 * stria_send and stria_recv do. Where a receive answers OK, the status of the request is set. */
stria_status_t pml_stria_start_send(pml_stria_request_t* request, stria_endpoint_t* destination,
                                    stria_send_t* send);
stria_status_t pml_stria_start_recv(pml_stria_request_t* request, stria_recv_t* recv);
/* Starts a buffered send, which ends for the caller on return: `memory` is sent at once, or copied into the
 * attached buffer and sent from there. Errors: MPI_ERR_BUFFER, no room in the attached buffer; those of a
 * send. */
int pml_stria_start_buffered(const pml_stria_memory_t* memory, stria_endpoint_t* destination, uint64_t tag,
                             uint32_t immediate);

#endif
