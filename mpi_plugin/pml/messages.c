/* Prints messages for people, and translates stria's statuses to MPI error classes. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "pml_stria.h"

/* Messages go straight to standard error, because Open MPI's own aggregation garbles them when several ranks
 * print at once, with every layer. Which rank prints is decided without communication. */
enum { kMostMessages = 16 }; /* of one process */
/* How long the other ranks wait for the first rank to print a message. */
static const struct timespec kPatience = {.tv_sec = 4, .tv_nsec = 0};

void pml_stria_tell(pml_stria_speaker_t speaker, const char* format, ...) {
  static int told;
  if (PML_STRIA_FIRST_RANK == speaker && 0 != OMPI_PROC_MY_NAME->vpid) {
    /* Such a message announces the end of the job. The first rank has to print it before the end of this
     * process makes the launcher kill the first rank, too. */
    (void)nanosleep(&kPatience, NULL);
    return;
  }
  if (__atomic_fetch_add(&told, 1, __ATOMIC_RELAXED) >= kMostMessages) return;
  char text[1024];
  const int start = snprintf(text, sizeof text, "stria: ");
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text + start, sizeof text - (size_t)start, format, arguments);
  va_end(arguments);
  /* One write, so that the lines of two ranks do not mix. */
  (void)fprintf(stderr, "%s\n", text);
}

int pml_stria_mpi_error(stria_status_t status) {
  switch (status) {
    case STRIA_OK:
    case STRIA_ERR_CANCELLED: /* the MPI status says it, not an error */
      return MPI_SUCCESS;
    case STRIA_ERR_TRUNCATED:
      return MPI_ERR_TRUNCATE;
    case STRIA_ERR_NO_RESOURCE:
      return MPI_ERR_NO_MEM;
    case STRIA_ERR_INVALID:
      return MPI_ERR_ARG;
    case STRIA_ERR_UNSUPPORTED:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    default:
      return MPI_ERR_OTHER;
  }
}

int pml_stria_outcome(const stria_info_t* info) {
  if (OPAL_UNLIKELY(STRIA_ERR_UNREACHABLE == info->status)) {
    (void)pml_stria_tell_unreached(NULL, info->source,
                                   "no path leads there; the lines before this one say what was tried");
  }
  return pml_stria_mpi_error(info->status);
}

int pml_stria_refused(stria_status_t status, const char* what, const stria_endpoint_t* peer) {
  if (STRIA_ERR_UNREACHABLE == status && NULL != peer &&
      pml_stria_tell_unreached(peer, 0, stria_last_error()))
    return pml_stria_mpi_error(status);
  if (STRIA_ERR_PEER_FAILED != status)
    pml_stria_tell(PML_STRIA_EVERY_RANK, "%s was refused (%s): %s", what, stria_status_string(status),
                   stria_last_error());
  return pml_stria_mpi_error(status);
}
