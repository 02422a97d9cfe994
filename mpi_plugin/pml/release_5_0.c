/* The functions of release.h for Open MPI 5.0. */
#include <stdlib.h>

#include "ompi/mca/bml/base/base.h"
#include "ompi/runtime/params.h"
#include "opal/mca/accelerator/accelerator.h"
#include "opal/mca/accelerator/base/base.h"
#include "release.h"

const char* pml_stria_release_objects(void) {
  /* With fault tolerance Open MPI reads every request as if it had the class of its own PMLs' requests. */
  return ompi_ftmpi_enabled
             ? "fault tolerance (--with-ft ulfm) is not supported with it; leave --with-ft out, or "
               "choose `--mca pml ob1`"
             : NULL;
}

/* With fault tolerance, mpirun (5.0.7) ends after the first process whose MPI_Init fails, and lets the other
 * processes run. A process that is registering its event handlers at that moment, which MPI_Init does before
 * it selects a PML, gets no answer any more and waits for ever. So a process fails only after all processes
 * have come here. */
void pml_stria_release_await_others(void) {
  if (!ompi_ftmpi_enabled) return;
  int seconds = 10; /* a process may never come here */
  pmix_info_t limit;
  PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
  (void)PMIx_Fence(NULL, 0, &limit, 1);
  PMIX_INFO_DESTRUCT(&limit);
}

/* This component opens the byte transfer layers (bml). Windows of osc/rdma need these layers: without them
 * MPI_Win_create fails. Open MPI 4.1 opens them with every PML, 5.0 to 5.0.8 only with pml ob1. */
static bool is_bml_open;

void pml_stria_release_open(bool enable_progress_threads, bool enable_mpi_threads) {
  if (OMPI_SUCCESS != mca_base_framework_open(&ompi_bml_base_framework, 0)) return;
  is_bml_open = true;
  (void)mca_bml_base_init(enable_progress_threads, enable_mpi_threads);
}

void pml_stria_release_close(void) {
  if (is_bml_open) (void)mca_base_framework_close(&ompi_bml_base_framework);
  is_bml_open = false;
}

void pml_stria_release_commit(void) {
  (void)PMIx_Commit();
}

/* A text about the whole job that the launcher gave this process at its start. NULL: there is none. The
 * caller frees the text. */
static char* text_of_job(const char* key, pmix_info_t* info, size_t count) {
  pmix_proc_t job;
  PMIX_LOAD_PROCID(&job, opal_process_info.myprocid.nspace, PMIX_RANK_WILDCARD);
  pmix_value_t* value = NULL;
  char* text = NULL;
  if (PMIX_SUCCESS != PMIx_Get(&job, key, info, count, &value) || NULL == value) return NULL;
  if (PMIX_STRING == value->type && NULL != value->data.string) text = strdup(value->data.string);
  PMIX_VALUE_RELEASE(value);
  return text;
}

char* pml_stria_release_hosts(void) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, NULL, PMIX_BOOL);
  char* hosts = text_of_job(PMIX_NODE_LIST, &info, 1);
  PMIX_INFO_DESTRUCT(&info);
  return hosts;
}

/* PMIx_Resolve_peers would give the same answer, but asks the launcher's daemon of this host, which serves
 * all ranks of the host. */
uint32_t* pml_stria_release_ranks_on(const char* host, size_t* count) {
  *count = 0;
  pmix_info_t info[3];
  PMIX_INFO_LOAD(&info[0], PMIX_OPTIONAL, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_NODE_INFO, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[2], PMIX_HOSTNAME, host, PMIX_STRING);
  char* text = text_of_job(PMIX_LOCAL_PEERS, info, 3);
  for (int i = 0; i < 3; ++i) PMIX_INFO_DESTRUCT(&info[i]);
  uint32_t* ranks = NULL == text ? NULL : malloc((strlen(text) / 2 + 1) * sizeof *ranks);
  char* rest = text;
  for (char* rank; NULL != ranks && NULL != (rank = strsep(&rest, ","));)
    ranks[(*count)++] = (uint32_t)strtoul(rank, NULL, 10);
  free(text);
  return ranks;
}

bool pml_stria_has_accelerator(void) {
  return NULL != opal_accelerator.check_addr &&
         0 != strcmp("null", opal_accelerator_base_selected_component.base_version.mca_component_name);
}

bool pml_stria_is_device_memory(const void* memory) {
  int device = 0;
  uint64_t flags = 0;
  return opal_accelerator.check_addr(memory, &device, &flags) > 0;
}
