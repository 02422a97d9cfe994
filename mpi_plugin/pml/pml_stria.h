/* What the files of the pml component share: its state, access to peers, and how MPI's communicator, source
 * and tag are expressed as stria's endpoint, 64-bit tag and 32-bit immediate.
 */
#ifndef PML_STRIA_H
#define PML_STRIA_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stdint.h>

#include "compat.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "opal/class/opal_free_list.h"
#include "opal/prefetch.h"
#include "stria/stria.h"

/* A remote process. The data path needs its endpoint only; the rest is for messages to people. */
typedef struct pml_stria_peer {
  stria_endpoint_t*
      endpoint; /* NULL: closed, because Open MPI has removed the process or it is out of reach */
  opal_process_name_t name;
  uint32_t host : 31; /* index in pml_stria_peers_t::hosts */
  uint32_t shown : 1; /* the line about it for pml_stria_verbose was printed */
} pml_stria_peer_t;

/* A host of peers. */
typedef struct pml_stria_host {
  char* name;
  bool is_tried; /* this process connects to a process there, and was not refused at once */
} pml_stria_host_t;

/* The processes that this process has opened an endpoint to, in that order; and their hosts, each once. */
typedef struct pml_stria_peers {
  pml_stria_peer_t* all;
  size_t count, room;
  pml_stria_host_t* hosts;
  uint32_t host_count;
  bool is_started; /* MPI_Init has tried the other hosts of the job */
} pml_stria_peers_t;

typedef struct pml_stria_module {
  mca_pml_base_module_t super;
  stria_context_t* context;
  stria_worker_t* worker;
  opal_free_list_t requests;          /* of pml_stria_request_t */
  struct pml_stria_request* spare;    /* list of free requests that is used when there are no threads */
  struct pml_stria_request* deferred; /* list of requests whose end waits for pml_stria_progress; atomic */
  bool requests_ready;                /* `requests` is constructed */
  bool closing;    /* Open MPI has destroyed the communicators: requests that end now must not release one */
  bool show_peers; /* verbose, and the line of some peer is still to be printed */
  opal_mutex_t lock; /* guards the peers and the layouts of predefined types */
  pml_stria_peers_t peers;
  bool has_accelerator; /* a buffer may be memory that the processor cannot access */
  int priority;         /* MCA parameter pml_stria_priority */
  int verbose;          /* MCA parameter pml_stria_verbose */
  int output;           /* Open MPI's output stream for the lines of pml_stria_verbose */
} pml_stria_module_t;

extern pml_stria_module_t pml_stria;
/* The loader of Open MPI finds the component by this name. */
extern const mca_pml_base_component_t mca_pml_stria_component;

/* ---- parameters ---- */

/* Registers MCA parameters and MPI_T performance variables. */
int pml_stria_register(void);
/* Passes the MCA parameters that the user has set to the library. False: the library refuses one;
 * stria_last_error() names it. */
bool pml_stria_apply_parameters(void);
/* Reports, once a job, the MCA parameters that are set and whose names begin as stria's do but do not exist.
 * Open MPI ignores them silently. */
void pml_stria_report_unknown(void);
/* True when the user named stria as the layer to use. */
bool pml_stria_was_asked_for(void);

/* ---- messages for people ---- */

/* Which ranks print a message: only the first rank, if the message is true on every rank. */
typedef enum pml_stria_speaker { PML_STRIA_FIRST_RANK, PML_STRIA_EVERY_RANK } pml_stria_speaker_t;
/* Prints a message on standard error; a process prints a limited number of them. A message of
 * PML_STRIA_FIRST_RANK announces the end of the job, so the other ranks wait a while for the first rank to
 * print it. */
