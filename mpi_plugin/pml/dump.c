/* Prints the state of a communicator for debugging: the counters of the worker, and for each peer the path to
 * it and its first message that waits for a receive.
 */
#include "opal/util/output.h"
#include "pml_stria.h"

static void dump_peer(ompi_communicator_t* comm, int rank) {
  const ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
  stria_endpoint_t* endpoint = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML];
  stria_endpoint_state_t state = {.size = sizeof state};
  if (NULL == endpoint || STRIA_OK != stria_endpoint_info(endpoint, &state)) {
    opal_output(0, "  rank %d: no endpoint", rank);
    return;
  }
  stria_info_t info;
  const stria_match_t match = {
      .source = endpoint, .tag = pml_stria_tag(comm, 0), .ignore = PML_STRIA_ALL_TAG_BITS};
  opal_output(0, "  rank %d: %s%s%s", rank, state.connected ? state.provider : "not connected",
              state.connected ? ", " : "", state.connected ? state.path : "");
  if (STRIA_OK == stria_probe(pml_stria.worker, &match, &info)) {
    opal_output(0, "    waiting first: tag %d, %llu bytes", (int)(uint32_t)info.tag,
                (unsigned long long)info.length);
  }
}

int pml_stria_dump(ompi_communicator_t* comm, int verbose) {
  stria_counters_t counters = {.size = sizeof counters};
  if (NULL == pml_stria.worker || STRIA_OK != stria_worker_counters(pml_stria.worker, &counters))
    return OMPI_ERROR;
  opal_output(0, "Communicator %s [context id %u, rank %d]", comm->c_name, stria_ompi_context(comm),
              comm->c_my_rank);
  opal_output(0, "  all communicators: %llu unexpected messages (%llu bytes buffered), %llu posted receives",
              (unsigned long long)counters.unexpected_messages, (unsigned long long)counters.unexpected_bytes,
              (unsigned long long)counters.posted_receives);
  if (0 == verbose) return OMPI_SUCCESS;
  const int ranks = OMPI_COMM_IS_INTER(comm) ? ompi_comm_remote_size(comm) : ompi_comm_size(comm);
  for (int rank = 0; rank < ranks; ++rank) dump_peer(comm, rank);
  return OMPI_SUCCESS;
}
