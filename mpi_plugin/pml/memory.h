/* What a call's (buffer, count, type) is to stria: a base, a layout or none, and a count. */
#ifndef PML_STRIA_MEMORY_H
#define PML_STRIA_MEMORY_H

#include "pml_stria.h"

typedef struct pml_stria_memory {
  void* base;
  const stria_layout_t* layout; /* NULL: `count` bytes; else borrowed from the type */
  uint64_t count;
} pml_stria_memory_t;

/* The keyval whose delete callback frees a type's layout. Errors: an OMPI code. */
int pml_stria_layouts_open(void);
void pml_stria_layouts_close(void);

/* The layout of a committed type, made at its first use and kept with it. NULL (after a message) on failure.
 */
const stria_layout_t* pml_stria_layout(ompi_datatype_t* type);

/* OMPI_SUCCESS: the processor may load from and store to `memory`. MPI_ERR_BUFFER (after a message): it is an
 * accelerator's. */
int pml_stria_check_memory(const void* memory);

/* Errors (after a message): OMPI_ERR_OUT_OF_RESOURCE, the layout cannot be made; MPI_ERR_BUFFER, memory of an
 * accelerator. */
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
  /* Contiguous in itself, and no gap between two of them (or only one). The type's own flag for "no gaps" is
   * not asked: some structures with a foreign lower or upper bound carry it wrongly. */
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
