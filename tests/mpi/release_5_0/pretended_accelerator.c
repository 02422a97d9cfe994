/* An accelerator of Open MPI's whose memory is a fixed range of addresses; the program under test makes it
 * memory that the processor cannot reach. All else is as without an accelerator. */
#include "opal_config.h"

#include "opal/mca/accelerator/accelerator.h"
#include "opal/mca/accelerator/base/base.h"
#include "pretended_memory.h"

extern opal_accelerator_base_module_t opal_accelerator_null_module;

static int check_addr(const void* memory, int* device, uint64_t* flags) {
  const uint64_t at = (uint64_t)(uintptr_t)memory;
  *device = 0;
  *flags = 0;
  return at >= PRETENDED_MEMORY && at - PRETENDED_MEMORY < PRETENDED_BYTES;
}

static opal_accelerator_base_module_t* init(void) {
  static opal_accelerator_base_module_t module;
  module = opal_accelerator_null_module;
  module.check_addr = check_addr;
  return &module;
}

static void finalize(opal_accelerator_base_module_t* module) {
  (void)module;
}

extern const opal_accelerator_base_component_t mca_accelerator_pretended_component;
__attribute__((visibility("default")))
const opal_accelerator_base_component_t mca_accelerator_pretended_component = {
    .base_version = {OPAL_ACCELERATOR_BASE_VERSION_1_0_0, .mca_component_name = "pretended",
                     MCA_BASE_MAKE_VERSION(component, 1, 0, 0)},
    .base_data = {.param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .accelerator_init = init,
    .accelerator_finalize = finalize};
