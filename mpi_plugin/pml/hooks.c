/* Uses Open MPI's memory hooks: its component memory/patcher patches munmap, mremap, madvise, brk and shmat
 * in the C library, and calls back before memory is given back to the system. */
#include "hooks.h"

#include "opal/mca/base/mca_base_framework.h"
#include "opal/mca/memory/base/base.h"
#include "opal/memoryhooks/memory.h"
#include "stria/stria.h"

static void released(void* memory, size_t bytes, void* unused, bool from_allocator) {
  (void)unused;
  (void)from_allocator;
  stria_memory_released(memory, bytes);
}

static stria_status_t install(void) {
  const int wanted = OPAL_MEMORY_FREE_SUPPORT | OPAL_MEMORY_MUNMAP_SUPPORT;
  if (OPAL_SUCCESS != mca_base_framework_open(&opal_memory_base_framework, 0)) return STRIA_ERR_UNSUPPORTED;
  if (wanted == (wanted & opal_mem_hooks_support_level()) &&
      OPAL_SUCCESS == opal_mem_hooks_register_release(released, NULL))
    return STRIA_OK;
  (void)mca_base_framework_close(&opal_memory_base_framework);
  return STRIA_ERR_UNSUPPORTED;
}

static void uninstall(void) {
  (void)opal_mem_hooks_unregister_release(released);
  (void)mca_base_framework_close(&opal_memory_base_framework);
}

void pml_stria_hooks_open(void) {
  const stria_memory_hooks_t hooks = {.size = sizeof hooks, .install = install, .remove = uninstall};
  (void)stria_set_memory_hooks(&hooks);
}

void pml_stria_hooks_close(void) {
  (void)stria_set_memory_hooks(NULL);
}
