/* The mpool component: its registration with Open MPI, its answer to Open MPI's query at each MPI_Alloc_mem,
 * and its parameters and performance variables. */
#include <string.h>
#include <strings.h>

#include "mpool_stria.h"
#include "ompi/mca/pml/base/base.h"
#include "opal/constants.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"

mpool_stria_t mpool_stria = {
    .super = {.mpool_component = (mca_mpool_base_component_t*)&mca_mpool_stria_component,
              .mpool_alloc = mpool_stria_alloc,
              .mpool_realloc = mpool_stria_realloc,
              .mpool_free = mpool_stria_free,
              .flags = MCA_MPOOL_FLAGS_MPI_ALLOC_MEM,
              .mpool_allocation_unit = 4096,
              .mpool_name = (char*)"stria"}};

/* Whether this job's messages go through pml stria. False before MPI_Init has selected a PML. */
static bool pml_is_stria(void) {
  return 0 == strcmp("stria", mca_pml_base_selected_component.pmlm_version.mca_component_name);
}

/* Which mpool the hints of an MPI_Alloc_mem ("page_size=2M,mpool=stria") name: none, this one, or another. */
typedef enum wanted { WANTED_ANY, WANTED_THIS, WANTED_OTHER } wanted_t;

static wanted_t wanted_by(const char* hints) {
  static const char kKey[] = "mpool=";
  static const char kName[] = "stria";
  while (NULL != hints && '\0' != *hints) {
    const size_t length = strcspn(hints, ",");
    if (length >= sizeof kKey - 1 && 0 == strncasecmp(hints, kKey, sizeof kKey - 1)) {
      const size_t rest = length - (sizeof kKey - 1);
      const bool same =
          rest == sizeof kName - 1 && 0 == strncasecmp(hints + (sizeof kKey - 1), kName, sizeof kName - 1);
      return same ? WANTED_THIS : WANTED_OTHER;
    }
    hints += length;
    if (',' == *hints) ++hints;
  }
  return WANTED_ANY;
}

/* Called by Open MPI at each MPI_Alloc_mem: offers this mpool with its priority, or declines. */
static int query(const char* hints, int* priority, mca_mpool_base_module_t** module) {
  if (!pml_is_stria()) return OPAL_ERR_NOT_AVAILABLE;
  const wanted_t wanted = wanted_by(hints);
  if (WANTED_OTHER == wanted) return OPAL_ERR_NOT_FOUND;
  if (NULL != priority) *priority = WANTED_THIS == wanted ? 100 : mpool_stria.priority;
  if (NULL != module) *module = &mpool_stria.super;
  return OPAL_SUCCESS;
}

/* ---- parameters and performance variables ---- */

static void register_counter(const char* name, const char* text, int var_class, unsigned long long* value) {
  (void)mca_base_component_pvar_register(
      &mca_mpool_stria_component.mpool_version, name, text, OPAL_INFO_LVL_4, var_class,
      MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
      MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, NULL, NULL, NULL, value);
}

static int register_variables(void) {
  mpool_stria.priority = 60;
  (void)mca_base_component_var_register(
      &mca_mpool_stria_component.mpool_version, "priority",
      "Priority of memory that peers map in MPI_Alloc_mem; malloc has 50. Without pml stria it is never "
      "offered.",
      MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, OPAL_INFO_LVL_1, MCA_BASE_VAR_SCOPE_READONLY, &mpool_stria.priority);
  mpool_stria.min_bytes = 4096;
  (void)mca_base_component_var_register(
      &mca_mpool_stria_component.mpool_version, "min_bytes",
      "Smaller allocations are ordinary memory: each takes whole pages and a descriptor here. Unit: bytes.",
      MCA_BASE_VAR_TYPE_SIZE_T, NULL, 0, 0, OPAL_INFO_LVL_1, MCA_BASE_VAR_SCOPE_READONLY,
      &mpool_stria.min_bytes);
  mpool_stria.max_allocations = 0;
  (void)mca_base_component_var_register(&mca_mpool_stria_component.mpool_version, "max_allocations",
                                        "With so many at a time, further ones are ordinary memory: each "
                                        "takes a descriptor and a mapping of the process. 0: a quarter of "
                                        "the descriptors it may have. Never more than a quarter of "
                                        "vm.max_map_count.",
                                        MCA_BASE_VAR_TYPE_UNSIGNED_INT, NULL, 0, 0, OPAL_INFO_LVL_1,
                                        MCA_BASE_VAR_SCOPE_READONLY, &mpool_stria.max_allocations);
  register_counter("allocations", "Allocations that peers can map, not freed yet", MCA_BASE_PVAR_CLASS_LEVEL,
                   &mpool_stria.allocations);
  register_counter("bytes", "Bytes of these", MCA_BASE_PVAR_CLASS_LEVEL, &mpool_stria.bytes);
  register_counter("refusals", "Times that malloc had to give memory that peers should have mapped",
                   MCA_BASE_PVAR_CLASS_COUNTER, &mpool_stria.refusals);
  return OPAL_SUCCESS;
}

static int open_component(void) {
  mpool_stria_memory_open();
  return OPAL_SUCCESS;
}

static int close_component(void) {
  mpool_stria_memory_close();
  return OPAL_SUCCESS;
}

__attribute__((visibility("default"))) const mca_mpool_base_component_t mca_mpool_stria_component = {
    .mpool_version = {STRIA_OMPI_MPOOL_VERSION, .mca_component_name = "stria",
                      MCA_BASE_MAKE_VERSION(component, STRIA_VERSION_MAJOR, STRIA_VERSION_MINOR,
                                            STRIA_VERSION_PATCH),
                      .mca_open_component = open_component, .mca_close_component = close_component,
                      .mca_register_component_params = register_variables},
    .mpool_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
    .mpool_query = query};
