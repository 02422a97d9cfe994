/* What the component does in one release of Open MPI and not in the other: release_4_1.c, release_5_0.c. */
#ifndef PML_STRIA_RELEASE_H
#define PML_STRIA_RELEASE_H

#include "pml_stria.h"

/* Why the component cannot work in this process, a sentence; NULL: it can. */
const char* pml_stria_release_objects(void);
/* Called by a process whose MPI_Init is about to fail: returns when its end can do no harm to others of its
 * job. */
void pml_stria_release_await_others(void);

/* Opens and closes what other parts of Open MPI expect that the selected PML has opened. */
void pml_stria_release_open(bool enable_progress_threads, bool enable_mpi_threads);
void pml_stria_release_close(void);

/* Lets other processes see what this one has published, which Open MPI does later. */
void pml_stria_release_commit(void);

/* The names of this job's hosts, separated by commas; the caller frees the text. NULL: the launcher does not
 * tell. */
char* pml_stria_release_hosts(void);
/* The ranks of this job on one of those hosts; the caller frees them. NULL, and *count 0: the launcher does
 * not tell, or no memory. Neither of the two asks another process. */
uint32_t* pml_stria_release_ranks_on(const char* host, size_t* count);

/* Whether Open MPI drives an accelerator, so that a buffer may be memory that the processor cannot reach. */
bool pml_stria_has_accelerator(void);
/* Whether `memory` is of that kind. Asked only where there is an accelerator. */
bool pml_stria_is_device_memory(const void* memory);

#endif
