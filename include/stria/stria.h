/* stria: tag matching, layouts and remote memory for C.
 *
 * Conventions of this header
 *   units      bytes unless a name says otherwise; all sizes and counts are 64-bit
 *   errors     functions return stria_status_t: STRIA_OK, STRIA_IN_PROGRESS, or a negative value; a negative
 *              answer means that nothing was started and the arguments are untouched
 *   threads    a worker, with its endpoints and regions, is used under the thread mode it was opened with;
 *              contexts and layouts may be used from any thread; different workers are independent
 *   ownership  a pointer passed in stays the caller's; buffers and layouts of an operation stay untouched and
 *              alive until the operation's completion was seen; what an open, register or constructor gave is
 *              given back by the close, deregister or free of its kind
 *
 * A process opens a context, one or more workers in it, gives the bytes of stria_worker_address() to its
 * peers by any means (a file, a socket, PMIx), and opens an endpoint to each peer from the bytes it was
 * given. Receives match on source (or any), a 64-bit tag and an ignore mask, in the order MPI prescribes.
 */
#ifndef STRIA_STRIA_H
#define STRIA_STRIA_H

#include <stddef.h>
#include <stdint.h>

/* Before 1.0 a new minor version may change this interface, and the library has another soname then; a new
 * patch version never does. CMake and pkg-config take the version from these lines. */
#define STRIA_VERSION_MAJOR 0
#define STRIA_VERSION_MINOR 3
#define STRIA_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STRIA_API __attribute__((visibility("default")))
#else
#define STRIA_API
#endif

/* ---- status ---- */

typedef enum stria_status {
  STRIA_OK = 0,
  STRIA_IN_PROGRESS = 1,      /* accepted, not complete */
  STRIA_ERR_NO_RESOURCE = -1, /* nothing changed, retry after progress */
  STRIA_ERR_TRUNCATED = -2,   /* the message was longer than the receive; what fits was delivered */
  STRIA_ERR_CANCELLED = -3,
  STRIA_ERR_INVALID = -4, /* an argument breaks its rules; stria_last_error() names it */
  STRIA_ERR_UNSUPPORTED = -5,
  STRIA_ERR_UNREACHABLE = -6, /* no provider reaches the peer; stria_last_error() says why */
  STRIA_ERR_ACCESS = -7,      /* key stale, out of bounds, or without the right */
  STRIA_ERR_PEER_FAILED = -8, /* the remote worker is gone: its process died, or it was closed */
  STRIA_ERR_IO = -9           /* the system refused; stria_last_error() has the reason */
} stria_status_t;

/* A short text; never NULL. Any thread. */
STRIA_API const char* stria_status_string(stria_status_t status);
/* Why the last call of this thread that answered a negative status did so: the object, the limit and the
 * value. An outcome that stria_request_test, stria_request_wait or a call that waits answers has a reason of
 * its own, made from its request: the peer, both lengths of a truncated message, what of a key forbids the
 * access. In a callback, and after a receive that was complete at once, it is the reason of the outcome in
 * *info where that is negative. A call that succeeds leaves text and status as they are. Never NULL; valid
 * until the thread's next stria call. */
STRIA_API const char* stria_last_error(void);
/* The status that the text explains; STRIA_OK as long as no call of this thread failed. A program that looks
 * at a status later, when other calls may have failed, compares it with this one first. */
STRIA_API stria_status_t stria_last_error_status(void);
/* "0.3.0": the library's own version, to compare with STRIA_VERSION_*. */
STRIA_API const char* stria_version(void);

/* ---- opaque objects ---- */

typedef struct stria_context stria_context_t;   /* configuration, providers, memory domain */
typedef struct stria_worker stria_worker_t;     /* progress engine with its matching queues */
typedef struct stria_endpoint stria_endpoint_t; /* a worker's way to one remote worker */
typedef struct stria_layout stria_layout_t;     /* a committed description of memory; reference counted */
typedef struct stria_region stria_region_t;     /* registered memory */
typedef struct stria_key stria_key_t;           /* what reaches a peer's region */
typedef struct stria_message stria_message_t;   /* a message taken out of the queue by a matched probe */

/* An operation in flight. The memory is the caller's and must stay in place until the operation completed; it
 * needs no initialisation and may be used again afterwards. */
#define STRIA_REQUEST_SIZE 256
#define STRIA_REQUEST_ALIGN 16
typedef struct stria_request {
  union {
    unsigned char bytes[STRIA_REQUEST_SIZE];
    uint64_t words[STRIA_REQUEST_SIZE / 8];
  } opaque;
}
#if defined(__GNUC__)
__attribute__((aligned(STRIA_REQUEST_ALIGN)))
#endif
stria_request_t;

