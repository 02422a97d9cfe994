/* Waiting in a blocking call without threads: spin on the worker, and let everything else in Open MPI run now
 * and then (it also gives the core away when it was told that there are more ranks than cores).
 */
#ifndef PML_STRIA_WAIT_H
#define PML_STRIA_WAIT_H

#include "pml_stria.h"

#include "opal/runtime/opal_progress.h"

/* Polls of the worker between two rounds of opal_progress(), which costs about as much as ten polls. */
#define PML_STRIA_POLLS 32u

static inline void pml_stria_wait(const stria_request_t* op, stria_info_t* info) {
  const unsigned polls = opal_progress_yield_when_idle ? 4u : PML_STRIA_POLLS;
  for (unsigned poll = 1; STRIA_IN_PROGRESS == stria_request_test(op, info); ++poll) {
    if (0 == poll % polls) {
      opal_progress();
    } else {
      (void)stria_worker_progress(pml_stria.worker);
    }
  }
}

#endif
