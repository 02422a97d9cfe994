/* Hides the differences between the releases of Open MPI that the components are built for, 4.1 and 5.0. No
 * other file of the components tests for the release. pml/release_4_1.c and pml/release_5_0.c contain what
 * the component does in one release only.
 */
#ifndef STRIA_MPI_COMPAT_H
#define STRIA_MPI_COMPAT_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/version.h"
#include "opal/runtime/opal.h"

#if OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION == 1

#include "opal/mca/pmix/pmix.h"
#include "opal/threads/mutex.h"

#define STRIA_OMPI_RELEASE "4.1"
#define STRIA_OMPI_PML_VERSION MCA_PML_BASE_VERSION_2_0_0
#define STRIA_OMPI_MPOOL_VERSION MCA_MPOOL_BASE_VERSION_3_0_0
#define STRIA_OMPI_PML_FLAGS 0
/* Initialises pml_get_transports, a member that the PML's table has in 5.0 only. */
#define STRIA_OMPI_GET_TRANSPORTS(function)
/* The scope of what is published in the modex: other jobs can read it, too. */
#define STRIA_OMPI_FOR_ALL_JOBS OPAL_PMIX_GLOBAL

/* A number for a communicator that is the same at both ends of a message. */
static inline uint32_t stria_ompi_context(const ompi_communicator_t* comm) {
  return comm->c_contextid;
}

/* A copy callback for a datatype's attribute: a duplicate of the datatype does not inherit the attribute.
 * Open MPI gives the parameters, more than five. */
static inline int stria_ompi_do_not_copy(ompi_datatype_t* type, int key, void* extra, void* value, void* copy,
                                         int* copied, ompi_datatype_t* duplicate) {
  (void)type, (void)key, (void)extra, (void)value, (void)copy, (void)duplicate;
  *copied = 0;
  return MPI_SUCCESS;
}

#elif OMPI_MAJOR_VERSION == 5 && OMPI_MINOR_VERSION == 0

#include "opal/mca/pmix/pmix-internal.h"
#include "opal/mca/threads/mutex.h"

#define STRIA_OMPI_RELEASE "5.0"
#define STRIA_OMPI_PML_VERSION MCA_PML_BASE_VERSION_2_1_0
#define STRIA_OMPI_MPOOL_VERSION MCA_MPOOL_BASE_VERSION_3_1_0
#define STRIA_OMPI_PML_FLAGS MCA_PML_BASE_FLAG_SUPPORTS_EXT_CID
#define STRIA_OMPI_GET_TRANSPORTS(function) .pml_get_transports = function,
#define STRIA_OMPI_FOR_ALL_JOBS PMIX_GLOBAL

/* A number for a communicator that is the same at both ends of a message: its index, which is below 2^31. The
 * index of a communicator that was made from a group differs from rank to rank; instead of it, the id that
 * the launcher gives such a communicator is used, with bit 31 set. The launcher counts these ids downwards
 * from the greatest number, and the id is the same on all ranks. */
static inline uint32_t stria_ompi_context(const ompi_communicator_t* comm) {
  if (OPAL_LIKELY(OMPI_COMM_IS_GLOBAL_INDEX(comm))) return comm->c_index;
  return UINT32_C(0x80000000) | (uint32_t)comm->c_contextid.cid_base;
}

/* As in 4.1: a duplicate of a datatype does not inherit the attribute. Open MPI gives the six parameters. */
static inline int stria_ompi_do_not_copy(ompi_datatype_t* type, int key, void* extra, void* value, void* copy,
                                         int* copied) {
  (void)type, (void)key, (void)extra, (void)value, (void)copy;
  *copied = 0;
  return MPI_SUCCESS;
}

#else
#error "the components are written for Open MPI 4.1 and 5.0; mpi.h is of another release"
#endif

/* Whether the running Open MPI is of the release that the component was built for. Other releases have other
 * layouts of requests and datatypes. */
static inline bool stria_ompi_release_fits(void) {
  static const char kExpected[] = STRIA_OMPI_RELEASE ".";
  return 0 == strncmp(opal_version_string, kExpected, sizeof kExpected - 1);
}

#endif