/* The outcome of an operation, also the answer of a probe. */
typedef struct stria_info {
  stria_status_t status; /* how it ended; STRIA_OK for a probe */
  uint32_t immediate;    /* the sender's 32 bits */
  uint64_t tag;          /* the sender's tag */
  uint64_t length;       /* bytes of the message as sent (packed size); may exceed what was received */
  uint64_t received;     /* bytes delivered to the receive's memory; 0 for a probe */
  uint64_t source;       /* the sender's worker id, see stria_worker_id() and stria_endpoint_info(); of a send
                            that failed, the receiver's */
} stria_info_t;

/* Called once when an operation that answered STRIA_IN_PROGRESS ends, from inside progress, wait or another
 * call on the same worker, by whichever thread makes that call, which holds the worker's lock. It may start,
 * test, probe for and cancel operations on the worker, and may reuse `request`; a progress call inside it
 * does nothing. A call that would wait for the worker, close it or one of its endpoints, or deregister one of
 * its regions answers INVALID there and does nothing. The callback may not take a lock that some thread holds
 * while it calls the worker. Requests that worker_close ends are called back, too; operations started then
 * answer CANCELLED. */
typedef void (*stria_callback_t)(stria_request_t* request, const stria_info_t* info, void* user);

/* ---- configuration ---- */

typedef struct stria_config_variable {
  const char* name;          /* "STRIA_EAGER_LIMIT" */
  const char* default_value; /* as text */
  const char* unit;          /* "bytes", "milliseconds", "choice", "" … */
  const char* meaning;       /* one sentence */
  const char* value;         /* in force now */
  const char* origin;        /* "default", "environment", or what stria_config_set was told */
} stria_config_variable_t;

/* stria_config_count: how many variables there are; stria_config_get: the one at `index`. Texts stay valid
 * until the next stria_config_set. The providers that STRIA_PROVIDERS names bring variables of their own, so
 * a set of that variable, or of STRIA_PROVIDER_PATH, may change the number and the places of those at the
 * end. */
STRIA_API size_t stria_config_count(void);
STRIA_API stria_status_t stria_config_get(size_t index, stria_config_variable_t* out);

typedef enum stria_config_level { STRIA_CONFIG_USER = 0, STRIA_CONFIG_EXPERT = 1 } stria_config_level_t;
/* The audience of the variable at `index`: STRIA_CONFIG_USER for people who run programs over stria,
 * STRIA_CONFIG_EXPERT for tuning and testing stria itself. An index without a variable gives EXPERT. */
STRIA_API stria_config_level_t stria_config_level(size_t index);

/* Sets a variable for contexts opened afterwards; it wins over the environment. `origin` is shown by
 * stria_info. INVALID for an unknown name or a malformed value, and for one that the process has read once
 * and for all by now (STRIA_VECTORS and others: docs/configuration.md); nothing changes then. */
STRIA_API stria_status_t stria_config_set(const char* name, const char* value, const char* origin);

/* ---- context ---- */

typedef struct stria_context_params {
  size_t size; /* sizeof(stria_context_params_t); lets the structure grow */
  const void*
      job_secret; /* shared by the processes of one job; others are refused. NULL: derived from the user id */
  size_t job_secret_bytes; /* 0 where job_secret is NULL, and only there */
  const char* name;        /* for messages, may be NULL */
} stria_context_params_t;

/* Opens a context. params may be NULL. Errors: INVALID (a malformed STRIA_* variable; params->size; a secret
 * without bytes, or bytes without a secret; more than STRIA_DEVICES_MAX providers: named), IO. */
STRIA_API stria_status_t stria_context_open(const stria_context_params_t* params, stria_context_t** out);
/* Closes it. NULL is ignored. INVALID, also in the log: workers of it are open; it stays as it is. */
STRIA_API stria_status_t stria_context_close(stria_context_t* context);

/* Memory that peers on this host can map, so that a rendezvous out of such a buffer is plain loads. Page
 * aligned, of zero bytes; takes one descriptor of the process. A child of fork() shares it with its parent.
 * Errors: IO (no memory, no descriptor: named); UNSUPPORTED (no provider in use has such memory). Any
 * thread. */
STRIA_API stria_status_t stria_mem_alloc(stria_context_t* context, uint64_t bytes, void** out);
/* Peers that have it mapped are not harmed. INVALID: not the beginning of an allocation. NULL is ignored. */
STRIA_API stria_status_t stria_mem_free(stria_context_t* context, void* memory);

