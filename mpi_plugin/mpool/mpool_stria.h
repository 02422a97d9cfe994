/* An mpool component that gives MPI_Alloc_mem memory that peers can map.
 *
 * At each MPI_Alloc_mem, Open MPI asks every component of the mpool framework for its priority (query) and
 * lets the component with the highest priority allocate; when that component returns NULL, Open MPI uses
 * malloc. So refusing is always safe. This component refuses whenever pml stria does not carry this job's
 * messages.
 */
#ifndef MPOOL_STRIA_H
#define MPOOL_STRIA_H

#include "opal_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat.h"
#include "opal/class/opal_hash_table.h"
#include "opal/mca/mpool/base/base.h"
#include "opal/mca/mpool/mpool.h"
#include "stria/stria.h"

/* A spare: memory that the application has freed, and that is kept for the next allocation of about its size.
 */
typedef struct mpool_stria_spare {
  void* memory;
  size_t size;
} mpool_stria_spare_t;
enum { kMpoolSpares = 8 };

typedef struct mpool_stria {
  mca_mpool_base_module_t super;
  /* The component's own context, because the memory outlives the workers of the PML. Memory of
   * stria_mem_alloc() belongs to the process, so that the workers of other contexts can use it. */
  stria_context_t* context;
  bool hopeless;     /* no allocation can succeed: no provider has memory that peers map, or no context */
  opal_mutex_t lock; /* guards context, hopeless, and what follows up to the MCA parameters */
  opal_hash_table_t blocks;                 /* size in bytes of each allocation, by its address */
  mpool_stria_spare_t spares[kMpoolSpares]; /* oldest first */
  unsigned spare_count;
  unsigned long long allocations;  /* allocations that are not freed */
  unsigned long long bytes;        /* sum of their sizes */
  unsigned long long refusals;     /* times that this component had to refuse memory that it was asked for */
  unsigned long long max_mappings; /* most mappings of the process that this component may use */
  /* MCA parameters. */
  int priority;
  size_t min_bytes;
  unsigned max_allocations;
} mpool_stria_t;

extern mpool_stria_t mpool_stria;
/* The loader of Open MPI finds the component by this name. */
extern const mca_mpool_base_component_t mca_mpool_stria_component;

void mpool_stria_memory_open(void);
void mpool_stria_memory_close(void);

/* The calls of Open MPI's mpool interface, for any thread. Where they return NULL, Open MPI uses malloc. */
void* mpool_stria_alloc(mca_mpool_base_module_t* module, size_t size, size_t align, uint32_t flags);
void* mpool_stria_realloc(mca_mpool_base_module_t* module, void* address, size_t size);
void mpool_stria_free(mca_mpool_base_module_t* module, void* address);

#endif
