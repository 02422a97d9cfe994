/* Peers: an endpoint is opened when Open MPI announces a process or, at the latest, when something is sent to
 * it. It connects with its first message. Whether a peer can be reached is stria's judgement, by connecting.
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

/* A job that spans hosts does so for its first rank too, which speaks for all. What is wrong between two
 * processes of one host, or with another job, may be seen by this process alone. */
static pml_stria_speaker_t speaker_about(const opal_process_name_t* name, const char* host) {
  const bool same_job = name->jobid == OMPI_PROC_MY_NAME->jobid;
  return same_job && elsewhere(host) ? PML_STRIA_FIRST_RANK : PML_STRIA_EVERY_RANK;
}

static void tell_out_of_reach(const opal_process_name_t* name, const char* host, const char* why) {
  pml_stria_tell(
      speaker_about(name, host),
      "process %s on host '%s' cannot be reached from host '%s': %s. Name a provider that reaches it "
      "(STRIA_PROVIDERS), or choose another layer: `--mca pml ob1`.",
      OMPI_NAME_PRINT(name), host, ompi_process_info.nodename, why);
}

/* The number of a host's name; false: out of memory. Jobs have few hosts that this component reaches. */
static bool number_of_host(const char* name, uint32_t* number) {
  pml_stria_peers_t* peers = &pml_stria.peers;
  for (uint32_t i = peers->host_count; i > 0; --i) {
    *number = i - 1;
    if (0 == strcmp(peers->hosts[i - 1], name)) return true;
  }
  char** hosts = realloc(peers->hosts, (peers->host_count + 1) * sizeof *hosts);
  if (NULL == hosts) return false;
  peers->hosts = hosts;
  hosts[peers->host_count] = strdup(name);
  if (NULL == hosts[peers->host_count]) return false;
  *number = peers->host_count++;
  return true;
}

/* Places for as many peers more; those of processes that were taken away are used again. */
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

/* The caller holds the lock. */
static stria_endpoint_t* open_endpoint(ompi_proc_t* proc) {
  pml_stria_card_t card;
  if (!pml_stria_read_card(proc, &card)) {
    const char* host = opal_get_proc_hostname(&proc->super);
    pml_stria_tell(
        PML_STRIA_EVERY_RANK,
        "process %s on host '%s' does not use stria and cannot be talked to. Start jobs that connect to "
        "each other with the same layer: `--mca pml stria` or `--mca pml ob1`.",
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
  if (has_room && STRIA_OK == stria_endpoint_open(pml_stria.worker, &params, &endpoint)) {
    peer.endpoint = endpoint;
    pml_stria.peers.all[pml_stria.peers.count++] = peer;
    pml_stria.show_peers = pml_stria.verbose > 0;
    __atomic_store_n(&proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML], endpoint, __ATOMIC_RELEASE);
  } else {
    tell_out_of_reach(&proc->super.proc_name, card.host, has_room ? stria_last_error() : "out of memory");
    endpoint = NULL;
  }
  pml_stria_free_card(&card);
  return endpoint;
}

/* The process of a host, among the peers from `first` on, that this one connects to when they are announced.
 * Another process of this host takes the next, so that no process is asked by all of a large job. */
static pml_stria_peer_t chosen_of_host(size_t first, uint32_t host) {
  const pml_stria_peers_t* peers = &pml_stria.peers;
  size_t there = 0;
  for (size_t i = first; i < peers->count; ++i)
    there += NULL != peers->all[i].endpoint && peers->all[i].host == host;
  size_t left = 0 == there ? 0 : ompi_process_info.my_local_rank % there;
  for (size_t i = first; i < peers->count; ++i) {
    if (NULL == peers->all[i].endpoint || peers->all[i].host != host) continue;
    if (0 == left--) return peers->all[i];
  }
  return (pml_stria_peer_t){0};
}

/* Whether the process can be reached; a provider that asks its network has not answered while it is in
 * progress. */
static stria_status_t try_peer(const pml_stria_peer_t* peer, const char* host) {
  const stria_status_t status = stria_endpoint_connect(peer->endpoint);
  if (STRIA_OK != status && STRIA_IN_PROGRESS != status)
    tell_out_of_reach(&peer->name, host, stria_last_error());
  return status;
}

/* Whether one process of each other host, among the peers from `first` on, can be reached. It may be a
 * container of this machine, or out of reach, which has to be known while the job or the new communicator can
 * still be refused as a whole. All are asked before one is waited for, and the provider ends an attempt that
 * is late. */
static bool are_hosts_reached(size_t first) {
  for (int waits = 0; waits < 2; ++waits) {
    for (uint32_t i = 0;; ++i) {
      OPAL_THREAD_LOCK(&pml_stria.lock);
      const bool is_last = i >= pml_stria.peers.host_count;
      const char* host = is_last ? NULL : pml_stria.peers.hosts[i];
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
    }
  }
  return true;
}

/* Of this endpoint; where it is not known, of this worker. NULL: none. */
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

/* May be called inside the worker, for which another thread may wait while it has this lock: so it is not
 * waited for. */
bool pml_stria_tell_unreached(const stria_endpoint_t* endpoint, uint64_t worker, const char* why) {
  if (0 != OPAL_THREAD_TRYLOCK(&pml_stria.lock)) return false;
  const pml_stria_peer_t* peer = find_peer(endpoint, worker);
  if (NULL != peer) tell_out_of_reach(&peer->name, pml_stria.peers.hosts[peer->host], why);
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
  return NULL != peer;
}

/* The endpoints of these processes that are among the peers from `first` on go, so that another attempt tries
 * anew. */
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

static int add(ompi_proc_t** procs, size_t count) {
  OPAL_THREAD_LOCK(&pml_stria.lock);
  (void)make_room(count); /* exactly, once; what fails is found again below */
  const size_t first = pml_stria.peers.count;
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
  for (size_t i = 0; i < count; ++i) {
    if (NULL == pml_stria_late_endpoint(procs[i])) return OMPI_ERR_UNREACH;
  }
  if (are_hosts_reached(first)) return OMPI_SUCCESS;
  take_back(procs, count, first);
  return OMPI_ERR_UNREACH;
}

int pml_stria_add_procs(ompi_proc_t** procs, size_t count) {
  /* Compares this job's choice only; a process of another job is found to lack an address below. */
  const int rc = mca_pml_base_pml_check_selected("stria", procs, count);
  return OMPI_SUCCESS == rc ? add(procs, count) : rc;
}

int pml_stria_add_remote_group(ompi_communicator_t* comm) {
  const size_t count = (size_t)ompi_comm_remote_size(comm);
  ompi_proc_t** procs = malloc((0 == count ? 1 : count) * sizeof *procs);
  if (NULL == procs) return OMPI_ERR_OUT_OF_RESOURCE;
  for (size_t i = 0; i < count; ++i) procs[i] = ompi_comm_peer_lookup(comm, (int)i);
  const int rc = add(procs, count);
  free(procs);
  return rc;
}

stria_endpoint_t* pml_stria_late_endpoint(ompi_proc_t* proc) {
  OPAL_THREAD_LOCK(&pml_stria.lock);
  stria_endpoint_t* endpoint = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML];
  if (NULL == endpoint) endpoint = open_endpoint(proc);
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
  return endpoint;
}