void pml_stria_tell(pml_stria_speaker_t speaker, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
/* The MPI error class for a status. */
int pml_stria_mpi_error(stria_status_t status);
/* The MPI error class for an operation that has ended. Prints a message if its peer cannot be reached. */
int pml_stria_outcome(const stria_info_t* info);
/* The MPI error class for a call that stria refused. Prints why, except for a peer that died, which the
 * launcher reports. `what`: the call, in words. `peer`: the other side; NULL: none, or any. */
int pml_stria_refused(stria_status_t status, const char* what, const stria_endpoint_t* peer);

/* ---- peers ---- */

/* What a process publishes about itself in Open MPI's modex (card.c). */
typedef struct pml_stria_card {
  char* host; /* name; owns the memory of the card, which `address` points into */
  const void* address;
  size_t address_bytes;
} pml_stria_card_t;

/* Publishes this process's card. Only a process that may use stria as its layer does so: Open MPI initialises
 * no layer that it was told not to use. */
int pml_stria_publish_card(void);
/* Waits until all processes of the job have published a card in this process's turn (card.c); in the first
 * turn returns at once. False (after a message): a process did not. */
bool pml_stria_await_turn(void);
/* Reads the card of a process; pml_stria_free_card() frees it. False: there is none, so the process does not
 * use stria. */
bool pml_stria_read_card(const ompi_proc_t* proc, pml_stria_card_t* out);
void pml_stria_free_card(pml_stria_card_t* card);

/* Chooses one process of each other host of this job, and returns their number. The caller frees *processes.
 * 0: the job has one host, the launcher does not tell, or out of memory (hosts.c). */
size_t pml_stria_other_hosts(opal_process_name_t** processes);

/* Opens endpoints to those of the processes that belong to other jobs; endpoints to processes of this job are
 * opened when they are first used. The first call, which MPI_Init makes, also connects to the other hosts of
 * the job. Errors: OMPI_ERR_UNREACH (after a message), OMPI_ERR_OUT_OF_RESOURCE. */
int pml_stria_add_procs(ompi_proc_t** procs, size_t count);
/* Opens endpoints to those processes of the other side of an intercommunicator that belong to other jobs.
 * Errors: those of pml_stria_add_procs(). */
int pml_stria_add_remote_group(ompi_communicator_t* comm);
int pml_stria_del_procs(ompi_proc_t** procs, size_t count);
/* Opens the endpoint of a process that a send, a receive or a probe names for the first time. NULL (after a
 * message): the process cannot be reached. */
stria_endpoint_t* pml_stria_late_endpoint(ompi_proc_t* proc);
/* Prints which process on which host cannot be reached, and why. The process is the one of `endpoint`, or, if
 * that is NULL, the one whose worker has the id `worker`. False: nothing was printed, because the process is
 * not known or another thread holds the lock. */
bool pml_stria_tell_unreached(const stria_endpoint_t* endpoint, uint64_t worker, const char* why);
/* Prints the line of every connected peer whose line was not printed yet. */
void pml_stria_show_peers(void);
/* Closes all endpoints and frees the list of peers. */
void pml_stria_forget_peers(void);
/* The number of processes that this process has an endpoint to. */
size_t pml_stria_count_peers(void);

/* The endpoint of a rank; opened if necessary. NULL (after a message): the rank cannot be reached. */
static inline stria_endpoint_t* pml_stria_endpoint(ompi_communicator_t* comm, int rank) {
  ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
  void* endpoint = __atomic_load_n(&proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML], __ATOMIC_ACQUIRE);
  return OPAL_LIKELY(NULL != endpoint) ? (stria_endpoint_t*)endpoint : pml_stria_late_endpoint(proc);
}

/* ---- matching ---- */

/* The stria tag of a message: context id of the communicator, and MPI tag. The sender's rank is not in it,
 * because no two ranks share a worker: endpoint and communicator identify the sender. The rank travels as the
 * immediate. */
static inline uint64_t pml_stria_tag(const ompi_communicator_t* comm, int tag) {
  return (uint64_t)stria_ompi_context(comm) << 32 | (uint32_t)tag;
}
/* The tag bits that MPI_ANY_TAG ignores: all but the sign bit, because negative tags belong to collectives.
 */
