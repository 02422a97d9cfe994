/* Open MPI 4.1. */
#include "release.h"

const char* pml_stria_release_objects(void) {
  return NULL;
}

void pml_stria_release_open(bool enable_progress_threads, bool enable_mpi_threads) {
  (void)enable_progress_threads;
  (void)enable_mpi_threads;
}

void pml_stria_release_close(void) {}

/* A process has one turn in this release. */
void pml_stria_release_commit(void) {}

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
