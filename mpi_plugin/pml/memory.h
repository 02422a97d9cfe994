/* Translates the buffer, count and datatype of an MPI call to stria's base, layout and count. */
#ifndef PML_STRIA_MEMORY_H
#define PML_STRIA_MEMORY_H

#include "pml_stria.h"

typedef struct pml_stria_memory {
  void* base;
  const stria_layout_t* layout; /* belongs to the datatype; NULL: contiguous memory */
  uint64_t count;               /* instances of the layout; without a layout, bytes */
} pml_stria_memory_t;

/* Creates the attribute keyval whose delete callback frees the layout of a datatype. Returns an OMPI code. */
int pml_stria_layouts_open(void);
void pml_stria_layouts_close(void);

/* The layout of a committed datatype, made at its first use and kept as long as the datatype. NULL (after a
 * message): the layout cannot be made. */
const stria_layout_t* pml_stria_layout(ompi_datatype_t* type);

/* Checks that the processor can access `memory`. MPI_ERR_BUFFER (after a message): it is memory of an
 * accelerator. */
int pml_stria_check_memory(const void* memory);

/* Describes the memory of an MPI call. Errors (after a message): OMPI_ERR_OUT_OF_RESOURCE, the layout cannot
 * be made; MPI_ERR_BUFFER, the buffer is memory of an accelerator. */
static inline int pml_stria_describe(const void* buf, size_t count, ompi_datatype_t* type,
                                     pml_stria_memory_t* out) {
  const opal_datatype_t* t = &type->super;
  out->base = (char*)buf + t->true_lb;
  out->layout = NULL;
  out->count = count * t->size;
  if (OPAL_UNLIKELY(pml_stria.has_accelerator) && 0 != out->count) {
    const int rc = pml_stria_check_memory(out->base);
    if (OMPI_SUCCESS != rc) return rc;
  }
  /* No layout is needed if one instance is contiguous, and there is no gap between two instances, or there is
   * only one. The datatype's own flag for "no gaps" is not used, because it is wrong in some structures whose
   * lower or upper bound was set. */
  if (OPAL_LIKELY((t->flags & OPAL_DATATYPE_FLAG_CONTIGUOUS) &&
                  (count <= 1 || t->ub - t->lb == (ptrdiff_t)t->size))) {
    return OMPI_SUCCESS;
  }
  if (0 == out->count) return OMPI_SUCCESS;
  out->base = (void*)buf;
  out->count = count;
  out->layout = pml_stria_layout(type);
  return NULL != out->layout ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

#endif