/* ---- memory that goes away ---- */

/* For a program that hooks munmap and its like for itself, as MPI libraries do: it tells stria what goes, and
 * registrations of memory are kept between messages without a descriptor of the kernel's (userfaultfd), which
 * containers often refuse, and of files, too. Programs without such hooks need none of this. */
typedef struct stria_memory_hooks {
  size_t size; /* sizeof(stria_memory_hooks_t) */
  /* Called when the first device wants to know: from its return on, stria_memory_released is called before
   * any memory is unmapped, moved, dropped or mapped over. UNSUPPORTED: this cannot be promised. */
  stria_status_t (*install)(void);
  void (*remove)(void); /* called when the last such device closed */
} stria_memory_hooks_t;

/* For devices opened afterwards, in the whole process. NULL: no hooks any more. The structure is copied.
 * INVALID: a field is missing, or devices rely on hooks now; nothing changes then. Any thread. */
STRIA_API stria_status_t stria_set_memory_hooks(const stria_memory_hooks_t* hooks);
/* The memory goes away now. Any thread, also one that holds an allocator's lock: allocates nothing and takes
 * no lock. Cost: O(registrations kept). */
STRIA_API void stria_memory_released(const void* memory, uint64_t bytes);

/* ---- worker ---- */

typedef enum stria_thread_mode {
  STRIA_THREAD_SINGLE = 0,     /* one thread only */
  STRIA_THREAD_SERIALIZED = 1, /* any thread, one at a time; the caller sees to it */
  STRIA_THREAD_MULTIPLE = 2    /* any thread at any time; the worker takes its lock */
} stria_thread_mode_t;

typedef struct stria_worker_params {
  size_t size;
  stria_thread_mode_t thread_mode;
} stria_worker_params_t;

/* Devices of a worker, of all its providers together. Addresses and packed keys have a part for each: a
 * name of up to 64 bytes, and up to 256 bytes of an address, or 64 of a key. */
#define STRIA_DEVICES_MAX 8
/* Opens a worker: the devices of each provider (one, unless the provider's variables name several), and empty
 * queues. A device that cannot be opened, or whose part of the address is longer than 256 bytes, is not used:
 * named in the log. params may be NULL: SINGLE. The context must outlive it. Errors: INVALID (params->size,
 * thread_mode; more than STRIA_DEVICES_MAX devices: the provider is named); IO (no device opens: named with
 * the reasons, for instance no descriptor left). Any thread; from then on its thread mode counts. */
STRIA_API stria_status_t stria_worker_open(stria_context_t* context, const stria_worker_params_t* params,
                                           stria_worker_t** out);
/* Closes the worker and its endpoints. Sends that are under way are finished first, and a peer that this
 * process has sent to and that has not answered yet, as it makes no progress, is waited for;
 * STRIA_CLOSE_TIMEOUT_MS bounds both together. When all operations are complete at both ends, the call waits
 * for nothing, whatever the peers do. Requests still active are ended with CANCELLED. NULL is ignored. To
 * close two workers that talk to each other from one thread, first see the end of their operations on both.
 * INVALID, also in the log: inside a callback of the worker; it stays open. */
STRIA_API stria_status_t stria_worker_close(stria_worker_t* worker);

/* Job-wide unique, random, never 0 (but for a NULL worker). */
STRIA_API uint64_t stria_worker_id(const stria_worker_t* worker);
/* Copies the worker's address into `buffer`. *bytes: in, the room; out, what it needs. INVALID when too small
 * (with *bytes set). At most STRIA_ADDRESS_MAX bytes, which the parts of all its devices always fit. */
#define STRIA_ADDRESS_MAX 2608
STRIA_API stria_status_t stria_worker_address(const stria_worker_t* worker, void* buffer, size_t* bytes);
/* Moves everything that can move. Returns the number of events handled; 0 means idle, or a NULL worker. Waits
 * for nothing, with two exceptions: a message that both sides copy ends when the sender's copy does, so when
 * that process is stopped in those microseconds (SIGSTOP), the call lasts until it goes on or is killed; and
 * a peer on this host that is new, or whose mapped memory is, and is stopped, is waited for up to a second
 * once. */
STRIA_API unsigned stria_worker_progress(stria_worker_t* worker);
/* A descriptor that becomes readable when something arrives for an armed worker by any of its providers, when
 * another thread leaves work to it, or when it is time to see whether the peers live (STRIA_LIVENESS_MS).
 * Owned by the worker; it may be a member of an epoll set. Sleep on it or in stria_worker_wait(), one thread
 * on the descriptor. UNSUPPORTED: a provider in use cannot sleep. */
