/* Peers and their endpoints. The endpoint of a process is opened by the first send, receive or probe that
 * names the process, and connects with its first message. So neither MPI_Init nor the memory of a rank grows
 * with the number of ranks. Two kinds of endpoints are opened earlier, while MPI_Init or the call that joins
 * two jobs can still fail: MPI_Init connects to one process of each other host, and the endpoints of the
 * processes of another job are opened when Open MPI announces them. Whether a peer can be reached, stria
 * finds out by connecting.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "pml_stria.h"

static bool elsewhere(const char* host) {
  return 0 != strcmp(host, ompi_process_info.nodename);
}

/* Which ranks report that a process is out of reach. In MPI_Init all ranks try the other hosts of the job, so
 * the first rank reports for all. A failure that occurs later, within a host, or with another job may be seen
 * by this process alone. */
static pml_stria_speaker_t speaker_about(const opal_process_name_t* name, const char* host) {
  const bool is_own_job = name->jobid == OMPI_PROC_MY_NAME->jobid;
  return is_own_job && elsewhere(host) && !pml_stria.peers.is_started ? PML_STRIA_FIRST_RANK
                                                                      : PML_STRIA_EVERY_RANK;
}

static void tell_out_of_reach(const opal_process_name_t* name, const char* host, const char* why) {
  pml_stria_tell(
      speaker_about(name, host),
      "process %s on host '%s' cannot be reached from host '%s': %s. Name a provider that reaches it "
      "(STRIA_PROVIDERS), or choose another layer: `--mca pml ob1`.",
      OMPI_NAME_PRINT(name), host, ompi_process_info.nodename, why);
}

/* Sets *number to the index of the host with this name, which is added if it is new. False: out of memory.
 * Jobs have few hosts that this component reaches. */
static bool number_of_host(const char* name, uint32_t* number) {
  pml_stria_peers_t* peers = &pml_stria.peers;
  for (uint32_t i = peers->host_count; i > 0; --i) {
    *number = i - 1;
    if (0 == strcmp(peers->hosts[i - 1].name, name)) return true;
  }
  pml_stria_host_t* hosts = realloc(peers->hosts, (peers->host_count + 1) * sizeof *hosts);
  if (NULL == hosts) return false;
  peers->hosts = hosts;
  hosts[peers->host_count] = (pml_stria_host_t){.name = strdup(name)};
  if (NULL == hosts[peers->host_count].name) return false;
  *number = peers->host_count++;
  return true;
}

/* Makes room for `more` further peers; removes peers whose endpoint is closed. False: out of memory. */
static bool make_room(size_t more) {
  pml_stria_peers_t* peers = &pml_stria.peers;
  if (peers->room - peers->count >= more) return true;
  size_t kept = 0;
  for (size_t i = 0; i < peers->count; ++i) {
    if (NULL != peers->all[i].endpoint) peers->all[kept++] = peers->all[i];
  }
  peers->count = kept;
  if (peers->room - kept >= more + kept / 8) return true;
  const size_t room = kept + (more > kept / 4 ? more : kept / 4);
  pml_stria_peer_t* all = realloc(peers->all, room * sizeof *all);
  if (NULL == all) return peers->room - kept >= more;
  peers->all = all;
  peers->room = room;
  return true;
}

/* Connects to a process if no process of its host was connected to before: the launcher may not have told
 * MPI_Init of that host. False: the process cannot be reached. Without this test a receive or a probe, which
 * does not connect, would wait for such a process for ever. True also for a peer that is gone: the operation
 * that names the peer reports it. */
static bool is_new_host_reached(stria_endpoint_t* endpoint, uint32_t host) {
  const pml_stria_host_t* known = &pml_stria.peers.hosts[host];
  if (known->is_tried || !elsewhere(known->name)) return true;
  const stria_status_t status = stria_endpoint_connect(endpoint);
  const bool accepted = STRIA_OK == status || STRIA_IN_PROGRESS == status;
  if (accepted) pml_stria.peers.hosts[host].is_tried = true;
  return accepted || STRIA_ERR_PEER_FAILED == status;
}

/* Opens the endpoint of a process. If `tries`, also connects unless a process of its host was connected to
 * before. NULL (after a message): not reached. The caller holds the lock. */
