/* Open MPI 5.0. */
#include <stdlib.h>

#include "ompi/mca/bml/base/base.h"
#include "ompi/runtime/params.h"
#include "opal/mca/accelerator/accelerator.h"
#include "opal/mca/accelerator/base/base.h"
#include "release.h"

const char* pml_stria_release_objects(void) {
  /* Open MPI then reads every request as if it were of its own PMLs' class. */
  return ompi_ftmpi_enabled
             ? "fault tolerance (--with-ft ulfm) is not supported with it; leave --with-ft out, or "
               "choose `--mca pml ob1`"
             : NULL;
}

/* Windows of osc/rdma need the byte transfer layers, which 4.1 opens for everyone, and 5.0 to 5.0.8 only with
 * pml ob1. Without them MPI_Win_create fails. */
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

bool pml_stria_has_accelerator(void) {
  return NULL != opal_accelerator.check_addr &&
         0 != strcmp("null", opal_accelerator_base_selected_component.base_version.mca_component_name);
}

bool pml_stria_is_device_memory(const void* memory) {
  int device = 0;
  uint64_t flags = 0;
  return opal_accelerator.check_addr(memory, &device, &flags) > 0;
}
