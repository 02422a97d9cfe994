/* Chooses one process of each other host of this job, for MPI_Init to connect to. So MPI_Init finds out
 * whether every host can be reached, while connections to all other processes are made with their first
 * message. The launcher tells the hosts and their processes without asking any process.
 */
#include <stdlib.h>
#include <string.h>

#include "release.h"

/* Chooses a process of `host`. The processes of this process's own host choose different ones, by their local
 * rank, so that no process gets connections from all of a large job. False: the launcher does not tell, or
 * `host` is this process's own. */
static bool choose_process(const char* host, opal_process_name_t* process) {
  size_t count = 0;
  uint32_t* ranks = pml_stria_release_ranks_on(host, &count);
  bool is_own = false;
  for (size_t i = 0; i < count; ++i) is_own |= ranks[i] == OMPI_PROC_MY_NAME->vpid;
  const bool is_other = count > 0 && !is_own;
  if (is_other) {
    const size_t chosen = ompi_process_info.my_local_rank % count;
    *process = (opal_process_name_t){.jobid = OMPI_PROC_MY_NAME->jobid, .vpid = ranks[chosen]};
  }
  free(ranks);
  return is_other;
}

size_t pml_stria_other_hosts(opal_process_name_t** processes) {
  *processes = NULL;
  char* hosts = pml_stria_release_hosts();
  if (NULL == hosts) return 0;
  size_t all = 1;
  for (const char* letter = hosts; '\0' != *letter; ++letter) all += ',' == *letter;
  size_t count = 0;
  if (all > 1) *processes = malloc(all * sizeof **processes);
  char* rest = hosts;
  for (char* host; NULL != *processes && NULL != (host = strsep(&rest, ","));)
    count += choose_process(host, *processes + count);
  free(hosts);
  return count;
}
