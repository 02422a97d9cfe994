/* How a configuration variable is described: by stria's own parts, and by a provider in its table
 * (provider.h), so that `stria_info --config`, stria_config_get(), the MCA parameters and the checks of
 * values know it.
 */
#ifndef STRIA_VARIABLE_H
#define STRIA_VARIABLE_H

#include <stdint.h>

#include "stria/stria.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a value is. */
#define STRIA_VARIABLE_TEXT 0u   /* any text */
#define STRIA_VARIABLE_CHOICE 1u /* one of `choices` */
#define STRIA_VARIABLE_NUMBER 2u /* a whole number from `minimum` to `maximum` */
#define STRIA_VARIABLE_BYTES 3u  /* the same, and it may end in K, M or G (1024, 1024^2, 1024^3) */

/* Constant. No text is NULL. */
typedef struct stria_variable {
  const char* name; /* of a provider: STRIA_, the provider's name in capitals, and more: "STRIA_SHM_CELLS" */
  uint32_t kind;
  uint32_t level;            /* stria_config_level_t */
  const char* default_value; /* as a user would write it; an allowed value */
  const char* unit;          /* "bytes", "milliseconds"; "" where there is none */
  const char* choices;       /* "auto|on|off"; "" unless it is a choice */
  int64_t minimum;
  int64_t maximum;
  const char* meaning; /* what it controls, when to change it, what happens then; whole sentences */
} stria_variable_t;

#ifdef __cplusplus
}
#endif
#endif
