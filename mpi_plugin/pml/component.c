/* The pml component: its registration with Open MPI, its answer whether it can be used, and its start and
 * end. */
#include <stdio.h>

#include "hooks.h"
#include "memory.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"
#include "release.h"
#include "request.h"

pml_stria_module_t pml_stria = {.super = {.pml_add_procs = pml_stria_add_procs,
                                          .pml_del_procs = pml_stria_del_procs,
                                          .pml_enable = pml_stria_enable,
                                          .pml_progress = pml_stria_progress,
                                          .pml_add_comm = pml_stria_add_comm,
                                          .pml_del_comm = pml_stria_del_comm,
                                          .pml_irecv_init = pml_stria_irecv_init,
                                          .pml_irecv = pml_stria_irecv,
                                          .pml_recv = pml_stria_recv,
                                          .pml_isend_init = pml_stria_isend_init,
                                          .pml_isend = pml_stria_isend,
                                          .pml_send = pml_stria_send,
                                          .pml_iprobe = pml_stria_iprobe,
                                          .pml_probe = pml_stria_probe,
                                          .pml_start = pml_stria_start,
                                          .pml_improbe = pml_stria_improbe,
                                          .pml_mprobe = pml_stria_mprobe,
                                          .pml_imrecv = pml_stria_imrecv,
                                          .pml_mrecv = pml_stria_mrecv,
                                          .pml_dump = pml_stria_dump,
                                          .pml_max_contextid = INT32_MAX, /* 31 bits in Open MPI's tables */
                                          .pml_max_tag = INT32_MAX,
                                          /* Without MCA_PML_BASE_FLAG_REQUIRE_WORLD: the endpoint of a peer
                                             is opened when it is first used. */
                                          .pml_flags = STRIA_OMPI_PML_FLAGS,
                                          STRIA_OMPI_GET_TRANSPORTS(pml_stria_get_transports)},
                                .output = -1};

int pml_stria_progress(void) {
  if (OPAL_UNLIKELY(NULL == pml_stria.worker)) return 0;
  const int events = (int)stria_worker_progress(pml_stria.worker);
  if (OPAL_UNLIKELY(NULL != __atomic_load_n(&pml_stria.deferred, __ATOMIC_RELAXED)))
    pml_stria_requests_run_deferred();
  if (OPAL_UNLIKELY(pml_stria.show_peers)) pml_stria_show_peers();
  return events;
}

int pml_stria_enable(bool enable) {
  if (!enable) return OMPI_SUCCESS;
  const int rc = pml_stria_requests_open();
  return OMPI_SUCCESS == rc ? pml_stria_layouts_open() : rc;
}

static int open_component(void) {
  OBJ_CONSTRUCT(&pml_stria.lock, opal_mutex_t);
  opal_output_stream_t stream;
  OBJ_CONSTRUCT(&stream, opal_output_stream_t);
  stream.lds_want_stderr = true;
  stream.lds_prefix = "stria: ";
  pml_stria.output = opal_output_open(&stream);
  return OMPI_SUCCESS;
}

static int close_component(void) {
  if (pml_stria.output >= 0) opal_output_close(pml_stria.output);
  pml_stria.output = -1;
  OBJ_DESTRUCT(&pml_stria.lock);
  return OMPI_SUCCESS;
}

static int finalize(void) {
  if (NULL != pml_stria.worker) {
    if (pml_stria.verbose > 0) pml_stria_show_peers();
    pml_stria_forget_peers();
    pml_stria.closing = true;
    /* A communicator that was freed while its sends were pending stays until they end. These sends may wait
     * for messages that the peer has sent in this communicator and that nothing here will receive. */
    pml_stria_discard_rest();
    /* Closing the worker waits for messages that peers have not taken over yet. */
    stria_worker_close(pml_stria.worker);
    pml_stria.worker = NULL;
  }
  if (NULL != pml_stria.context) stria_context_close(pml_stria.context);
  pml_stria.context = NULL;
  pml_stria_release_close();
  pml_stria_hooks_close();
  pml_stria_layouts_close();
  pml_stria_requests_close();
  return OMPI_SUCCESS;
}

static bool open_worker(bool enable_mpi_threads) {
  stria_thread_mode_t mode = STRIA_THREAD_SINGLE;
  if (enable_mpi_threads || opal_using_threads()) {
    mode = STRIA_THREAD_MULTIPLE;
  } else if (MPI_THREAD_SERIALIZED == ompi_mpi_thread_provided) {
    mode = STRIA_THREAD_SERIALIZED;
  }
  pml_stria_hooks_open();
  /* No job secret is set, because spawned and connected jobs, which would have another one, must be able to
   * connect. The library then derives the secret from the user's identity, which keeps other users out. */
  const stria_context_params_t context = {.size = sizeof context, .name = "pml stria"};
  const stria_worker_params_t worker = {.size = sizeof worker, .thread_mode = mode};
  return STRIA_OK == stria_context_open(&context, &pml_stria.context) &&
         STRIA_OK == stria_worker_open(pml_stria.context, &worker, &pml_stria.worker);
}

/* Why the component cannot work with the running Open MPI, as a text; NULL: it can. */
static const char* objection(void) {
  static char text[160];
  if (stria_ompi_release_fits()) return pml_stria_release_objects();
  (void)snprintf(text, sizeof text,
                 "it was built for Open MPI " STRIA_OMPI_RELEASE
                 ", and this is %s; build stria with this one",
                 opal_version_string);
  return text;
}

static mca_pml_base_module_t* init(int* priority, bool enable_progress_threads, bool enable_mpi_threads) {
  *priority = pml_stria.priority;
  const char* reason = objection();
  pml_stria_speaker_t speaker = PML_STRIA_EVERY_RANK;
  if (NULL != reason) {
    speaker = PML_STRIA_FIRST_RANK;
  } else if (!pml_stria_apply_parameters()) {
    reason = stria_last_error();
    speaker = PML_STRIA_FIRST_RANK;
  } else if (!open_worker(enable_mpi_threads)) {
    reason = stria_last_error();
  } else if (OMPI_SUCCESS != pml_stria_publish_card()) {
    reason = "its address could not be published";
  } else if (!pml_stria_await_turn()) {
    reason = "another process of the job did not begin a session with it";
  }
  if (NULL == reason) {
    pml_stria.has_accelerator = pml_stria_has_accelerator();
    pml_stria_release_open(enable_progress_threads, enable_mpi_threads);
    pml_stria_report_unknown();
    return &pml_stria.super;
  }
  /* Open MPI will use another layer. The user is told only if stria was asked for. */
  const bool asked_for = pml_stria_was_asked_for();
  if (asked_for) pml_stria_release_await_others();
  if (asked_for || pml_stria.verbose > 0) {
    pml_stria_tell(speaker, "cannot be used by rank %u on host '%s': %s", OMPI_PROC_MY_NAME->vpid,
                   ompi_process_info.nodename, reason);
  }
  (void)finalize();
  return NULL;
}

__attribute__((visibility("default"))) const mca_pml_base_component_t mca_pml_stria_component = {
    .pmlm_version = {STRIA_OMPI_PML_VERSION, .mca_component_name = "stria",
                     MCA_BASE_MAKE_VERSION(component, STRIA_VERSION_MAJOR, STRIA_VERSION_MINOR,
                                           STRIA_VERSION_PATCH),
                     .mca_open_component = open_component, .mca_close_component = close_component,
                     .mca_register_component_params = pml_stria_register},
    .pmlm_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
    .pmlm_init = init,
    .pmlm_finalize = finalize};
