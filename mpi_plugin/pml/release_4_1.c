/* The functions of release.h for Open MPI 4.1. */
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

/* In this release a process has one MPI session only, so no card is awaited (card.c). */
void pml_stria_release_commit(void) {}

/* Open MPI's table of functions for the launcher may lack resolve_nodes or resolve_peers. NULL then. */
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
  opal_list_t processes;
  OBJ_CONSTRUCT(&processes, opal_list_t);
  if (OPAL_SUCCESS == opal_pmix.resolve_peers(host, OMPI_PROC_MY_NAME->jobid, &processes))
    ranks = malloc((1 + opal_list_get_size(&processes)) * sizeof *ranks);
  opal_namelist_t* process;
  OPAL_LIST_FOREACH(process, &processes, opal_namelist_t) {
    if (NULL != ranks) ranks[(*count)++] = process->name.vpid;
  }
  OPAL_LIST_DESTRUCT(&processes);
  return ranks;
}

#if OPAL_CUDA_SUPPORT
#include "opal/datatype/opal_convertor.h"
#include "opal/datatype/opal_datatype_cuda.h"

bool pml_stria_has_accelerator(void) {
  return true;
}

bool pml_stria_is_device_memory(const void* memory) {
  /* True if one of the two buffers is memory of the device; here both are the same. */
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
