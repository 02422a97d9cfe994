/* What the component makes of an MPI type, for a test that sees MPI's public interface only. */
#ifndef STRIA_TESTS_PML_DESCRIPTION_SHIM_H
#define STRIA_TESTS_PML_DESCRIPTION_SHIM_H

#include <mpi.h>

#include "stria/stria.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The layout of one instance; the caller frees it. NULL when it cannot be made. */
stria_layout_t* shim_layout(MPI_Datatype type);
/* True when `count` instances at address 0 are taken for `*bytes` contiguous bytes from `*first` on. */
int shim_contiguous(MPI_Datatype type, size_t count, int64_t* first, uint64_t* bytes);

#ifdef __cplusplus
}
#endif

#endif