static stria_endpoint_t* open_endpoint(ompi_proc_t* proc, bool tries) {
  pml_stria_card_t card;
  if (!pml_stria_read_card(proc, &card)) {
    const char* host = opal_get_proc_hostname(&proc->super);
    pml_stria_tell(
        PML_STRIA_EVERY_RANK,
        "process %s on host '%s' does not use stria, or has ended, and cannot be talked to. Start jobs that "
        "connect to each other with the same layer: `--mca pml stria` or `--mca pml ob1`.",
        OMPI_NAME_PRINT(&proc->super.proc_name), NULL != host ? host : "unknown");
    return NULL;
  }
  stria_endpoint_t* endpoint = NULL;
  pml_stria_peer_t peer = {.name = proc->super.proc_name};
  uint32_t host = 0;
  const bool has_room = make_room(1) && number_of_host(card.host, &host);
  peer.host = host & 0x7fffffff;
  const stria_endpoint_params_t params = {
      .size = sizeof params, .address = card.address, .address_bytes = card.address_bytes};
  if (has_room && STRIA_OK == stria_endpoint_open(pml_stria.worker, &params, &endpoint) &&
      (!tries || is_new_host_reached(endpoint, host))) {
    peer.endpoint = endpoint;
    pml_stria.peers.all[pml_stria.peers.count++] = peer;
    pml_stria.show_peers = pml_stria.verbose > 0;
    __atomic_store_n(&proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML], endpoint, __ATOMIC_RELEASE);
  } else {
    tell_out_of_reach(&proc->super.proc_name, card.host, has_room ? stria_last_error() : "out of memory");
    /* Inside a callback of the worker stria refuses this, and the endpoint stays until the worker closes. */
    (void)stria_endpoint_close(endpoint);
    endpoint = NULL;
  }
  pml_stria_free_card(&card);
  return endpoint;
}

static stria_endpoint_t* endpoint_of(ompi_proc_t* proc, bool tries) {
  OPAL_THREAD_LOCK(&pml_stria.lock);
  stria_endpoint_t* endpoint = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML];
  if (NULL == endpoint) endpoint = open_endpoint(proc, tries);
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
  return endpoint;
}

/* Chooses the peer on `host`, among the peers from index `first` on, that this process connects to. The
 * processes of this process's own host choose different ones, by their local rank, so that no process gets
 * connections from all of a large job. (Of this job there is one peer a host, which pml_stria_other_hosts()
 * has chosen so.) */
static pml_stria_peer_t chosen_of_host(size_t first, uint32_t host) {
  const pml_stria_peers_t* peers = &pml_stria.peers;
  size_t candidates = 0;
  for (size_t i = first; i < peers->count; ++i)
    candidates += NULL != peers->all[i].endpoint && peers->all[i].host == host;
  size_t left = 0 == candidates ? 0 : ompi_process_info.my_local_rank % candidates;
  for (size_t i = first; i < peers->count; ++i) {
    if (NULL == peers->all[i].endpoint || peers->all[i].host != host) continue;
    if (0 == left--) return peers->all[i];
  }
  return (pml_stria_peer_t){0};
}

/* Connects to a peer, and prints a message if that fails. OK: the peer can be reached. IN_PROGRESS: its
 * provider waits for an answer from the network; call again. */
static stria_status_t try_peer(const pml_stria_peer_t* peer, const char* host) {
  const stria_status_t status = stria_endpoint_connect(peer->endpoint);
  if (STRIA_OK != status && STRIA_IN_PROGRESS != status)
    tell_out_of_reach(&peer->name, host, stria_last_error());
  return status;
}

static void note_reached(uint32_t host) {
  OPAL_THREAD_LOCK(&pml_stria.lock);
  pml_stria.peers.hosts[host].is_tried = true;
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
}

/* Connects to one process of each other host, among the peers from index `first` on. False: one of them
 * cannot be reached. This has to be known while the job or the new communicator can still be refused.
 * ("Another host" may be a container on this machine.) All connections are begun before one is waited for,
 * and the provider ends an attempt that takes too long. */
static bool are_hosts_reached(size_t first) {
  for (int waits = 0; waits < 2; ++waits) {
    for (uint32_t i = 0;; ++i) {
      OPAL_THREAD_LOCK(&pml_stria.lock);
      const bool is_last = i >= pml_stria.peers.host_count;
      const char* host = is_last ? NULL : pml_stria.peers.hosts[i].name;
      const pml_stria_peer_t peer =
          is_last || !elsewhere(host) ? (pml_stria_peer_t){0} : chosen_of_host(first, i);
      OPAL_THREAD_UNLOCK(&pml_stria.lock);
      if (is_last) break;
      if (NULL == peer.endpoint) continue;
      stria_status_t status = try_peer(&peer, host);
      while (0 != waits && STRIA_IN_PROGRESS == status) {
        if (stria_worker_progress(pml_stria.worker) == 0) sched_yield();
        status = try_peer(&peer, host);
      }
      if (STRIA_OK != status && STRIA_IN_PROGRESS != status) return false;
      if (STRIA_OK == status) note_reached(i);
    }
  }
  return true;
}

