/* Allocates and frees memory that peers can map. The size of each allocation is stored here, because realloc
 * needs it. Memory that an application never frees stays mapped until the process ends, as with malloc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "mpool_stria.h"
#include "opal/util/output.h"

static const size_t kPage = 4096; /* alignment of memory of stria_mem_alloc(), in bytes */

/* The number of mappings that a process may have. */
static unsigned long long most_mappings(void) {
  unsigned long long most = 65530; /* the kernel's default */
  FILE* file = fopen("/proc/sys/vm/max_map_count", "re");
  if (NULL == file) return most;
  if (1 != fscanf(file, "%llu", &most)) most = 65530;
  fclose(file);
  return most;
}

/* The most allocations that may exist at a time. Each takes a file descriptor and a mapping, and most of both
 * are left to the rest of the process: without mappings, no thread can start and no library can be loaded. */
static unsigned long long most_allocations(void) {
  unsigned long long most = mpool_stria.max_allocations;
  struct rlimit limit;
  if (0 == most && 0 == getrlimit(RLIMIT_NOFILE, &limit)) most = limit.rlim_cur / 4;
  return most < mpool_stria.max_mappings ? most : mpool_stria.max_mappings;
}

/* Opens the context at the first call. False: there is none to allocate from. The caller holds the lock. */
static bool ensure_context(void) {
  if (NULL != mpool_stria.context) return true;
  if (mpool_stria.hopeless) return false;
  /* The PML has applied its MCA parameters to the configuration of the whole process, so to this context,
   * too. */
  const stria_context_params_t params = {.size = sizeof params, .name = "mpool stria"};
  if (STRIA_OK == stria_context_open(&params, &mpool_stria.context)) return true;
  mpool_stria.context = NULL;
  mpool_stria.hopeless = true;
  return false;
}

/* Counts a refusal, and logs the first. Returns NULL. */
static void* refuse(const char* why, size_t size) {
  if (0 == mpool_stria.refusals++) {
    opal_output_verbose(MCA_BASE_VERBOSE_WARN, opal_mpool_base_framework.framework_output,
                        "mpool:stria: %zu bytes are taken from malloc: %s", size, why);
  }
  return NULL;
}

/* ---- spares: MPI_Sendrecv_replace allocates a buffer at each call, and so do some programs; to map new
 * memory and fault in its pages costs more than such a message ---- */

static const size_t kSpareMost =
    262144; /* most bytes of a spare; longer memory is unmapped when it is freed */

/* Removes the spare at this index, and returns it. */
static mpool_stria_spare_t take_spare(unsigned at) {
  const mpool_stria_spare_t spare = mpool_stria.spares[at];
  --mpool_stria.spare_count;
  memmove(&mpool_stria.spares[at], &mpool_stria.spares[at + 1],
          (mpool_stria.spare_count - at) * sizeof spare);
  return spare;
}

static void free_oldest_spare(void) {
  (void)stria_mem_free(mpool_stria.context, take_spare(0).memory);
}

static void keep_spare(void* memory, size_t size) {
  if (kMpoolSpares == mpool_stria.spare_count) free_oldest_spare();
  mpool_stria.spares[mpool_stria.spare_count++] = (mpool_stria_spare_t){memory, size};
}

/* Takes the youngest spare of at least `size` bytes, but not much more than twice as many; {NULL, 0}: none.
 */
static mpool_stria_spare_t find_spare(size_t size) {
  for (unsigned at = mpool_stria.spare_count; at-- > 0;) {
    const size_t has = mpool_stria.spares[at].size;
    if (has >= size && has / 2 <= size) return take_spare(at);
  }
  return (mpool_stria_spare_t){NULL, 0};
}

/* ---- */

