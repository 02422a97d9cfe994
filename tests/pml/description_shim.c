/* The only file of the test that includes Open MPI's internal headers. */
#include "description_shim.h"

#include "mpi_plugin/pml/description.h"
#include "mpi_plugin/pml/memory.h"

stria_layout_t* shim_layout(MPI_Datatype type) {
  return pml_stria_layout_of(&type->super);
}

/* Stand in for the component, which has no accelerator here, and for its cache: the description is asked for
 * its path only. */
pml_stria_module_t pml_stria;

int pml_stria_check_memory(const void* memory) {
  (void)memory;
  return OMPI_SUCCESS;
}

const stria_layout_t* pml_stria_layout(ompi_datatype_t* type) {
  (void)type;
  return NULL;
}

int shim_contiguous(MPI_Datatype type, size_t count, int64_t* first, uint64_t* bytes) {
  pml_stria_memory_t memory;
  if (OMPI_SUCCESS != pml_stria_describe(NULL, count, type, &memory)) return 0;
  *first = (int64_t)(intptr_t)memory.base;
  *bytes = memory.count;
  return 1;
}