/* The peer with this endpoint or, if `endpoint` is NULL, with the worker of this id. NULL: there is none. */
static const pml_stria_peer_t* find_peer(const stria_endpoint_t* endpoint, uint64_t worker) {
  for (size_t i = 0; i < pml_stria.peers.count; ++i) {
    const pml_stria_peer_t* peer = &pml_stria.peers.all[i];
    stria_endpoint_state_t state = {.size = sizeof state};
    if (NULL == peer->endpoint) continue;
    if (NULL != endpoint ? peer->endpoint == endpoint
                         : STRIA_OK == stria_endpoint_info(peer->endpoint, &state) && state.peer == worker)
      return peer;
  }
  return NULL;
}

/* Does not wait for pml_stria.lock: this thread may be inside the worker, and the thread that holds
 * pml_stria.lock may be waiting for the worker. */
bool pml_stria_tell_unreached(const stria_endpoint_t* endpoint, uint64_t worker, const char* why) {
  if (0 != OPAL_THREAD_TRYLOCK(&pml_stria.lock)) return false;
  const pml_stria_peer_t* peer = find_peer(endpoint, worker);
  if (NULL != peer) tell_out_of_reach(&peer->name, pml_stria.peers.hosts[peer->host].name, why);
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
  return NULL != peer;
}

/* Closes the endpoints of these processes that were opened since the number of peers was `first`, so that a
 * later attempt begins anew. */
static void take_back(ompi_proc_t** procs, size_t count, size_t first) {
  OPAL_THREAD_LOCK(&pml_stria.lock);
  for (size_t i = 0; i < count; ++i) {
    const void* endpoint = procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML];
    for (size_t k = first; k < pml_stria.peers.count && NULL != endpoint; ++k) {
      pml_stria_peer_t* peer = &pml_stria.peers.all[k];
      if (peer->endpoint != endpoint) continue;
      procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML] = NULL;
      stria_endpoint_close(peer->endpoint);
      peer->endpoint = NULL;
      break;
    }
  }
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
}

/* Opens an endpoint to each of the processes, and connects to one process of each other host. If a process
 * cannot be reached, closes what it has opened and returns OMPI_ERR_UNREACH, after a message. */
static int add(ompi_proc_t** procs, size_t count) {
  OPAL_THREAD_LOCK(&pml_stria.lock);
  (void)make_room(count); /* room for all at once; if there is no memory, endpoint_of() fails below */
  const size_t first = pml_stria.peers.count;
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
  size_t opened = 0;
  while (opened < count && NULL != endpoint_of(procs[opened], false)) ++opened;
  if (opened == count && are_hosts_reached(first)) return OMPI_SUCCESS;
  take_back(procs, count, first);
  return OMPI_ERR_UNREACH;
}

static bool is_of_other_job(const opal_process_name_t* name) {
  return name->jobid != OMPI_PROC_MY_NAME->jobid;
}

/* An array for `count` pointers to processes; not NULL for count 0. NULL: out of memory. */
static ompi_proc_t** make_list(size_t count) {
  return malloc((0 == count ? 1 : count) * sizeof(ompi_proc_t*));
}

/* Connects to one process of each other host of this job. */
static int try_other_hosts(void) {
  opal_process_name_t* names = NULL;
  const size_t count = pml_stria_other_hosts(&names);
  ompi_proc_t** procs = make_list(count);
  int rc = NULL == procs ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
  for (size_t i = 0; i < count && OMPI_SUCCESS == rc; ++i) {
    procs[i] = (ompi_proc_t*)ompi_proc_for_name(names[i]);
    if (NULL == procs[i]) rc = OMPI_ERR_OUT_OF_RESOURCE;
  }
  if (OMPI_SUCCESS == rc) rc = add(procs, count);
  free(procs);
  free(names);
  pml_stria.peers.is_started = OMPI_SUCCESS == rc;
  return rc;
}

int pml_stria_add_procs(ompi_proc_t** procs, size_t count) {
  /* Compares the choice of this job only; a process of another job may be found below to have no card. */
  int rc = mca_pml_base_pml_check_selected("stria", procs, count);
  if (OMPI_SUCCESS == rc && !pml_stria.peers.is_started) rc = try_other_hosts();
  if (OMPI_SUCCESS != rc) return rc;
  ompi_proc_t** others = make_list(count);
  if (NULL == others) return OMPI_ERR_OUT_OF_RESOURCE;
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    if (is_of_other_job(&procs[i]->super.proc_name)) others[found++] = procs[i];
  }
  rc = add(others, found);
  free(others);
  return rc;
}

