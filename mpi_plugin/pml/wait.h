/* How a blocking call waits when there are no threads: it polls the worker, and now and then calls
 * opal_progress(), which lets everything else in Open MPI run. Where Open MPI was told that there are more
 * ranks than cores, opal_progress() also yields the core.
 */
#ifndef PML_STRIA_WAIT_H
#define PML_STRIA_WAIT_H

#include "pml_stria.h"

#include "opal/runtime/opal_progress.h"

/* One poll in so many is a call of opal_progress(), which costs about as much as ten polls of the worker. */
#define PML_STRIA_POLLS 32u

/* Waits until `op` has ended, and sets `info`. */
static inline void pml_stria_wait(const stria_request_t* op, stria_info_t* info) {
  const unsigned polls = opal_progress_yield_when_idle ? 4u : PML_STRIA_POLLS; /* a power of two */
  for (unsigned poll = 1; STRIA_IN_PROGRESS == stria_request_test(op, info); ++poll) {
    if (0 == (poll & (polls - 1))) {
      opal_progress();
    } else {
      (void)stria_worker_progress(pml_stria.worker);
    }
  }
}

#endif
