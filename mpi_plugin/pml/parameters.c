/* Makes the library's configuration variables MCA parameters, and its counters MPI_T performance variables.
 * The parameter of a variable is called pml_stria_<name of the variable without STRIA_, in lower case>. A
 * parameter that is set wins over the environment variable; one that is not set has the value of the
 * environment variable. The providers that pml_stria_providers names bring variables of their own.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"
#include "pml_stria.h"

typedef struct parameter {
  struct parameter* next;
  int index;      /* of the MCA variable */
  char* value;    /* storage of the MCA variable, so a parameter must not move in memory */
  char* variable; /* "STRIA_EAGER_LIMIT" */
} parameter_t;

static parameter_t* parameters; /* in the order of their registration */

/* The parameter of a configuration variable; made, at the end of the list, if there is none. NULL: out of
 * memory. */
static parameter_t* parameter_of(const char* variable) {
  parameter_t** place = &parameters;
  for (; NULL != *place; place = &(*place)->next) {
    if (0 == strcmp((*place)->variable, variable)) return *place;
  }
  parameter_t* made = calloc(1, sizeof *made);
  char* name = strdup(variable);
  if (NULL == made || NULL == name) {
    free(made);
    free(name);
    return NULL;
  }
  made->variable = name;
  made->index = -1;
  *place = made;
  return made;
}

/* Registers the MCA parameter of a configuration variable. `out` has its storage. */
static void register_parameter(const stria_config_variable_t* variable, stria_config_level_t level,
                               parameter_t* out) {
  static const char kPrefix[] = "STRIA_";
  char name[128];
  char text[1024];
  const char* tail = variable->name;
  if (0 == strncmp(tail, kPrefix, sizeof kPrefix - 1)) tail += sizeof kPrefix - 1;
  size_t n = 0;
  for (; '\0' != tail[n] && n + 1 < sizeof name; ++n) name[n] = (char)tolower((unsigned char)tail[n]);
  name[n] = '\0';
  /* MCA shows a value from the environment as the default, so the text says that it is from there. */
  const bool from_environment = 0 == strcmp("environment", variable->origin);
  (void)snprintf(text, sizeof text, "%s%s%s%s Wins over the environment variable %s%s.", variable->meaning,
                 '\0' != variable->unit[0] ? " Unit: " : "", variable->unit,
                 '\0' != variable->unit[0] ? "." : "", variable->name,
                 from_environment ? ", which is set and gives the default shown" : "");
  /* MCA makes its own copy of the default. */
  out->value = (char*)variable->value;
  out->index = mca_base_component_var_register(&mca_pml_stria_component.pmlm_version, name, text,
                                               MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0,
                                               STRIA_CONFIG_USER == level ? OPAL_INFO_LVL_1 : OPAL_INFO_LVL_9,
                                               MCA_BASE_VAR_SCOPE_READONLY, &out->value);
}

/* Sets the configuration variable of a parameter that the user has set. False: the library refuses the value.
 */
static bool apply(const parameter_t* parameter) {
  mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
  if (parameter->index < 0 || NULL == parameter->value ||
      OPAL_SUCCESS != mca_base_var_get_value(parameter->index, NULL, &source, NULL) ||
      MCA_BASE_VAR_SOURCE_DEFAULT == source) {
    return true;
  }
  return STRIA_OK == stria_config_set(parameter->variable, parameter->value, "MCA parameter");
}

/* Whether a variable decides which providers are loaded, and so which further variables there are. */
static bool chooses_providers(const char* variable) {
  return 0 == strcmp("STRIA_PROVIDERS", variable) || 0 == strcmp("STRIA_PROVIDER_PATH", variable);
}

/* If `choosing`, registers and applies the variables that choose providers; otherwise registers all others.
 */
static int register_variables(bool choosing) {
  for (size_t i = 0; i < stria_config_count(); ++i) {
    stria_config_variable_t variable;
    if (STRIA_OK != stria_config_get(i, &variable) || choosing != chooses_providers(variable.name)) continue;
    parameter_t* parameter = parameter_of(variable.name);
    if (NULL == parameter) return OMPI_ERR_OUT_OF_RESOURCE;
    register_parameter(&variable, stria_config_level(i), parameter);
    /* A refused value is reported later: pml_stria_apply_parameters() applies all parameters again. */
    if (choosing) (void)apply(parameter);
  }
  return OMPI_SUCCESS;
}

static void register_integer(const char* name, const char* text, mca_base_var_info_lvl_t level,
                             int* storage) {
  (void)mca_base_component_var_register(&mca_pml_stria_component.pmlm_version, name, text,
                                        MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, level, MCA_BASE_VAR_SCOPE_READONLY,
                                        storage);
}

/* ---- performance variables ---- */

typedef struct counter {
  const char* name;
  const char* text;
  int var_class;
  size_t offset; /* in stria_counters_t */
} counter_t;