STRIA_API stria_status_t stria_worker_event_fd(stria_worker_t* worker, int* fd);
/* OK: nothing is waiting, the caller may sleep on the descriptor once. NO_RESOURCE: call progress first. */
STRIA_API stria_status_t stria_worker_arm(stria_worker_t* worker);
/* Progresses, spins a little, then sleeps until something was handled or `timeout_ms` passed (-1: no limit).
 * OK when something was handled, by this thread or another; IN_PROGRESS on timeout. What another thread
 * handled before the call does not end it: with threads wait for a request by stria_request_wait(), or with a
 * limit. Errors: INVALID (another negative limit; inside a callback of the worker). */
STRIA_API stria_status_t stria_worker_wait(stria_worker_t* worker, int timeout_ms);

/* Counts since the worker was opened. */
typedef struct stria_counters {
  size_t size;
  uint64_t sent_pio;        /* messages stored inline by the CPU */
  uint64_t sent_buffered;   /* messages packed into provider memory */
  uint64_t sent_rendezvous; /* messages announced by RTS */
  uint64_t copied_own; /* messages to the worker itself that were copied to their receive at once; in none of
                          the others */
  uint64_t received_eager;
  uint64_t received_get;         /* rendezvous moved by a get through a key */
  uint64_t received_mapped;      /* rendezvous moved by loads from mapped memory */
  uint64_t received_mapped_both; /* the same, of which the sender stores a part */
  uint64_t received_pipeline;    /* rendezvous moved by the packed pipeline */
  uint64_t rail_pieces; /* pieces of got and packed ones that came by further links (several devices) */
  uint64_t unexpected_messages; /* in the unexpected queue now */
  uint64_t unexpected_bytes;    /* memory of the buffers that hold their payload now */
  uint64_t unexpected_bytes_max;
  uint64_t posted_receives; /* in the posted queue now */
  uint64_t fallbacks;       /* links that came up without their best path, and later refusals of a path */
} stria_counters_t;
/* Copies the counters into *out, whose `size` the caller has set to sizeof(stria_counters_t). Takes no part
 * in progress and changes nothing. Errors: INVALID (another size). */
STRIA_API stria_status_t stria_worker_counters(stria_worker_t* worker, stria_counters_t* out);

/* ---- endpoint ---- */

typedef enum stria_endpoint_class {
  STRIA_CLASS_DEFAULT = 0,
  STRIA_CLASS_LOW_LATENCY = 1
} stria_endpoint_class_t;

typedef struct stria_endpoint_params {
  size_t size;
  const void* address; /* what the peer's stria_worker_address() gave */
  size_t address_bytes;
  stria_endpoint_class_t endpoint_class;
  void* user; /* returned by stria_endpoint_info() */
} stria_endpoint_params_t;

typedef struct stria_endpoint_state {
  size_t size;
  uint64_t peer; /* the remote worker's id */
  void* user;
  int connected;        /* 0 until the first message makes it connect; 1 also while its provider still asks */
  const char* provider; /* "shm"; "" before it is connected. Valid while the endpoint is open */
  const char* path;     /* for people: "pio window 8 KiB + cma + mapped memory (attached by proc)" */
  const char* fallback; /* why a better path is not used; "" if none */
  uint64_t pio_mtu;     /* longest message the PIO window takes; 0 without a window */
  uint64_t pio_credits; /* bytes of the window free now */
  uint64_t eager_limit; /* longest message sent without rendezvous; many small blocks are announced earlier */
  const char* rendezvous; /* for people: what this side chooses from for messages of the peer beyond it */
} stria_endpoint_state_t;

/* Opens an endpoint; cheap, connects on first use. Two endpoints of one worker to the same peer share their
 * link and its order. Errors: INVALID (not an address, another version, an unknown endpoint_class: named),
 * UNREACHABLE. */
STRIA_API stria_status_t stria_endpoint_open(stria_worker_t* worker, const stria_endpoint_params_t* params,
                                             stria_endpoint_t** out);
/* Connects now instead of with the first message. OK; IN_PROGRESS: the provider asks its network, progress
 * and the same call again tell what becomes of it; PEER_FAILED when the peer is gone (its process ended, or
 * its worker was closed), UNREACHABLE when no provider reaches it. */
