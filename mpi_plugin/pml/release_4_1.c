/* Open MPI 4.1. */
#include <stdlib.h>

#include "opal/mca/pmix/pmix.h"
#include "opal/util/proc.h"
#include "release.h"

const char* pml_stria_release_objects(void) {
  return NULL;
}

void pml_stria_release_await_others(void) {}

void pml_stria_release_open(bool enable_progress_threads, bool enable_mpi_threads) {
  (void)enable_progress_threads;
  (void)enable_mpi_threads;
}

void pml_stria_release_close(void) {}

/* A process has one turn in this release. */
void pml_stria_release_commit(void) {}

/* The functions for a launcher's kind may lack these two calls. */
char* pml_stria_release_hosts(void) {
  char* hosts = NULL;
  if (NULL == opal_pmix.resolve_nodes || NULL == opal_pmix.resolve_peers ||
      OPAL_SUCCESS != opal_pmix.resolve_nodes(OMPI_PROC_MY_NAME->jobid, &hosts))
    return NULL;
  return hosts;
}

uint32_t* pml_stria_release_ranks_on(const char* host, size_t* count) {
  *count = 0;
  uint32_t* ranks = NULL;
  opal_list_t there;
  OBJ_CONSTRUCT(&there, opal_list_t);
  if (OPAL_SUCCESS == opal_pmix.resolve_peers(host, OMPI_PROC_MY_NAME->jobid, &there))
    ranks = malloc((1 + opal_list_get_size(&there)) * sizeof *ranks);
  opal_namelist_t* process;
  OPAL_LIST_FOREACH(process, &there, opal_namelist_t) {
    if (NULL != ranks) ranks[(*count)++] = process->name.vpid;
  }
  OPAL_LIST_DESTRUCT(&there);
  return ranks;
}

#if OPAL_CUDA_SUPPORT
#include "opal/datatype/opal_convertor.h"
#include "opal/datatype/opal_datatype_cuda.h"

bool pml_stria_has_accelerator(void) {
  return true;
}

bool pml_stria_is_device_memory(const void* memory) {
  /* Asks whether one of two buffers is the device's. */
  return opal_cuda_check_bufs((char*)memory, (char*)memory);
}
#else
bool pml_stria_has_accelerator(void) {
  return false;
}

bool pml_stria_is_device_memory(const void* memory) {
  (void)memory;
  return false;
}
#endif
