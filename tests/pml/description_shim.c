/* The only file of the test that includes Open MPI's internal headers. */
#include "description_shim.h"

#include "mpi_plugin/pml/description.h"
#include "mpi_plugin/pml/memory.h"

stria_layout_t* shim_layout(MPI_Datatype type) {
  return pml_stria_layout_of(&type->super);
}

/* Stands in for the component's cache: the description is asked for its path only. */
const stria_layout_t* pml_stria_layout(ompi_datatype_t* type) {
  (void)type;
  return NULL;
}

int shim_contiguous(MPI_Datatype type, size_t count, int64_t* first, uint64_t* bytes) {
  pml_stria_memory_t memory;
  if (!pml_stria_describe(NULL, count, type, &memory)) return 0;
  *first = (int64_t)(intptr_t)memory.base;
  *bytes = memory.count;
  return 1;
}
