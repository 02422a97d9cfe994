/* Tells Open MPI 5.0 how a peer is reached, for the table of a job's connections that it prints. */
#include "pml_stria.h"

#include <stdlib.h>

mca_pml_transports_t* pml_stria_get_transports(ompi_communicator_t* comm, int rank) {
  const ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
  stria_endpoint_t* endpoint = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML];
  stria_endpoint_state_t state = {.size = sizeof state};
  if (NULL == endpoint || STRIA_OK != stria_endpoint_info(endpoint, &state) || !state.connected) return NULL;
  mca_pml_transports_t* answer = malloc(sizeof *answer);
  mca_pml_transport_entry_t* entry = malloc(sizeof *entry);
  if (NULL == answer || NULL == entry) {
    free(answer);
    free(entry);
    return NULL;
  }
  *entry = (mca_pml_transport_entry_t){.transport_name = state.provider, .device_name = state.path};
  *answer = (mca_pml_transports_t){.count = 1, .entries = entry};
  return answer;
}
