/* Translates Open MPI's description of a datatype (elements and loops) to a layout. This file depends on no
 * other part of the component, so that it can be tested alone.
 */
#ifndef PML_STRIA_DESCRIPTION_H
#define PML_STRIA_DESCRIPTION_H

#include "opal_config.h"

#include "opal/datatype/opal_datatype.h"
#include "stria/stria.h"

/* Makes a layout of one instance of `type`, in typemap order and with the lower bound and extent of `type`.
 * The caller owns the layout. NULL: the description is not valid, or out of memory; stria_last_error() has
 * the reason. Any thread. */
stria_layout_t* pml_stria_layout_of(const opal_datatype_t* type);

#endif