#define PML_STRIA_ANY_TAG_BITS UINT64_C(0x7fffffff)
#define PML_STRIA_ALL_TAG_BITS UINT64_C(0xffffffff)

/* Sets what a receive or a probe matches. False (after a message): the source cannot be reached. */
static inline bool pml_stria_match(ompi_communicator_t* comm, int source, int tag, stria_match_t* out) {
  if (OMPI_ANY_TAG == tag) {
    out->tag = pml_stria_tag(comm, 0);
    out->ignore = PML_STRIA_ANY_TAG_BITS;
  } else {
    out->tag = pml_stria_tag(comm, tag);
    out->ignore = 0;
  }
  if (OMPI_ANY_SOURCE == source) {
    out->source = NULL;
    return true;
  }
  out->source = pml_stria_endpoint(comm, source);
  return OPAL_LIKELY(NULL != out->source);
}

/* Sets all fields of a status but MPI_ERROR, which the caller sets. */
static inline void pml_stria_set_status(ompi_status_public_t* status, const stria_info_t* info) {
  status->MPI_SOURCE = (int)info->immediate;
  status->MPI_TAG = (int)(uint32_t)info->tag;
  status->_ucount = info->length;
  status->_cancelled = 0;
}

/* ---- the calls of Open MPI's PML interface, which gives the parameters, up to eight ---- */

int pml_stria_enable(bool enable);
int pml_stria_progress(void);
int pml_stria_add_comm(ompi_communicator_t* comm);
int pml_stria_del_comm(ompi_communicator_t* comm);
int pml_stria_irecv_init(void* buf, size_t count, ompi_datatype_t* type, int source, int tag,
                         ompi_communicator_t* comm, ompi_request_t** request);
int pml_stria_irecv(void* buf, size_t count, ompi_datatype_t* type, int source, int tag,
                    ompi_communicator_t* comm, ompi_request_t** request);
int pml_stria_recv(void* buf, size_t count, ompi_datatype_t* type, int source, int tag,
                   ompi_communicator_t* comm, ompi_status_public_t* status);
int pml_stria_isend_init(const void* buf, size_t count, ompi_datatype_t* type, int destination, int tag,
                         mca_pml_base_send_mode_t mode, ompi_communicator_t* comm, ompi_request_t** request);
int pml_stria_isend(const void* buf, size_t count, ompi_datatype_t* type, int destination, int tag,
                    mca_pml_base_send_mode_t mode, ompi_communicator_t* comm, ompi_request_t** request);
int pml_stria_send(const void* buf, size_t count, ompi_datatype_t* type, int destination, int tag,
                   mca_pml_base_send_mode_t mode, ompi_communicator_t* comm);
int pml_stria_iprobe(int source, int tag, ompi_communicator_t* comm, int* matched,
                     ompi_status_public_t* status);
int pml_stria_probe(int source, int tag, ompi_communicator_t* comm, ompi_status_public_t* status);
int pml_stria_improbe(int source, int tag, ompi_communicator_t* comm, int* matched,
                      struct ompi_message_t** message, ompi_status_public_t* status);
int pml_stria_mprobe(int source, int tag, ompi_communicator_t* comm, struct ompi_message_t** message,
                     ompi_status_public_t* status);
int pml_stria_imrecv(void* buf, size_t count, ompi_datatype_t* type, struct ompi_message_t** message,
                     ompi_request_t** request);
int pml_stria_mrecv(void* buf, size_t count, ompi_datatype_t* type, struct ompi_message_t** message,
                    ompi_status_public_t* status);
int pml_stria_start(size_t count, ompi_request_t** requests);
int pml_stria_dump(ompi_communicator_t* comm, int verbose);
/* For Open MPI 5.0: provider and path of the connection to a rank, as a list of one entry. NULL: not
 * connected yet, or out of memory. The caller frees the structure and its entries, and reads the texts before
 * its thread calls this function again. */
struct mca_pml_transports_t* pml_stria_get_transports(ompi_communicator_t* comm, int rank);

#endif
