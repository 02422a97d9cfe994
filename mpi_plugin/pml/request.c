/* The life of a request. It ends when the operation has ended and the handle was freed; whichever comes
 * second gives the request back to the list of free ones.
 */
#include "request.h"

#include "ompi/mca/pml/base/pml_base_bsend.h"

static void construct(pml_stria_request_t* request) {
  request->super.req_type = OMPI_REQUEST_PML;
  request->super.req_start = pml_stria_start;
  request->super.req_free = pml_stria_request_free;
  request->super.req_cancel = pml_stria_request_cancel;
  request->flags = 0;
  request->simple = true;
  request->buffered = NULL;
  request->layout = NULL;
  request->type = NULL;
  request->super.req_status.MPI_ERROR = MPI_SUCCESS;
}

OBJ_CLASS_INSTANCE(pml_stria_request_t, ompi_request_t, construct, NULL);

enum { kCacheLine = 64, kFirstRequests = 64, kMoreRequests = 128 };

int pml_stria_requests_open(void) {
  OBJ_CONSTRUCT(&pml_stria.requests, opal_free_list_t);
  pml_stria.requests_ready = true;
  return opal_free_list_init(&pml_stria.requests, sizeof(pml_stria_request_t), kCacheLine,
                             OBJ_CLASS(pml_stria_request_t), 0, 0, kFirstRequests, -1, kMoreRequests, NULL, 0,
                             NULL, NULL, NULL);
}

pml_stria_request_t* pml_stria_request_from_list(ompi_communicator_t* comm) {
  pml_stria_request_t* request = (void*)opal_free_list_get(&pml_stria.requests);
  if (NULL != request && NULL != comm) OBJ_RETAIN(comm);
  return request;
}

void pml_stria_requests_close(void) {
  while (NULL != pml_stria.spare) {
    pml_stria_request_t* request = pml_stria.spare;
    pml_stria.spare = request->next;
    opal_free_list_return(&pml_stria.requests, &request->super.super);
  }
  if (pml_stria.requests_ready) OBJ_DESTRUCT(&pml_stria.requests);
  pml_stria.requests_ready = false;
}

/* Releases what only some requests hold: a layout, a datatype, an error. The error has to be cleared: when
 * one request of an MPI call fails, Open MPI frees all requests of that call that carry an error, even those
 * under way. */
static void __opal_attribute_noinline__ release_extras(pml_stria_request_t* request) {
  request->super.req_status.MPI_ERROR = MPI_SUCCESS;
  if (NULL != request->layout) {
    stria_layout_free((stria_layout_t*)request->layout);
    request->layout = NULL;
  }
  if (request->super.req_persistent && NULL != request->type) {
    OMPI_DATATYPE_RELEASE(request->type);
    request->type = NULL;
  }
}

static void __opal_attribute_noinline__ forget_fortran_handle(pml_stria_request_t* request) {
  OMPI_REQUEST_FINI(&request->super);
}

static void __opal_attribute_noinline__ return_with_threads(pml_stria_request_t* request) {
  ompi_communicator_t* comm = request->super.req_mpi_object.comm;
  opal_free_list_return(&pml_stria.requests, &request->super.super);
  if (NULL != comm && !pml_stria.closing) OBJ_RELEASE(comm);
}

static void __opal_attribute_noinline__ release_last(ompi_communicator_t* comm) {
  OBJ_RELEASE(comm);
}

/* Gives a request back to the list of free ones. Rare cases are in functions of their own, so that the common
 * case needs no stack frame. */
static inline void give_back(pml_stria_request_t* request) {
  request->super.req_state = OMPI_REQUEST_INVALID;
  if (OPAL_UNLIKELY(MPI_UNDEFINED != request->super.req_f_to_c_index)) forget_fortran_handle(request);
  if (OPAL_UNLIKELY(!request->simple)) release_extras(request);
  if (OPAL_UNLIKELY(opal_using_threads())) {
    return_with_threads(request);
    return;
  }
  ompi_communicator_t* comm = request->super.req_mpi_object.comm;
  request->next = pml_stria.spare;
  pml_stria.spare = request;
  if (OPAL_UNLIKELY(NULL == comm || pml_stria.closing)) return;
  opal_object_t* counted = (opal_object_t*)comm;
  if (OPAL_LIKELY(counted->obj_reference_count > 1)) {
    --counted->obj_reference_count;
  } else {
    release_last(comm);
  }
}

void pml_stria_request_return(pml_stria_request_t* request) {
  give_back(request);
}

/* Sets the status of a request whose operation failed. */
static void __opal_attribute_noinline__ outcome_of_failure(pml_stria_request_t* request,
                                                           const stria_info_t* info) {
  ompi_status_public_t* status = &request->super.req_status;
  request->simple = false; /* it holds an error */
  if (STRIA_ERR_TRUNCATED == info->status) {
    if (request->is_recv) pml_stria_set_status(status, info);
    status->MPI_ERROR = MPI_ERR_TRUNCATE;
    return;
  }
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  status->_ucount = 0;
  status->_cancelled = STRIA_ERR_CANCELLED == info->status;
  status->MPI_ERROR = pml_stria_outcome(info);
}

static inline void take_outcome(pml_stria_request_t* request, const stria_info_t* info) {
  if (OPAL_UNLIKELY(STRIA_OK != info->status)) {
    outcome_of_failure(request, info);
    return;
  }
  /* The status of a send is set, too, because osc/pt2pt reads its tag. */
  pml_stria_set_status(&request->super.req_status, info);
  request->super.req_status.MPI_ERROR = MPI_SUCCESS;
}

void pml_stria_request_outcome(pml_stria_request_t* request, const stria_info_t* info) {
  take_outcome(request, info);
}