#define COUNTER(field, var_class, text) \
  { #field, text, var_class, offsetof(stria_counters_t, field) }
static const counter_t kCounters[] = {
    COUNTER(sent_pio, MCA_BASE_PVAR_CLASS_COUNTER, "Messages stored inline through a PIO window"),
    COUNTER(sent_buffered, MCA_BASE_PVAR_CLASS_COUNTER, "Messages packed into transport memory"),
    COUNTER(sent_rendezvous, MCA_BASE_PVAR_CLASS_COUNTER, "Messages announced first (rendezvous)"),
    COUNTER(copied_own, MCA_BASE_PVAR_CLASS_COUNTER, "Messages of a process to itself, copied at once"),
    COUNTER(received_eager, MCA_BASE_PVAR_CLASS_COUNTER, "Messages received with their header"),
    COUNTER(received_get, MCA_BASE_PVAR_CLASS_COUNTER, "Rendezvous moved by a get through a key"),
    COUNTER(received_mapped, MCA_BASE_PVAR_CLASS_COUNTER, "Rendezvous moved by loads from mapped memory"),
    COUNTER(received_mapped_both, MCA_BASE_PVAR_CLASS_COUNTER,
            "Rendezvous between mapped memories, of which the receiver loads one part and the sender stores "
            "the other"),
    COUNTER(received_pipeline, MCA_BASE_PVAR_CLASS_COUNTER, "Rendezvous moved by the packed pipeline"),
    COUNTER(rail_pieces, MCA_BASE_PVAR_CLASS_COUNTER,
            "Pieces of got and packed ones that came by further links to their peer"),
    COUNTER(fallbacks, MCA_BASE_PVAR_CLASS_COUNTER,
            "Peers whose best path was refused at once, and messages for which it was later"),
    COUNTER(unexpected_messages, MCA_BASE_PVAR_CLASS_LEVEL, "Messages in the unexpected queue"),
    COUNTER(unexpected_bytes, MCA_BASE_PVAR_CLASS_LEVEL, "Memory of buffers for unexpected messages, bytes"),
    COUNTER(unexpected_bytes_max, MCA_BASE_PVAR_CLASS_HIGHWATERMARK, "Most memory of such buffers so far"),
    COUNTER(posted_receives, MCA_BASE_PVAR_CLASS_LEVEL, "Receives in the posted queue"),
};

static int read_counter(const mca_base_pvar_t* pvar, void* value, void* object) {
  (void)object;
  const counter_t* counter = pvar->ctx;
  stria_counters_t counters;
  memset(&counters, 0, sizeof counters);
  counters.size = sizeof counters;
  if (NULL != pml_stria.worker) (void)stria_worker_counters(pml_stria.worker, &counters);
  uint64_t number;
  memcpy(&number, (const char*)&counters + counter->offset, sizeof number);
  *(unsigned long long*)value = number;
  return OMPI_SUCCESS;
}

static int read_peers(const mca_base_pvar_t* pvar, void* value, void* object) {
  (void)pvar, (void)object;
  *(unsigned long long*)value = pml_stria_count_peers();
  return OMPI_SUCCESS;
}

static void register_counters(void) {
  (void)mca_base_component_pvar_register(
      &mca_pml_stria_component.pmlm_version, "peers",
      "Processes that the process has opened an endpoint to, at its first message at the latest",
      OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_LEVEL, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
      MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_peers,
      NULL, NULL, NULL);
  for (size_t i = 0; i < sizeof kCounters / sizeof kCounters[0]; ++i) {
    (void)mca_base_component_pvar_register(
        &mca_pml_stria_component.pmlm_version, kCounters[i].name, kCounters[i].text, OPAL_INFO_LVL_4,
        kCounters[i].var_class, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
        MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_counter, NULL, NULL,
        (void*)&kCounters[i]);
  }
}

/* ---- the component's calls ---- */

int pml_stria_register(void) {
  pml_stria.priority = 1;
  register_integer(
      "priority",
      "Priority of stria among the point-to-point layers; ob1 has 20. With `--mca pml stria` it does not "
      "matter.",
      OPAL_INFO_LVL_3, &pml_stria.priority);
  pml_stria.verbose = 0;
  register_integer("verbose",
                   "1: one line per peer, once it is connected, about the path to it; on standard error.",
                   OPAL_INFO_LVL_1, &pml_stria.verbose);
  /* Open MPI may call this twice. Then each parameter is registered again, with the same storage. */
  int done = register_variables(true);
  if (OMPI_SUCCESS == done) done = register_variables(false);
  if (OMPI_SUCCESS != done) return done;
  register_counters();
  return OMPI_SUCCESS;
}

/* Whether ranks yield their core while they wait: the launcher asks for it if there are more ranks than
 * cores. */
static bool cores_are_shared(void) {
  const int index = mca_base_var_find("ompi", "mpi", NULL, "yield_when_idle");
  const bool* yields = NULL;
  return index >= 0 && OPAL_SUCCESS == mca_base_var_get_value(index, &yields, NULL, NULL) && NULL != yields &&
         *yields;
}

/* Sets what depends on the job and was left to the library: STRIA_RNDV_SHARE=auto becomes off if ranks share
 * cores. False: the library refuses it. */
static bool apply_defaults(void) {
  for (size_t i = 0; i < stria_config_count(); ++i) {
    stria_config_variable_t variable;
    if (STRIA_OK == stria_config_get(i, &variable) && 0 == strcmp("STRIA_RNDV_SHARE", variable.name)) {
      return 0 != strcmp("auto", variable.value) || !cores_are_shared() ||
             STRIA_OK == stria_config_set(variable.name, "off", "more ranks than cores");
    }
  }
  return true;
}

bool pml_stria_apply_parameters(void) {
  for (const parameter_t* parameter = parameters; NULL != parameter; parameter = parameter->next) {
    if (!apply(parameter)) return false;
  }
  return apply_defaults();
}

bool pml_stria_was_asked_for(void) {
  const int index = mca_base_var_find("ompi", "pml", NULL, NULL);
  char** choice = NULL;
  if (index < 0 || OPAL_SUCCESS != mca_base_var_get_value(index, &choice, NULL, NULL) || NULL == choice ||
      NULL == *choice) {
    return false;
  }
  return '^' != (*choice)[0] && NULL != strstr(*choice, "stria");
}