int pml_stria_add_remote_group(ompi_communicator_t* comm) {
  const int size = ompi_comm_remote_size(comm);
  ompi_proc_t** others = make_list((size_t)size);
  if (NULL == others) return OMPI_ERR_OUT_OF_RESOURCE;
  size_t found = 0;
  for (int i = 0; i < size; ++i) {
    /* Looks at the name first, because Open MPI makes an object for each process that is looked up. */
    const opal_process_name_t name = ompi_group_get_proc_name(comm->c_remote_group, i);
    if (is_of_other_job(&name)) others[found++] = ompi_comm_peer_lookup(comm, i);
  }
  const int rc = add(others, found);
  free(others);
  return rc;
}

stria_endpoint_t* pml_stria_late_endpoint(ompi_proc_t* proc) {
  return endpoint_of(proc, true);
}

static int compare_endpoints(const void* a, const void* b) {
  const uintptr_t first = (uintptr_t) * (void* const*)a;
  const uintptr_t second = (uintptr_t) * (void* const*)b;
  return (first > second) - (first < second);
}

/* Closes the endpoints of peers. Sorts the array, to search it for each peer: its order is not that of the
 * peers. */
static void forget(stria_endpoint_t** endpoints, size_t count) {
  qsort(endpoints, count, sizeof *endpoints, compare_endpoints);
  for (size_t i = 0; i < pml_stria.peers.count && count > 0; ++i) {
    pml_stria_peer_t* peer = &pml_stria.peers.all[i];
    if (NULL == peer->endpoint ||
        NULL == bsearch(&peer->endpoint, endpoints, count, sizeof *endpoints, compare_endpoints))
      continue;
    stria_endpoint_close(peer->endpoint);
    peer->endpoint = NULL;
  }
}

int pml_stria_del_procs(ompi_proc_t** procs, size_t count) {
  if (pml_stria.verbose > 0) pml_stria_show_peers();
  stria_endpoint_t** endpoints = malloc((0 == count ? 1 : count) * sizeof *endpoints);
  if (NULL == endpoints) return OMPI_ERR_OUT_OF_RESOURCE;
  OPAL_THREAD_LOCK(&pml_stria.lock);
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    stria_endpoint_t* endpoint = procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML];
    if (NULL == endpoint) continue;
    procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML] = NULL;
    endpoints[found++] = endpoint;
  }
  forget(endpoints, found);
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
  free(endpoints);
  return OMPI_SUCCESS;
}

size_t pml_stria_count_peers(void) {
  OPAL_THREAD_LOCK(&pml_stria.lock);
  size_t open = 0;
  for (size_t i = 0; i < pml_stria.peers.count; ++i) open += NULL != pml_stria.peers.all[i].endpoint;
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
  return open;
}

void pml_stria_forget_peers(void) {
  pml_stria_peers_t* peers = &pml_stria.peers;
  for (size_t i = 0; i < peers->count; ++i) {
    if (NULL != peers->all[i].endpoint) stria_endpoint_close(peers->all[i].endpoint);
  }
  for (uint32_t i = 0; i < peers->host_count; ++i) free(peers->hosts[i].name);
  free(peers->hosts);
  free(peers->all);
  memset(peers, 0, sizeof *peers);
}

/* Prints the line of a peer. False: the peer is not connected yet. */
static bool show(const pml_stria_peer_t* peer) {
  stria_endpoint_state_t state = {.size = sizeof state};
  if (STRIA_OK != stria_endpoint_info(peer->endpoint, &state) || !state.connected) return false;
  const bool falls_back = NULL != state.fallback && '\0' != state.fallback[0];
  opal_output(pml_stria.output,
              "%s to %s on %s: %s, %s; window for %llu bytes (%llu free), eager to %llu bytes; rendezvous: "
              "%s%s%s",
              OMPI_NAME_PRINT(OMPI_PROC_MY_NAME), OMPI_NAME_PRINT(&peer->name),
              pml_stria.peers.hosts[peer->host].name, state.provider, state.path,
              (unsigned long long)state.pio_mtu, (unsigned long long)state.pio_credits,
              (unsigned long long)state.eager_limit, state.rendezvous, falls_back ? "; fallback: " : "",
              falls_back ? state.fallback : "");
  return true;
}

void pml_stria_show_peers(void) {
  OPAL_THREAD_LOCK(&pml_stria.lock);
  bool waiting = false;
  for (size_t i = 0; i < pml_stria.peers.count; ++i) {
    pml_stria_peer_t* peer = &pml_stria.peers.all[i];
    if (NULL == peer->endpoint) continue;
    if (!peer->shown) peer->shown = show(peer);
    waiting |= !peer->shown;
  }
  pml_stria.show_peers = waiting;
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
}