STRIA_API stria_status_t stria_endpoint_connect(stria_endpoint_t* endpoint);
/* Describes the endpoint as it is now in *out, whose `size` the caller has set to
 * sizeof(stria_endpoint_state_t). Does not connect. The texts are the library's: `provider` is valid while
 * the endpoint is open, the others until the calling thread's next call of this. Errors: INVALID (another
 * size). */
STRIA_API stria_status_t stria_endpoint_info(stria_endpoint_t* endpoint, stria_endpoint_state_t* out);
/* Closes it; operations in flight go on. NULL is ignored. INVALID: inside a callback of its worker (also in
 * the log), or it is closed already; nothing happens. */
STRIA_API stria_status_t stria_endpoint_close(stria_endpoint_t* endpoint);

/* ---- layouts ---- */

/* Constructors: stria_layout_bytes, stria_layout_contiguous, stria_layout_vector, stria_layout_indexed,
 * stria_layout_composite, stria_layout_resized, stria_layout_subarray. Offsets, strides and displacements are
 * signed bytes relative to the base address of an operation. Each returns a canonical layout with one
 * reference; children may be freed afterwards. Errors: INVALID (negative count, a count of list entries that
 * no memory holds, an overflow of 64 bits: named). Any thread. */
STRIA_API stria_status_t stria_layout_bytes(int64_t bytes, stria_layout_t** out);
STRIA_API stria_status_t stria_layout_contiguous(int64_t count, const stria_layout_t* child,
                                                 stria_layout_t** out);
STRIA_API stria_status_t stria_layout_vector(int64_t count, int64_t blocklen, int64_t stride_bytes,
                                             const stria_layout_t* child, stria_layout_t** out);
STRIA_API stria_status_t stria_layout_indexed(int64_t count, const int64_t* blocklens,
                                              const int64_t* displacements_bytes, const stria_layout_t* child,
                                              stria_layout_t** out);
STRIA_API stria_status_t stria_layout_composite(int64_t count, const int64_t* child_counts,
                                                const int64_t* displacements_bytes,
                                                const stria_layout_t* const* children, stria_layout_t** out);
STRIA_API stria_status_t stria_layout_resized(const stria_layout_t* child, int64_t lower_bound,
                                              int64_t extent, stria_layout_t** out);
/* The order of an array's indices in memory. */
typedef enum stria_order {
  STRIA_ORDER_C = 0,      /* the last index is the fastest */
  STRIA_ORDER_FORTRAN = 1 /* the first index is the fastest */
} stria_order_t;
#define STRIA_DIMENSIONS_MAX 64
/* A box of an array of `ndims` dimensions, as MPI_Type_create_subarray has it: of dimension d, which has
 * sizes[d] indices, the subsizes[d] from starts[d] on (which may be none). One element is one `child`, as far
 * from the next one as its extent. Offset 0 is the array's first element; the extent is that of the whole
 * array, so that consecutive instances lie in consecutive arrays. Errors: INVALID (ndims is not 1 to
 * STRIA_DIMENSIONS_MAX; a dimension's box is not inside it; another order; beyond 64 bits: named, with the
 * dimension). */
STRIA_API stria_status_t stria_layout_subarray(int64_t ndims, const int64_t* sizes, const int64_t* subsizes,
                                               const int64_t* starts, stria_order_t order,
                                               const stria_layout_t* child, stria_layout_t** out);
/* One reference more, to be given back by one stria_layout_free(); returns its argument. A region keeps a
 * reference of its own, an operation under way does not. NULL gives NULL. Any thread. */
STRIA_API stria_layout_t* stria_layout_retain(const stria_layout_t* layout);
/* Gives one reference back; the last frees the layout. NULL is ignored. Any thread. */
STRIA_API void stria_layout_free(stria_layout_t* layout);

typedef struct stria_layout_figures {
  int64_t size; /* bytes of data in one instance */
  int64_t lower_bound;
  int64_t extent; /* distance of consecutive instances */
  int64_t true_lower_bound;
  int64_t true_extent;
  int64_t blocks; /* contiguous runs in one instance */
} stria_layout_bounds_t;
/* The figures of one instance, all of them bytes but `blocks`. O(1). Errors: INVALID (NULL). Any thread. */
STRIA_API stria_status_t stria_layout_bounds(const stria_layout_t* layout, stria_layout_bounds_t* out);
/* Writes the tree, its figures, the kernel that packs it, or those of its parts, and its descriptor forms
 * with their sizes as text for people into `buffer` (always terminated); returns the bytes needed. */