static void forget(const stria_endpoint_t* endpoint) {
  pml_stria_peers_t* peers = &pml_stria.peers;
  for (size_t tried = 0; tried < peers->count; ++tried) {
    if (peers->next >= peers->count) peers->next = 0;
    pml_stria_peer_t* peer = &peers->all[peers->next++];
    if (peer->endpoint != endpoint) continue;
    stria_endpoint_close(peer->endpoint);
    peer->endpoint = NULL;
    return;
  }
}

int pml_stria_del_procs(ompi_proc_t** procs, size_t count) {
  if (pml_stria.verbose > 0) pml_stria_show_peers();
  OPAL_THREAD_LOCK(&pml_stria.lock);
  for (size_t i = 0; i < count; ++i) {
    void* endpoint = procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML];
    if (NULL == endpoint) continue;
    procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML] = NULL;
    forget(endpoint);
  }
  OPAL_THREAD_UNLOCK(&pml_stria.lock);
  return OMPI_SUCCESS;
}

void pml_stria_forget_peers(void) {
  pml_stria_peers_t* peers = &pml_stria.peers;
  for (size_t i = 0; i < peers->count; ++i) {
    if (NULL != peers->all[i].endpoint) stria_endpoint_close(peers->all[i].endpoint);
  }
  for (uint32_t i = 0; i < peers->host_count; ++i) free(peers->hosts[i]);
  free(peers->hosts);
  free(peers->all);
  memset(peers, 0, sizeof *peers);
}

static bool show(const pml_stria_peer_t* peer) {
  stria_endpoint_state_t state = {.size = sizeof state};
  if (STRIA_OK != stria_endpoint_info(peer->endpoint, &state) || !state.connected) return false;
  const bool falls_back = NULL != state.fallback && '\0' != state.fallback[0];
  opal_output(pml_stria.output,
              "%s to %s on %s: %s, %s; window for %llu bytes (%llu free), eager to %llu bytes; rendezvous: "
              "%s%s%s",
              OMPI_NAME_PRINT(OMPI_PROC_MY_NAME), OMPI_NAME_PRINT(&peer->name),
              pml_stria.peers.hosts[peer->host], state.provider, state.path,
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
