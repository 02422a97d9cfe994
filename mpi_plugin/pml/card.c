/* The card that each process publishes in Open MPI's modex: the name of its host, for messages to people, and
 * the address of its worker.
 *
 *   | name of the host, ends with 0 | address |
 *
 * When the last MPI session of a process ends, the process closes its worker; for its next session it opens
 * another one. The time of one worker is called a turn. Open MPI begins a turn on all processes of a job
 * together, by a fence. PMIx may end that fence without a process that is still leaving the turn before, or
 * may never end it (openpmix issues 3931 and 4113). So the cards of later turns have names of their own, and
 * a process waits for the cards of all processes before the fence begins.
 *
 * The host's name is in the card because Open MPI knows the host names of a process's own job only. The
 * parent of a spawned process, or a process that it connects to, belongs to another job.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "opal/util/proc.h"
#include "release.h"

enum {
  kLongestHost = 255,     /* POSIX's limit for a host name; a longer one is cut off */
  kWaitSeconds = 60,      /* for the card of a process that has not begun this process's turn */
  kAskAgainMicros = 1000, /* between two questions for that card */
  kNameBytes = 128
};

/* The number of cards that this process has published: the number of the present turn. It survives between
 * two turns because the component stays loaded (-z nodelete). */
static unsigned turn;

/* The name of a card of the present turn. Only processes of the same job look for it, and they have the same
 * number. */
static void name_of_turn(char name[kNameBytes]) {
  (void)snprintf(name, kNameBytes, "stria.card.%u", turn);
}

int pml_stria_publish_card(void) {
  unsigned char card[kLongestHost + 1 + STRIA_ADDRESS_MAX];
  const size_t host = strnlen(ompi_process_info.nodename, kLongestHost);
  memcpy(card, ompi_process_info.nodename, host);
  card[host] = 0;
  size_t address = STRIA_ADDRESS_MAX;
  if (STRIA_OK != stria_worker_address(pml_stria.worker, card + host + 1, &address)) return OMPI_ERROR;
  const size_t bytes = host + 1 + address;
  int rc = OMPI_SUCCESS;
  OPAL_MODEX_SEND(rc, STRIA_OMPI_FOR_ALL_JOBS, &mca_pml_stria_component.pmlm_version, card, bytes);
  if (++turn == 1 || OMPI_SUCCESS != rc) return rc;
  char name[kNameBytes];
  name_of_turn(name);
  OPAL_MODEX_SEND_STRING(rc, STRIA_OMPI_FOR_ALL_JOBS, name, card, bytes);
  return rc;
}

/* Fetches the card that a process of this job has published in the present turn; waits for it. False (after a
 * message): the process has not begun this turn in time. */
static bool fetch_of_turn(const opal_process_name_t* process, void** memory, size_t* bytes) {
  char name[kNameBytes];
  name_of_turn(name);
  const time_t begun = time(NULL);
  for (;;) {
    int rc = OMPI_SUCCESS;
    OPAL_MODEX_RECV_STRING(rc, name, process, memory, bytes);
    if (OMPI_SUCCESS == rc) return true;
    if (time(NULL) - begun > kWaitSeconds) break;
    (void)usleep(kAskAgainMicros);
  }
  pml_stria_tell(PML_STRIA_EVERY_RANK,
                 "process %s has not begun its session number %u within %d s of this process's",
                 OMPI_NAME_PRINT(process), turn, kWaitSeconds);
  return false;
}

bool pml_stria_await_turn(void) {
  if (turn == 1) return true;
  pml_stria_release_commit();
  for (uint32_t rank = 0; rank < ompi_process_info.num_procs; ++rank) {
    const opal_process_name_t process = {.jobid = OMPI_PROC_MY_NAME->jobid, .vpid = rank};
    void* memory = NULL;
    size_t bytes = 0;
    if (!fetch_of_turn(&process, &memory, &bytes)) return false;
    free(memory);
  }
  return true;
}

/* Fetches the card of a process: of this job in the present turn, or of another job. False: there is none. */
static bool fetch(const opal_process_name_t* process, void** memory, size_t* bytes) {
  if (turn > 1 && process->jobid == OMPI_PROC_MY_NAME->jobid) return fetch_of_turn(process, memory, bytes);
  int rc = OMPI_SUCCESS;
  OPAL_MODEX_RECV(rc, &mca_pml_stria_component.pmlm_version, process, memory, bytes);
  return OMPI_SUCCESS == rc;
}

bool pml_stria_read_card(const ompi_proc_t* proc, pml_stria_card_t* out) {
  void* memory = NULL;
  size_t bytes = 0;
  if (!fetch(&proc->super.proc_name, &memory, &bytes) || NULL == memory) return false;
  const unsigned char* end = memchr(memory, 0, bytes);
  if (NULL == end) {
    free(memory);
    return false;
  }
  out->host = memory;
  out->address = end + 1;
  out->address_bytes = bytes - (size_t)(end + 1 - (const unsigned char*)memory);
  return true;
}

void pml_stria_free_card(pml_stria_card_t* card) {
  free(card->host);
}
