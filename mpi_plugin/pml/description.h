/* From Open MPI's description of a type (elements and loops) to a layout. Depends on no other part of the
 * component, so that it can be tested without it.
 */
#ifndef PML_STRIA_DESCRIPTION_H
#define PML_STRIA_DESCRIPTION_H

#include "opal_config.h"

#include "opal/datatype/opal_datatype.h"
#include "stria/stria.h"

/* A layout of one instance of `type`, with its lower bound and extent, in typemap order; the caller owns it.
 * NULL when the description makes no sense or memory ran out; stria_last_error() has the reason. Any thread.
 */
stria_layout_t* pml_stria_layout_of(const opal_datatype_t* type);

#endif
