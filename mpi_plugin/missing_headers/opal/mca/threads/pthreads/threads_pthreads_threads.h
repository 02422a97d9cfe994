/* Threads over POSIX threads, for opal/mca/threads/threads.h. README.md beside opal/ tells why. */
#ifndef STRIA_THREADS_PTHREADS_THREADS_H
#define STRIA_THREADS_PTHREADS_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void) {
  (void)sched_yield();
}

#endif
