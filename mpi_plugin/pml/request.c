/* The life of a request. Who comes second of "the operation ended" and "the handle was freed" gives it back.
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

/* What only some requests hold. An error must not stay: when one request of a call failed, Open MPI frees all
 * those of the call that carry an error, be they under way. */
static void __opal_attribute_noinline__ let_go(pml_stria_request_t* request) {
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

/* What is rare is in functions of its own, so that the rest needs no stack. */
static inline void give_back(pml_stria_request_t* request) {
  request->super.req_state = OMPI_REQUEST_INVALID;
  if (OPAL_UNLIKELY(MPI_UNDEFINED != request->super.req_f_to_c_index)) forget_fortran_handle(request);
  if (OPAL_UNLIKELY(!request->simple)) let_go(request);
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
  /* Of a send, too: osc/pt2pt reads its tag. */
  pml_stria_set_status(&request->super.req_status, info);
  request->super.req_status.MPI_ERROR = MPI_SUCCESS;
}

void pml_stria_request_outcome(pml_stria_request_t* request, const stria_info_t* info) {
  take_outcome(request, info);
}

/* Ended requests whose end runs code of others: a completion callback, the end of a type, whose attributes
 * may have callbacks of the application that communicate, or, with threads, the end of a communicator.
 * Receives that look first end others in the middle of MPI_Irecv, where Open MPI expects no callback; inside
 * the worker's progress nothing else would arrive; and with threads that code takes locks of its own, whose
 * holders may be waiting for the worker's. So it runs from pml_stria_progress, after the worker's. */
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
  /* Those that nobody holds come last: what their end calls may wait for the others. */
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

/* The end when there are threads, a completion callback, or nobody who waits. */
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
  /* Another thread may have given it a callback meanwhile, which is not to run here, under the worker's lock.
   */
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
    /* From here on the request may be freed, or started again, by whoever waits for it. */
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
      /* Freed from its own callback: nobody touches it afterwards. Before that, the deferred end gives it
       * back. */
      if (!(before & PML_STRIA_RUNS)) return OMPI_SUCCESS;
    } else {
      /* Another thread is a few instructions away from marking it complete. */
      while (!REQUEST_COMPLETE(&request->super)) opal_atomic_rmb();
    }
  }
  give_back(request);
  return OMPI_SUCCESS;
}

int pml_stria_request_cancel(ompi_request_t* handle, int flag) {
  (void)flag;
  pml_stria_request_t* request = (void*)handle;
  /* A send completes as usual, as with ob1; so does a receive that was matched. */
  if (request->is_recv && OMPI_REQUEST_ACTIVE == handle->req_state && !REQUEST_COMPLETE(handle)) {
    (void)stria_request_cancel(pml_stria.worker, &request->op);
  }
  return OMPI_SUCCESS;
}