/* Allocates from a spare or anew. NULL: refused. The caller holds the lock. */
static void* allocate(size_t size) {
  if (!ensure_context()) return refuse("no provider has memory that peers map", size);
  const unsigned long long most = most_allocations();
  while (0 != mpool_stria.spare_count && mpool_stria.allocations + mpool_stria.spare_count >= most) {
    free_oldest_spare();
  }
  if (mpool_stria.allocations >= most) {
    return refuse("there are as many allocations as mpool_stria_max_allocations or vm.max_map_count allow",
                  size);
  }
  const mpool_stria_spare_t spare = find_spare(size);
  void* memory = spare.memory;
  if (NULL != memory) {
    size = spare.size;
  } else {
    const stria_status_t status = stria_mem_alloc(mpool_stria.context, size, &memory);
    if (STRIA_OK != status) {
      if (STRIA_ERR_UNSUPPORTED == status) mpool_stria.hopeless = true;
      return refuse(stria_last_error(), size);
    }
  }
  if (OPAL_SUCCESS !=
      opal_hash_table_set_value_uint64(&mpool_stria.blocks, (uint64_t)(uintptr_t)memory, (void*)size)) {
    (void)stria_mem_free(mpool_stria.context, memory);
    return refuse("out of memory", size);
  }
  ++mpool_stria.allocations;
  mpool_stria.bytes += size;
  return memory;
}

/* The size of an allocation in bytes; 0: the memory is not of this component. The caller holds the lock. */
static size_t size_of(const void* address) {
  void* size = NULL;
  if (OPAL_SUCCESS !=
      opal_hash_table_get_value_uint64(&mpool_stria.blocks, (uint64_t)(uintptr_t)address, &size)) {
    return 0;
  }
  return (size_t)size;
}

/* Ends an allocation: keeps its memory as a spare, or unmaps it. The caller holds the lock. */
static void release(void* address) {
  const size_t size = size_of(address);
  if (0 == size) return;
  (void)opal_hash_table_remove_value_uint64(&mpool_stria.blocks, (uint64_t)(uintptr_t)address);
  --mpool_stria.allocations;
  mpool_stria.bytes -= size;
  if (size <= kSpareMost)
    keep_spare(address, size);
  else
    (void)stria_mem_free(mpool_stria.context, address);
}

void* mpool_stria_alloc(mca_mpool_base_module_t* module, size_t size, size_t align, uint32_t flags) {
  (void)module;
  (void)flags;
  /* Messages out of such small memory hardly ever go by rendezvous, so whole pages and a file descriptor
   * would be wasted on it. */
  if (size < mpool_stria.min_bytes || 0 == size || align > kPage) return NULL;
  opal_mutex_lock(&mpool_stria.lock);
  void* memory = allocate(size);
  opal_mutex_unlock(&mpool_stria.lock);
  return memory;
}

void* mpool_stria_realloc(mca_mpool_base_module_t* module, void* address, size_t size) {
  (void)module;
  opal_mutex_lock(&mpool_stria.lock);
  const size_t before = NULL == address ? 0 : size_of(address);
  void* memory = allocate(0 == size ? 1 : size);
  if (NULL != memory && 0 != before) {
    memcpy(memory, address, before < size ? before : size);
    release(address);
  }
  opal_mutex_unlock(&mpool_stria.lock);
  return memory;
}

void mpool_stria_free(mca_mpool_base_module_t* module, void* address) {
  (void)module;
  opal_mutex_lock(&mpool_stria.lock);
  release(address);
  opal_mutex_unlock(&mpool_stria.lock);
}

void mpool_stria_memory_open(void) {
  OBJ_CONSTRUCT(&mpool_stria.lock, opal_mutex_t);
  OBJ_CONSTRUCT(&mpool_stria.blocks, opal_hash_table_t);
  (void)opal_hash_table_init(&mpool_stria.blocks, 128);
  mpool_stria.max_mappings = most_mappings() / 4;
}

void mpool_stria_memory_close(void) {
  while (0 != mpool_stria.spare_count) free_oldest_spare();
  if (NULL != mpool_stria.context) stria_context_close(mpool_stria.context);
  mpool_stria.context = NULL;
  mpool_stria.hopeless = false;
  OBJ_DESTRUCT(&mpool_stria.blocks);
  OBJ_DESTRUCT(&mpool_stria.lock);
}
