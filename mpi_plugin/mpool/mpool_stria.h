/* MPI_Alloc_mem out of memory that peers map.
 *
 * Open MPI asks every component of the mpool framework for its priority at each MPI_Alloc_mem (query), takes
 * the highest, and lets that one allocate; when it gives nothing, Open MPI takes malloc. So "no" is always a
 * safe answer here, and is given whenever pml stria is not the layer that carries this job's messages.
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

/* Freed, and kept for the next allocation of about that size. */
typedef struct mpool_stria_spare {
  void* memory;
  size_t size;
} mpool_stria_spare_t;
enum { kMpoolSpares = 8 };

typedef struct mpool_stria {
  mca_mpool_base_module_t super;
  /* Of the component's own: memory outlives the workers of the PML, and is the process's, not a context's. */
  stria_context_t* context;
  bool hopeless;            /* no provider in use has memory that peers map, or there is no context */
  opal_mutex_t lock;        /* guards everything below, and the two above */
  opal_hash_table_t blocks; /* bytes of each allocation, by its address */
  mpool_stria_spare_t spares[kMpoolSpares]; /* oldest first */
  unsigned spare_count;
  unsigned long long allocations;  /* that are not freed */
  unsigned long long bytes;        /* of these */
  unsigned long long refusals;     /* times memory was wanted here and malloc had to give it */
  unsigned long long max_mappings; /* of the process that may be allocations */
  /* MCA parameters. */
  int priority;
  size_t min_bytes;
  unsigned max_allocations;
} mpool_stria_t;

extern mpool_stria_t mpool_stria;
/* The name by which the component loader finds it. */
extern const mca_mpool_base_component_t mca_mpool_stria_component;

void mpool_stria_memory_open(void);
void mpool_stria_memory_close(void);

/* NULL: the caller is to take ordinary memory. Any thread. */
void* mpool_stria_alloc(mca_mpool_base_module_t* module, size_t size, size_t align, uint32_t flags);
void* mpool_stria_realloc(mca_mpool_base_module_t* module, void* address, size_t size);
void mpool_stria_free(mca_mpool_base_module_t* module, void* address);

#endif
