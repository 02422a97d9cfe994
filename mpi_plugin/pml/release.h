/* What the component does differently in Open MPI 4.1 (release_4_1.c) and 5.0 (release_5_0.c). */
#ifndef PML_STRIA_RELEASE_H
#define PML_STRIA_RELEASE_H

#include "pml_stria.h"

/* Why the component cannot work in this process, as a text; NULL: it can. */
const char* pml_stria_release_objects(void);
/* Called by a process whose MPI_Init is about to fail. Returns when the end of this process can do no harm to
 * the other processes of its job. */
void pml_stria_release_await_others(void);

/* Open and close the frameworks that other parts of Open MPI expect the selected PML to open. */
void pml_stria_release_open(bool enable_progress_threads, bool enable_mpi_threads);
void pml_stria_release_close(void);

/* Makes what this process has published visible to other processes now. Open MPI would do so later. */
void pml_stria_release_commit(void);

/* The names of this job's hosts, separated by commas; the caller frees the text. NULL: the launcher does not
 * tell. */
char* pml_stria_release_hosts(void);
/* The ranks of this job on `host`; the caller frees them. NULL, and *count 0: the launcher does not tell, or
 * out of memory. Neither this function nor pml_stria_release_hosts() asks another process. */
uint32_t* pml_stria_release_ranks_on(const char* host, size_t* count);

/* Whether Open MPI drives an accelerator, so that a buffer may be memory that the processor cannot access. */
bool pml_stria_has_accelerator(void);
/* Whether `memory` is memory of an accelerator. Called only if there is one. */
bool pml_stria_is_device_memory(const void* memory);

#endif
