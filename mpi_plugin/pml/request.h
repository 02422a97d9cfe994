/* The request: Open MPI's with stria's inside it, from one free list, so that an operation allocates nothing.
 */
#ifndef PML_STRIA_REQUEST_H
#define PML_STRIA_REQUEST_H

#include "memory.h"
#include "pml_stria.h"

enum {
  PML_STRIA_ENDED = 1u << 0, /* the operation ended; the request is complete, or about to be */
  PML_STRIA_FREED = 1u << 1, /* nobody holds the handle any more: it goes back when the operation ends */
  PML_STRIA_CALLS = 1u << 2, /* its completion runs a callback of Open MPI's, which may free it */
  PML_STRIA_RUNS = 1u << 3   /* that callback is running */
};

typedef struct pml_stria_request {
  ompi_request_t super;
  uint32_t flags; /* PML_STRIA_*; atomic when there are threads */
  bool is_recv;
  bool simple; /* holds nothing but its communicator: no layout, no type, no error, no part of the attached
                  buffer */
  const stria_layout_t* layout; /* held until the request is given back, as the communicator is; NULL: none */
  struct pml_stria_request* next; /* while its end is deferred, or it is spare */
  void* buffered;                 /* memory of the attached buffer to give back at the end; NULL: none */
  stria_request_t op __attribute__((aligned(64)));
  /* A persistent request keeps its arguments. */
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

/* One of the free list's, which has retained `comm` unless it is NULL; NULL when memory ran out. */
pml_stria_request_t* pml_stria_request_from_list(ompi_communicator_t* comm);
/* A request, set up for its operation, or a persistent one at rest; `layout` is retained, NULL: none. `comm`
 * NULL: an internal one. NULL when memory ran out. */
static inline pml_stria_request_t* pml_stria_request_new(bool is_recv, bool persistent,
                                                         const stria_layout_t* layout,
                                                         ompi_communicator_t* comm) {
  /* Without threads those that were given back wait in a list of their own: a load and a store. A
   * communicator, and so its context id, lives until its last operation ended. */
  pml_stria_request_t* request = pml_stria.spare;
  if (OPAL_LIKELY(NULL != request && !opal_using_threads())) {
    pml_stria.spare = request->next;
    if (OPAL_LIKELY(NULL != comm)) ++((opal_object_t*)comm)->obj_reference_count;
  } else {
    request = pml_stria_request_from_list(comm);
    if (OPAL_UNLIKELY(NULL == request)) return NULL;
  }
  /* OMPI_REQUEST_INIT and the start of an operation in one. */
  request->super.req_persistent = persistent;
  request->super.req_complete_cb = NULL;
  request->super.req_complete_cb_data = NULL;
  request->super.req_complete = persistent ? REQUEST_COMPLETED : REQUEST_PENDING;
  request->super.req_state = persistent ? OMPI_REQUEST_INACTIVE : OMPI_REQUEST_ACTIVE;
  if (!is_recv) request->super.req_status._cancelled = 0; /* the outcome of a receive says it */
  request->super.req_mpi_object.comm = comm;
  request->is_recv = is_recv;
  request->simple = !persistent && NULL == layout;
  request->flags = 0;
  /* The type may be freed while the operation is under way: the layout outlives it. */
  if (OPAL_UNLIKELY(NULL != layout)) request->layout = stria_layout_retain(layout);
  return request;
}
/* Gives a request that is not in flight back. */
void pml_stria_request_return(pml_stria_request_t* request);
/* Takes over how the operation ended. */
void pml_stria_request_outcome(pml_stria_request_t* request, const stria_info_t* info);
/* The operation ended: completes the request, or gives it back when nobody waits for it. */
void pml_stria_request_ended(pml_stria_request_t* request);
/* Receives what nobody received in any communicator into nothing; at the end. */
void pml_stria_discard_rest(void);
/* Completes what could not be completed under the worker's lock. */
void pml_stria_requests_run_deferred(void);
/* stria's callback for every operation of a request; `user` is the request. */
void pml_stria_request_callback(stria_request_t* op, const stria_info_t* info, void* user);

int pml_stria_request_free(ompi_request_t** request);
int pml_stria_request_cancel(ompi_request_t* request, int flag);

/* What a send says, but for its callback. */
void pml_stria_fill_send(stria_send_t* send, const pml_stria_memory_t* memory, uint64_t tag,
                         uint32_t immediate, mca_pml_base_send_mode_t mode);
/* Starts one, whose callback is set here. Answers as stria_send and stria_recv do; a receive that is OK has
 * its outcome taken over. */
stria_status_t pml_stria_start_send(pml_stria_request_t* request, stria_endpoint_t* destination,
                                    stria_send_t* send);
stria_status_t pml_stria_start_recv(pml_stria_request_t* request, stria_recv_t* recv);
/* Copies `memory` into the attached buffer and sends it from there. Errors: MPI_ERR_BUFFER and those of a
 * send. */
int pml_stria_start_buffered(const pml_stria_memory_t* memory, stria_endpoint_t* destination, uint64_t tag,
                             uint32_t immediate);

#endif
