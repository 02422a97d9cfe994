/* The thread functions of opal/mca/threads/threads.h over POSIX threads. The README.md beside opal/ says why
 * this file replaces a header of Open MPI. */
#ifndef STRIA_THREADS_PTHREADS_THREADS_H
#define STRIA_THREADS_PTHREADS_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void) {
  (void)sched_yield();
}

#endif