STRIA_API size_t stria_layout_dump(const stria_layout_t* layout, char* buffer, size_t bytes);
/* stria_layout_pack and stria_layout_unpack copy the bytes [offset, offset + length) of the packed stream of
 * `count` instances at `base` out of the layout's memory, or into it. `base` may be NULL for a layout whose
 * displacements are addresses. INVALID when out of range. Any thread. */
STRIA_API stria_status_t stria_layout_pack(const stria_layout_t* layout, const void* base, int64_t count,
                                           int64_t offset, int64_t length, void* out);
STRIA_API stria_status_t stria_layout_unpack(const stria_layout_t* layout, void* base, int64_t count,
                                             int64_t offset, int64_t length, const void* in);

/* ---- tagged messages ---- */

enum {
  STRIA_SEND_SYNCHRONOUS = 1u << 0, /* completes only after the receiver matched it */
  /* Completes at once or does nothing and answers NO_RESOURCE; `request` may be NULL. For a caller that would
   * rather prepare a request only when one is needed. Of an endpoint that is not connected it begins to
   * connect, and does nothing else. The answer may stay the same for ever: of a message that is announced
   * (longer than the eager limit, or of many small blocks) or SYNCHRONOUS, and without credit. */
  STRIA_SEND_IMMEDIATE = 1u << 1
};

typedef struct stria_send_args {
  const void* base;             /* base address; with a layout, offset 0 of it */
  const stria_layout_t* layout; /* NULL: `count` contiguous bytes */
  uint64_t count;               /* instances of the layout, or bytes */
  uint64_t tag;
  uint32_t immediate;
  uint32_t flags;            /* STRIA_SEND_* */
  stria_callback_t callback; /* may be NULL: the caller tests */
  void* user;
} stria_send_t;

/* Starts a send. OK: complete, no callback comes, and `request` tells its outcome. IN_PROGRESS: `request` is
 * active. Either way it may be tested and waited for. A message to the worker itself whose receive is posted
 * is copied at once, and that receive's callback runs in this call. Errors: INVALID (an unknown flag among
 * others), UNREACHABLE, PEER_FAILED. Back-pressure is not an error: the send waits in the worker (except
 * STRIA_SEND_IMMEDIATE, which answers NO_RESOURCE). */
STRIA_API stria_status_t stria_send(stria_endpoint_t* endpoint, const stria_send_t* send,
                                    stria_request_t* request);
/* stria_send_wait, stria_recv_wait, stria_put_wait, stria_get_wait, stria_atomic_wait: start the operation as
 * the call without _wait does, progress the worker until it ended, and answer its outcome; a negative status
 * is either that or why nothing was started. The callback must be NULL, and STRIA_SEND_IMMEDIATE may not be
 * among the flags. INVALID inside a callback of the worker. */
STRIA_API stria_status_t stria_send_wait(stria_endpoint_t* endpoint, const stria_send_t* send);

typedef struct stria_match {
  stria_endpoint_t* source; /* NULL: any */
  uint64_t tag;
  uint64_t ignore; /* bits of the tag that need not agree; 0: exact */
} stria_match_t;

typedef struct stria_recv_args {
  void* base;
  const stria_layout_t* layout; /* NULL: `count` contiguous bytes */
  uint64_t count;
  stria_match_t match;
  stria_callback_t callback;
  void* user;
  uint32_t flags; /* STRIA_RECV_* */
  /* Where a receive that is complete at once leaves its outcome, too; NULL: in its request alone. */
  stria_info_t* info;
} stria_recv_t;

/* Looks first whether the message lies in the window of its source already, and takes it from there, which is
 * the shortest way there is. That is a piece of progress: other receives of the worker may end meanwhile,
 * their callbacks run in this call. Without the flag a receive finds what earlier progress found. */
#define STRIA_RECV_LOOK 1u
/* Beside STRIA_RECV_LOOK: the caller does nothing else until the message is there. So the window is looked at
 * for about a microsecond before the receive is posted; that is how long the call lasts when nothing comes.
 */
#define STRIA_RECV_WAITS 2u

/* Starts a receive. OK: complete, no callback comes; the outcome (which may be TRUNCATED or another error) is
 * in `request`, and in *recv->info where that is given. IN_PROGRESS: active. Either way `request` may be
 * tested and waited for. Errors: INVALID (an unknown flag, a source that is another worker's endpoint, among
 * others); PEER_FAILED when `source` is known to be gone. A receive that waits for a source that is gone,
 * also for one that died before it ever connected, ends with PEER_FAILED within STRIA_LIVENESS_MS of
 * progress. */
STRIA_API stria_status_t stria_recv(stria_worker_t* worker, const stria_recv_t* recv,
                                    stria_request_t* request);
