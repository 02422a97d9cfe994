/* What the files of the component share: its one state object, the way to a peer, and the coding of MPI's
 * matching triple (communicator, source, tag) in stria's (endpoint, 64-bit tag, 32-bit immediate).
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

/* One remote process, remembered for messages to people; its endpoint alone is what the data path needs. */
typedef struct pml_stria_peer {
  stria_endpoint_t* endpoint; /* NULL: the process was taken away */
  opal_process_name_t name;
  uint32_t host : 31; /* which of the table's hosts it is on */
  uint32_t shown : 1; /* its line of pml_stria_verbose was printed */
} pml_stria_peer_t;

/* A host of peers. */
typedef struct pml_stria_host {
  char* name;
  bool is_tried; /* a process there was connected to, so its host can be reached */
} pml_stria_host_t;

/* The processes that this one has opened an endpoint to, in the order in which it did; hosts once each. */
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
  struct pml_stria_request* spare;    /* some of them, at hand when there are no threads */
  struct pml_stria_request* deferred; /* those whose end waits for pml_stria_progress, atomic */
  bool requests_ready;
  bool closing;      /* Open MPI has taken its communicators down: requests that end now let none go */
  bool show_peers;   /* verbose, and some peer's line is still to be printed */
  opal_mutex_t lock; /* guards the peers and the layouts of predefined types */
  pml_stria_peers_t peers;
  bool has_accelerator; /* a buffer may be memory that the processor cannot reach */
  int priority;         /* MCA parameter pml_stria_priority */
  int verbose;          /* MCA parameter pml_stria_verbose */
  int output;           /* stream of the lines for people */
} pml_stria_module_t;

extern pml_stria_module_t pml_stria;
/* The name by which the component loader finds it. */
extern const mca_pml_base_component_t mca_pml_stria_component;

/* ---- parameters ---- */

/* Registers MCA parameters and MPI_T performance variables. */
int pml_stria_register(void);
/* Hands the parameters that were given to the library. False when it refuses one; stria_last_error() names
 * it. */
bool pml_stria_apply_parameters(void);
/* Tells once a job which MCA parameters are set whose names begin like stria's and are not: Open MPI ignores
 * them in silence. */
void pml_stria_report_unknown(void);
/* True when the user named stria as the layer to use. */
bool pml_stria_was_asked_for(void);

/* ---- messages for people ---- */

/* Who says it: something that is so on every rank is said by the first one alone. */
typedef enum pml_stria_speaker { PML_STRIA_FIRST_RANK, PML_STRIA_EVERY_RANK } pml_stria_speaker_t;
/* Prints a message on standard error; a process stops after a few of them. What the first rank alone says is
 * about to end the job: the others wait two seconds for it. */
void pml_stria_tell(pml_stria_speaker_t speaker, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
/* The MPI error class for an outcome. */
int pml_stria_mpi_error(stria_status_t status);
/* The same, for one that has ended; tells of a peer that cannot be reached. */
int pml_stria_outcome(const stria_info_t* info);
/* As pml_stria_mpi_error, for a call that was refused: also tells why, except that a dead peer is the
 * launcher's news. `peer`: the other side, NULL where there is none or it is any. */
int pml_stria_refused(stria_status_t status, const char* what, const stria_endpoint_t* peer);

/* ---- peers ---- */

/* What a process says of itself through the modex; card.c. */
typedef struct pml_stria_card {
  char* host; /* owns the memory */
  const void* address;
  size_t address_bytes;
} pml_stria_card_t;

/* Publishes this process's card. A process publishes one only when stria may be its layer, because Open MPI
 * asks no layer that it was not told to use. */
int pml_stria_publish_card(void);
/* Waits until all processes of the job have come to the turn that this process has published its card of; at
 * once in the first turn. False (after a message): one did not come. */
bool pml_stria_await_turn(void);
/* False: the process has none, so it does not use stria. */
bool pml_stria_read_card(const ompi_proc_t* proc, pml_stria_card_t* out);
void pml_stria_free_card(pml_stria_card_t* card);

/* One process of each other host of this job; *processes is the caller's to free. 0: the job has one host, or
 * the launcher does not tell. hosts.c. */
size_t pml_stria_other_hosts(opal_process_name_t** processes);

/* Tries the other hosts of the job at the first call, which MPI_Init makes, and opens endpoints to the
 * processes of other jobs. Those of this job wait for their first message. Errors (after a message):
 * OMPI_ERR_UNREACH, OMPI_ERR_OUT_OF_RESOURCE. */
int pml_stria_add_procs(ompi_proc_t** procs, size_t count);
/* Does the same for the other side of an intercommunicator. */
int pml_stria_add_remote_group(ompi_communicator_t* comm);
int pml_stria_del_procs(ompi_proc_t** procs, size_t count);
/* Opens the endpoint of a process that is talked to for the first time, by a send, a receive or a probe; NULL
 * (after a message) when it cannot be reached. */
stria_endpoint_t* pml_stria_late_endpoint(ompi_proc_t* proc);
/* Says which process on which host a message cannot be brought to, and why. The peer is that of the endpoint,
 * or, where that is NULL, of the worker. False: it is not known, and nothing was said. */
bool pml_stria_tell_unreached(const stria_endpoint_t* endpoint, uint64_t worker, const char* why);
/* Prints the line of every peer that is connected and was not shown yet. */
void pml_stria_show_peers(void);
void pml_stria_forget_peers(void);
/* How many processes this one has an endpoint to. */
size_t pml_stria_count_peers(void);

static inline stria_endpoint_t* pml_stria_endpoint(ompi_communicator_t* comm, int rank) {
  ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
  void* endpoint = __atomic_load_n(&proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML], __ATOMIC_ACQUIRE);
  return OPAL_LIKELY(NULL != endpoint) ? (stria_endpoint_t*)endpoint : pml_stria_late_endpoint(proc);
}

/* ---- matching ---- */

/* Two ranks never share a worker, so endpoint and communicator name the sender; its rank travels as the
 * immediate. */
static inline uint64_t pml_stria_tag(const ompi_communicator_t* comm, int tag) {
  return (uint64_t)stria_ompi_context(comm) << 32 | (uint32_t)tag;
}
/* MPI_ANY_TAG takes every tag whose sign bit is clear: the negative ones belong to collectives. */
#define PML_STRIA_ANY_TAG_BITS UINT64_C(0x7fffffff)
#define PML_STRIA_ALL_TAG_BITS UINT64_C(0xffffffff)

/* False (after a message) when the source cannot be reached. */
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

/* Fills the fields a receive or a probe answers; MPI_ERROR is left to the caller. */
static inline void pml_stria_set_status(ompi_status_public_t* status, const stria_info_t* info) {
  status->MPI_SOURCE = (int)info->immediate;
  status->MPI_TAG = (int)(uint32_t)info->tag;
  status->_ucount = info->length;
  status->_cancelled = 0;
}

/* ---- the interface ---- */

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
/* Open MPI 5.0: provider and path of the connection with a rank, one pair; NULL: none yet, or no memory. The
 * caller frees the structure and its entries, and reads the texts before the calling thread asks again. */
struct mca_pml_transports_t* pml_stria_get_transports(ompi_communicator_t* comm, int rank);

#endif
