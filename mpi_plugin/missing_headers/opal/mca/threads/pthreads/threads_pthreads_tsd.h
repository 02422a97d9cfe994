/* Thread-specific data over POSIX threads, for opal/mca/threads/tsd.h. The README.md beside opal/ says why
 * this file replaces a header of Open MPI.
 */
#ifndef STRIA_THREADS_PTHREADS_TSD_H
#define STRIA_THREADS_PTHREADS_TSD_H

#include <pthread.h>

#include "opal/constants.h"

typedef pthread_key_t opal_tsd_key_t;

static inline int opal_tsd_set(opal_tsd_key_t key, void* value) {
  return 0 == pthread_setspecific(key, value) ? OPAL_SUCCESS : OPAL_ERR_IN_ERRNO;
}

static inline int opal_tsd_get(opal_tsd_key_t key, void** value) {
  *value = pthread_getspecific(key);
  return OPAL_SUCCESS;
}

#endif
