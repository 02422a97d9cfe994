/* Makes the layout of each datatype once and keeps it in the datatype's pml_data. When a datatype is freed,
 * Open MPI calls only the delete callbacks of its attributes, so a datatype with a layout gets an attribute.
 * Predefined datatypes (some have gaps) live as long as Open MPI; their layouts are in a list here and are
 * freed when the component closes.
 */
#include "memory.h"

#include <stdlib.h>

#include "description.h"
#include "ompi/attribute/attribute.h"
#include "release.h"

/* A predefined datatype that has a layout. */
typedef struct permanent {
  struct permanent* next;
  ompi_datatype_t* type;
} permanent_t;

static permanent_t* permanents;
static int keyval = MPI_KEYVAL_INVALID;

/* The delete callback of the attribute: frees the layout of a datatype that is being freed. */
static int type_is_freed(ompi_datatype_t* type, int key, void* value, void* extra) {
  (void)key;
  (void)extra;
  type->pml_data = 0;
  stria_layout_free((stria_layout_t*)value);
  return MPI_SUCCESS;
}

int pml_stria_layouts_open(void) {
  /* A duplicate of a datatype does not inherit the attribute: it gets its own layout when it is first used.
   */
  const ompi_attribute_fn_ptr_union_t copy = {.attr_datatype_copy_fn = stria_ompi_do_not_copy};
  const ompi_attribute_fn_ptr_union_t destroy = {.attr_datatype_delete_fn = type_is_freed};
  return ompi_attr_create_keyval(TYPE_ATTR, copy, destroy, &keyval, NULL, 0, NULL);
}

void pml_stria_layouts_close(void) {
  for (permanent_t* p = permanents; NULL != p;) {
    permanent_t* next = p->next;
    stria_layout_free((stria_layout_t*)(uintptr_t)p->type->pml_data);
    p->type->pml_data = 0;
    free(p);
    p = next;
  }
  permanents = NULL;
  if (MPI_KEYVAL_INVALID != keyval) (void)ompi_attr_free_keyval(TYPE_ATTR, &keyval, false);
  keyval = MPI_KEYVAL_INVALID;
}

/* Makes sure that the layout is freed together with its datatype, or, for a predefined datatype, when the
 * component closes. False: out of memory. */
static bool keep(ompi_datatype_t* type, stria_layout_t* layout) {
  if (!ompi_datatype_is_predefined(type)) {
    return OMPI_SUCCESS == ompi_attr_set_c(TYPE_ATTR, type, &type->d_keyhash, keyval, layout, false);
  }
  permanent_t* p = malloc(sizeof *p);
  if (NULL == p) return false;
  p->type = type;
  OPAL_THREAD_LOCK(&pml_stria.lock);
  p->next = permanents;
  permanents = p;
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
  return true;
}

const stria_layout_t* pml_stria_layout(ompi_datatype_t* type) {
  uint64_t known = __atomic_load_n(&type->pml_data, __ATOMIC_ACQUIRE);
  if (OPAL_LIKELY(0 != known)) return (const stria_layout_t*)(uintptr_t)known;

  stria_layout_t* layout = pml_stria_layout_of(&type->super);
  if (NULL == layout) {
    pml_stria_tell(PML_STRIA_EVERY_RANK, "the datatype '%s' (%zu bytes) cannot be described: %s", type->name,
                   type->super.size, stria_last_error());
    return NULL;
  }
  /* Two threads may have made a layout of this datatype at the same time: the one stored first stays. */
  if (!__atomic_compare_exchange_n(&type->pml_data, &known, (uint64_t)(uintptr_t)layout, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    stria_layout_free(layout);
    return (const stria_layout_t*)(uintptr_t)known;
  }
  /* If this fails, the layout stays until the process ends. */
  if (!keep(type, layout))
    pml_stria_tell(PML_STRIA_EVERY_RANK, "out of memory: a datatype's layout will not be freed");
  return layout;
}

int pml_stria_check_memory(const void* memory) {
  if (!pml_stria_is_device_memory(memory)) return OMPI_SUCCESS;
  pml_stria_tell(
      PML_STRIA_EVERY_RANK,
      "the buffer %p is memory of an accelerator, which stria does not move: copy it to memory of the host "
      "first, or choose another layer: `--mca pml ob1`",
      memory);
  return MPI_ERR_BUFFER;
}
