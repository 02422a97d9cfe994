/* A process's card in the modex: who it is for people, and where its worker is.
 *
 *   | name of its host, ends with 0 | address |
 *
 * Open MPI knows the host names of a process's own job only. The parent of a spawned process, or one that it
 * connects to, is of another job; its card is the one thing that is certain to be there.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/util/proc.h"
#include "pml_stria.h"

enum { kLongestHost = 255 }; /* as POSIX bounds it; a longer one is cut off */

int pml_stria_publish_card(void) {
  unsigned char card[kLongestHost + 1 + STRIA_ADDRESS_MAX];
  const size_t host = strnlen(ompi_process_info.nodename, kLongestHost);
  memcpy(card, ompi_process_info.nodename, host);
  card[host] = 0;
  size_t address = STRIA_ADDRESS_MAX;
  if (STRIA_OK != stria_worker_address(pml_stria.worker, card + host + 1, &address)) return OMPI_ERROR;
  int rc = OMPI_SUCCESS;
  OPAL_MODEX_SEND(rc, STRIA_OMPI_FOR_ALL_JOBS, &mca_pml_stria_component.pmlm_version, card,
                  host + 1 + address);
  return rc;
}

bool pml_stria_read_card(const ompi_proc_t* proc, pml_stria_card_t* out) {
  void* memory = NULL;
  size_t bytes = 0;
  int rc = OMPI_SUCCESS;
  OPAL_MODEX_RECV(rc, &mca_pml_stria_component.pmlm_version, &proc->super.proc_name, &memory, &bytes);
  if (OMPI_SUCCESS != rc || NULL == memory) return false;
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