/* See stria_send_wait; *info (may be NULL) says how it ended. The shortest way to receive: it looks for the
 * message as with STRIA_RECV_LOOK, and with STRIA_RECV_WAITS where no other thread uses the worker. */
STRIA_API stria_status_t stria_recv_wait(stria_worker_t* worker, const stria_recv_t* recv,
                                         stria_info_t* info);

/* IN_PROGRESS: active. Else the outcome: OK, or a negative status; *info (may be NULL) has the details, and
 * `status` of it is the same. Makes no progress of its own. The request is one that a call answered OK or
 * IN_PROGRESS for; of others nothing is known. */
STRIA_API stria_status_t stria_request_test(const stria_request_t* request, stria_info_t* info);
/* Progresses until the request ended; answers its outcome as stria_request_test does. Errors of the call
 * itself: INVALID (the request is active on another worker; inside a callback of the worker). */
STRIA_API stria_status_t stria_request_wait(stria_worker_t* worker, stria_request_t* request,
                                            stria_info_t* info);
/* Cancels a receive that was not matched: OK, it ended with CANCELLED (its callback ran). NO_RESOURCE: too
 * late, it completes as usual, or has ended. UNSUPPORTED: an active send, put, get or atomic. INVALID: a
 * request of another worker. */
STRIA_API stria_status_t stria_request_cancel(stria_worker_t* worker, stria_request_t* request);

/* OK: the first message that matches is described in *info and stays queued. IN_PROGRESS: none. No progress.
 * INVALID: NULL, or a source that is another worker's endpoint. PEER_FAILED: none, and `source` is gone; one
 * that never connected is noticed by later progress, within STRIA_LIVENESS_MS. */
STRIA_API stria_status_t stria_probe(stria_worker_t* worker, const stria_match_t* match, stria_info_t* info);
/* As stria_probe, and takes the message out of the queue; it must be received by stria_mrecv, or goes with
 * its worker. */
STRIA_API stria_status_t stria_mprobe(stria_worker_t* worker, const stria_match_t* match,
                                      stria_message_t** message, stria_info_t* info);
/* Receives a message taken by stria_mprobe of the same worker; recv->match is not looked at. `message` is
 * consumed, unless the answer is negative. The outcome is PEER_FAILED when its sender was lost before its
 * data came. */
STRIA_API stria_status_t stria_mrecv(stria_worker_t* worker, stria_message_t* message,
                                     const stria_recv_t* recv, stria_request_t* request);

/* ---- remote memory ---- */

enum {
  STRIA_ACCESS_REMOTE_READ = 1u << 0,
  STRIA_ACCESS_REMOTE_WRITE = 1u << 1,
  STRIA_ACCESS_REMOTE_ATOMIC = 1u << 2, /* stria_atomic() */
  /* Beside REMOTE_ATOMIC: what the owner's CPU does atomically to the memory (C11, C++ or __atomic), is
   * atomic with what peers do to it. So it is never left to an adapter; see stria_atomic(). */
  STRIA_ACCESS_ATOMIC_WITH_CPU = 1u << 3
};

/* Registers `count` instances of `layout` (NULL: bytes) at `base` for peers of `worker`. Remote offset 0 is
 * the first byte in typemap order. The region keeps a reference to the layout; the memory stays the caller's.
 * `access` is of STRIA_ACCESS_* bits. Errors: INVALID (named). A provider
 * that has no key left for it, or none for such memory, is no error: the owner's engine then does what peers
 * ask for when it makes progress. */
STRIA_API stria_status_t stria_region_register(stria_worker_t* worker, void* base,
                                               const stria_layout_t* layout, uint64_t count, unsigned access,
                                               stria_region_t** out);
/* Makes the key unusable, waits (with progress) for accesses under way, and frees the region. NULL is
 * ignored. INVALID, also in the log: inside a callback of its worker; nothing happens. */
STRIA_API stria_status_t stria_region_deregister(stria_region_t* region);
#define STRIA_KEY_MAX 1080
/* Copies the region's packed key, to be given to peers by any means, into `buffer`. *bytes: in, the room;
 * out, what it needs, at most STRIA_KEY_MAX, which the keys of all devices always fit. INVALID when too small
 * (with *bytes set). The bytes stay right until the region is deregistered; later uses of them end with
 * ACCESS. */
STRIA_API stria_status_t stria_region_key(const stria_region_t* region, void* buffer, size_t* bytes);
/* Makes a key out of the `bytes` packed ones that the endpoint's peer gave, neither more nor fewer. Does not
 * connect. Errors: INVALID (no key, another version, cut short, bytes behind it, or of another worker than
 * the endpoint leads to: named). The key is a value of its own: it serves all endpoints to that worker, and
 * may be closed before or after them. */