/* Defers the end of a request that runs code outside stria: a completion callback, the release of a datatype,
 * whose attributes may have callbacks of the application that communicate, or, with threads, the release of a
 * communicator. That code must not run at once, for three reasons. A receive that looks first may end other
 * requests in the middle of MPI_Irecv, where Open MPI expects no callback. Inside the worker's progress
 * nothing else would arrive. And with threads, the code takes locks whose holders may be waiting for the
 * worker's lock. So pml_stria_progress() runs it, after the worker's progress. */
static void defer(pml_stria_request_t* request) {
  request->next = __atomic_load_n(&pml_stria.deferred, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&pml_stria.deferred, &request->next, request, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
}

void pml_stria_requests_run_deferred(void) {
  pml_stria_request_t* newest_first = __atomic_exchange_n(&pml_stria.deferred, NULL, __ATOMIC_ACQUIRE);
  pml_stria_request_t* oldest_first = NULL;
  while (NULL != newest_first) {
    pml_stria_request_t* next = newest_first->next;
    newest_first->next = oldest_first;
    oldest_first = newest_first;
    newest_first = next;
  }
  /* Requests whose handle was freed come last: callbacks that run at their end may wait for the other
   * requests. */
  pml_stria_request_t* freed = NULL;
  while (NULL != oldest_first) {
    pml_stria_request_t* request = oldest_first;
    oldest_first = request->next;
    if (__atomic_fetch_or(&request->flags, PML_STRIA_RUNS, __ATOMIC_ACQ_REL) & PML_STRIA_FREED) {
      request->next = freed;
      freed = request;
    } else {
      ompi_request_complete(&request->super, true);
    }
  }
  while (NULL != freed) {
    pml_stria_request_t* request = freed;
    freed = request->next;
    give_back(request);
  }
}

/* Ends a request in the uncommon cases: with threads, a completion callback, or a handle that was freed. */
static void __opal_attribute_noinline__ end_with_care(pml_stria_request_t* request) {
  bool calls = NULL != request->super.req_complete_cb;
  const bool threads = opal_using_threads();
  uint32_t ended = PML_STRIA_ENDED;
  if (OPAL_UNLIKELY(calls)) ended |= PML_STRIA_CALLS;
  uint32_t before = request->flags;
  if (threads) {
    before = __atomic_fetch_or(&request->flags, ended, __ATOMIC_ACQ_REL);
  } else {
    request->flags = before | ended;
  }
  const bool freed = before & PML_STRIA_FREED;
  /* Another thread may have set a callback of the request meanwhile. The callback must not run here, under
   * the worker's lock. */
  if (OPAL_UNLIKELY(threads && !calls && !freed &&
                    NULL != __atomic_load_n(&request->super.req_complete_cb, __ATOMIC_ACQUIRE))) {
    calls = !(__atomic_fetch_or(&request->flags, PML_STRIA_CALLS, __ATOMIC_ACQ_REL) & PML_STRIA_FREED);
  }
  const bool lets_go =
      freed && (NULL != request->type || (threads && NULL != request->super.req_mpi_object.comm));
  if (OPAL_UNLIKELY(calls || lets_go)) {
    defer(request);
  } else if (OPAL_UNLIKELY(freed)) {
    give_back(request);
  } else {
    /* Once the request is complete, a thread that waits for it may free it or start it again. */
    ompi_request_complete(&request->super, true);
  }
}

static inline void end(pml_stria_request_t* request) {
  if (OPAL_UNLIKELY(opal_using_threads() || NULL != request->super.req_complete_cb || 0 != request->flags)) {
    end_with_care(request);
    return;
  }
  request->flags = PML_STRIA_ENDED;
  ompi_request_complete(&request->super, true);
}

void pml_stria_request_ended(pml_stria_request_t* request) {
  end(request);
}

void pml_stria_request_callback(stria_request_t* op, const stria_info_t* info, void* user) {
  (void)op;
  pml_stria_request_t* request = user;
  if (OPAL_UNLIKELY(NULL != request->buffered)) {
    mca_pml_base_bsend_request_free(request->buffered);
    request->buffered = NULL;
  }
  take_outcome(request, info);
  end(request);
}

int pml_stria_request_free(ompi_request_t** handle) {
  pml_stria_request_t* request = (void*)*handle;
  *handle = MPI_REQUEST_NULL;
  if (!REQUEST_COMPLETE(&request->super)) {
    const uint32_t before = __atomic_fetch_or(&request->flags, PML_STRIA_FREED, __ATOMIC_ACQ_REL);
    if (!(before & PML_STRIA_ENDED)) return OMPI_SUCCESS;
    if (before & PML_STRIA_CALLS) {
      /* Before the callback runs, the request is left to its deferred end, which gives it back. While it
       * runs, the callback itself frees the request, and nothing touches the request afterwards. */
      if (!(before & PML_STRIA_RUNS)) return OMPI_SUCCESS;
    } else {
      /* Another thread is a few instructions away from marking the request complete. */
      while (!REQUEST_COMPLETE(&request->super)) opal_atomic_rmb();
    }
  }
  give_back(request);
  return OMPI_SUCCESS;
}

int pml_stria_request_cancel(ompi_request_t* handle, int flag) {
  (void)flag;
  pml_stria_request_t* request = (void*)handle;
  /* Only a receive that is not matched can be cancelled. A send completes as usual, as with pml ob1. */
  if (request->is_recv && OMPI_REQUEST_ACTIVE == handle->req_state && !REQUEST_COMPLETE(handle)) {
    (void)stria_request_cancel(pml_stria.worker, &request->op);
  }
  return OMPI_SUCCESS;
}