STRIA_API stria_status_t stria_key_open(stria_endpoint_t* endpoint, const void* packed, size_t bytes,
                                        stria_key_t** out);
/* Frees it. Puts, gets and atomics read their key before they return, so those under way do not need it. NULL
 * is ignored. */
STRIA_API void stria_key_close(stria_key_t* key);

typedef struct stria_rma {
  void* base;                   /* local memory */
  const stria_layout_t* layout; /* NULL: bytes */
  uint64_t count;
  const stria_key_t* key;
  uint64_t remote_offset; /* bytes in the packed stream of the remote region */
  stria_callback_t callback;
  void* user;
} stria_rma_t;

/* stria_put moves bytes to a peer's region, stria_get from it. As stria_send for OK and IN_PROGRESS; a
 * completed put is visible to the peer. An operation that the path to the peer has no room for waits in the
 * worker and goes by that path later: the peer need not make progress where the path needs none. Waiting
 * puts, gets and atomics to one peer begin in the order of the calls. Errors: ACCESS (stale key, bounds,
 * right: named), PEER_FAILED, INVALID (a key of another worker than the endpoint leads to, among others). */
STRIA_API stria_status_t stria_put(stria_endpoint_t* endpoint, const stria_rma_t* rma,
                                   stria_request_t* request);
STRIA_API stria_status_t stria_get(stria_endpoint_t* endpoint, const stria_rma_t* rma,
                                   stria_request_t* request);
/* stria_put_wait and stria_get_wait: see stria_send_wait. */
STRIA_API stria_status_t stria_put_wait(stria_endpoint_t* endpoint, const stria_rma_t* rma);
STRIA_API stria_status_t stria_get_wait(stria_endpoint_t* endpoint, const stria_rma_t* rma);

/* What is done to a word of 64 bits; none is 0, so that a field left out is noticed. */
typedef enum stria_atomic_op {
  STRIA_ATOMIC_FETCH_ADD = 1,   /* word = word + operand, modulo 2^64 */
  STRIA_ATOMIC_COMPARE_SWAP = 2 /* word = operand where it was `compare`; else it stays */
} stria_atomic_op_t;

typedef struct stria_atomic_args {
  size_t size; /* sizeof(stria_atomic_t) */
  stria_atomic_op_t op;
  const stria_key_t* key;
  uint64_t remote_offset; /* bytes in the packed stream of the remote region; a multiple of 8 */
  uint64_t operand;       /* in this host's byte order, like everything here */
  uint64_t compare;       /* of COMPARE_SWAP */
  uint64_t* result;       /* gets the word as it was before; written only by an atomic that ends with OK */
  stria_callback_t callback;
  void* user;
} stria_atomic_t;

/* Reads and changes one word of a peer's region, as one step. The word is 8 bytes of the region's stream that
 * lie together in its memory, at an address that is a multiple of 8. As stria_send for OK and IN_PROGRESS;
 * `result` belongs to the operation until it ended, the rest of *atomic only until the call returns.
 * All atomics on one region are atomic with each other, whoever starts them and by whatever way they go: the
 * owner said at registration who performs them, an adapter or CPUs. The owner's own loads and stores are
 * atomic with them only under STRIA_ACCESS_ATOMIC_WITH_CPU; without it the owner uses stria_atomic() on an
 * endpoint to itself. Two regions over the same memory are not atomic with each other. Atomics that are under
 * way at the same time are performed in any order, also with puts and gets; a completed one was performed,
 * and is visible to the peer. Where neither an adapter nor this CPU can reach the memory, the owner performs
 * it when it progresses.
 * Errors: INVALID (size, op, an offset that is no multiple of 8; also as outcome: the word's bytes lie apart,
 * or at no multiple of 8); ACCESS (stale key, bounds, right); UNSUPPORTED (an adapter performs the region's
 * atomics, and ours has none); UNREACHABLE, PEER_FAILED, after which the word may have been changed or not.
 * Threads: as the worker's. */
STRIA_API stria_status_t stria_atomic(stria_endpoint_t* endpoint, const stria_atomic_t* atomic,
                                      stria_request_t* request);
/* See stria_send_wait. */
STRIA_API stria_status_t stria_atomic_wait(stria_endpoint_t* endpoint, const stria_atomic_t* atomic);

#ifdef __cplusplus
}
#endif
#endif
