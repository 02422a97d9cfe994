/* The provider contract: what drives one kind of path under stria (sockets, an adapter, shared memory, ...).
 *
 * A provider outside this tree is a shared library libstria_provider_NAME.so that exports one symbol,
 *     const stria_provider_t stria_provider_v7;
 * found in a folder of STRIA_PROVIDER_PATH or the installed one and enabled by STRIA_PROVIDERS=NAME. It
 * includes this header and no other of stria. docs/providers.md walks through one.
 *
 * The table has a core, which every provider fills, and groups, each a structure of its own: a pointer to it
 * declares the group, and NULL says that the provider has none of it. A declared group is complete. Groups
 * for a provider whose peers share memory with it are in stria/provider_coresident.h; no other provider needs
 * to read that header.
 *
 * Words: a device is a provider's instance under one worker, which may have several; a link is its connection
 * to one remote device. A packet is a 16-byte header and up to eager_max bytes of payload. The engines above
 * decide what packets mean; a provider moves them, intact, in any order between links, and may reorder
 * packets of one link only between its PIO and its buffered path: matching restores MPI's order from the
 * sequence number.
 *
 * Threads: a device and its links are used by one thread at a time (the worker's lock is held above).
 * Answers: STRIA_ERR_NO_RESOURCE means that nothing changed and the call may be repeated after progress.
 */
#ifndef STRIA_PROVIDER_H
#define STRIA_PROVIDER_H

#include <stdint.h>
#include <sys/uio.h>

#include "stria/stria.h"
#include "stria/variable.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STRIA_PROVIDER_VERSION 7u

typedef struct stria_device stria_device_t;
typedef struct stria_link stria_link_t;

/* What travels in front of every payload; the fields belong to the engines (transport/wire.hpp). */
typedef struct stria_header {
  uint8_t kind; /* never 0 */
  uint8_t flags;
  uint16_t sequence;
  uint32_t immediate;
  uint64_t tag;
} stria_header_t;

/* Bytes [offset, offset + length) of the packed stream of `count` instances of a layout at `base`. */
typedef struct stria_payload {
  /* Opaque (stria_services_t handles it); NULL: contiguous, the stream is the memory at base. */
  const void* layout;
  void* base;
  int64_t count;
  int64_t offset;
  int64_t length;
} stria_payload_t;

/* A provider's part of a region's key: the provider alone knows what the bytes mean. The keys of a provider
 * with the group `memory` have bits that engines read as well (stria/provider_coresident.h). */
#define STRIA_PROVIDER_KEY_MAX 64
typedef struct stria_provider_key {
  uint32_t bytes;
  uint8_t data[STRIA_PROVIDER_KEY_MAX];
} stria_provider_key_t;

/* Called from progress or check when a get, put, atomic or zero-copy send that answered STRIA_IN_PROGRESS
 * ends: once for each. */
typedef struct stria_completion {
  void (*done)(struct stria_completion* self, stria_status_t status);
} stria_completion_t;

/* 64 bits of remote memory, read and changed as one step. Valid during the call; `result` is memory of the
 * caller until the end. */
typedef struct stria_remote_atomic {
  uint32_t op; /* stria_atomic_op_t */
  uint32_t reserved;
  uint64_t offset; /* of the word in the remote region's stream */
  uint64_t operand;
  uint64_t compare;
  uint64_t* result; /* gets the word as it was before, with OK */
} stria_remote_atomic_t;

/* ---- upcalls: what the worker does for a provider ---- */

typedef struct stria_packet {
  const stria_header_t* header;
  const void* payload; /* valid during the call of deliver */
  uint32_t bytes;
  /* 0: it came through the PIO path; 1: through the buffered path. STRIA_PACKET_PLACED may be beside it, and
   * the group keep has more bits. */
  uint32_t buffered;
  uint64_t keep; /* 0, unless the provider has the group keep */
} stria_packet_t;

/* A bit of stria_packet_t.buffered: all of the payload is in the memory that the sink's `place` named, and
 * `payload` is NULL.
 */
#define STRIA_PACKET_PLACED 8u

/* A bit of deliver's answer. When it is not set, stop delivering from this link until the next call: the
 * receive for the next packet may be posted by then. */
#define STRIA_DELIVERED_GO_ON 1u

typedef struct stria_sink {
  void* self;
  /* A packet arrived on the link whose cookie is `peer`. Consumes it before it returns; may start sends.
   * Returns STRIA_DELIVERED_* bits. */
  uint32_t (*deliver)(void* self, void* peer, const stria_packet_t* packet);
  /* A remote worker connected on its own. Returns the cookie of its packets. Comes before its first packet.
   */
  void* (*peer_up)(void* self, uint64_t worker_id, stria_link_t* link);
  /* The link is dead. Before it, everything received was delivered, and the completions of all gets, puts,
   * atomics and zero-copy sends of the link that answered IN_PROGRESS were called: no memory of theirs is
   * touched any more, and no payload of the link is placed any more. A packet whose payload was being placed
   * and did not come whole is not delivered. No call on the link may follow but those of the group keep.
   * `why`: PEER_FAILED when the peer is gone, whether it died or closed; UNREACHABLE when it refuses us, or
   * did not answer a connect; IO when what it sent makes no sense, or the system ended the link. It is said
   * of this link alone: links to the peer by other devices go on. */
  void (*link_down)(void* self, void* peer, stria_status_t why);
  /* What link_limits answers of the link is different now (but for its credits). During progress or check, or
   * a call of the group look. */
  void (*link_changed)(void* self, void* peer);
  /* Where the payload of a packet is to go. For a provider that reads a header before its payload, as from a
   * socket; any other need not ask. `bytes` of payload, more than 0, belong to the header, which came on the
   * link whose cookie is `peer`.
   * 1: into *memory, a range of as many bytes that belongs to a receive. From now on the provider may write
   * the payload there, in any number of steps and any order, and nothing else. When all of it is there it
   * delivers the packet with STRIA_PACKET_PLACED, in its turn. The memory stays the provider's until then, or
   * until link_down of the link, or until close returns, whatever becomes of the receive: the sink gives it
   * back to its owner only after that. A provider drops no packet that is placed unless the link dies.
   * 0: into memory of the provider. The packet is delivered as any other.
   * Asked at most once for a packet, from progress, check or a call of the group look, also before earlier
   * packets are delivered, and for several packets of a link at a time. *memory is valid during the call, and
   * its layout as long as the memory is the provider's. The sink calls nothing of the device from inside. */
  int (*place)(void* self, void* peer, const stria_header_t* header, uint32_t bytes, stria_payload_t* memory);
} stria_sink_t;

/* Equal blocks at equal distances, in the order of the stream. */
typedef struct stria_blocks {
  void* first;
  int64_t count;
  int64_t bytes;  /* of one */
  int64_t stride; /* from one to the next; may be negative */
} stria_blocks_t;

typedef void (*stria_memory_released_t)(void* self, const void* memory, uint64_t bytes);

/* Layout services, so that a provider outside the tree can gather and scatter; the log; memory that goes
 * away. Any thread; the layout services allocate nothing. */
typedef struct stria_services {
  uint32_t size;
  uint32_t version;
  void (*pack)(const stria_payload_t* payload, void* out);
  void (*unpack)(const stria_payload_t* payload, const void* in);
  /* Fills up to `max` entries from payload->offset on; *covered bytes are described. Returns the entries
   * filled: also fewer than `max` say nothing of the end, *covered does. Go on from there. */
  size_t (*iovecs)(const stria_payload_t* payload, struct iovec* out, size_t max, int64_t* covered);
  void (*log)(int level, const char* text); /* 2 info, 3 warning, 4 error */
  /* 1: all `count` instances (offset and length are not looked at) are such blocks, *out. 0: they are not.
   * O(1). */
  int (*blocks)(const stria_payload_t* payload, stria_blocks_t* out);
  /* 1: until unwatch_memory, `released` is called before memory of the process goes away, by the thread that
   * takes it away: it allocates nothing and takes no lock. 0: the application has no hooks
   * (stria_set_memory_hooks), or there are too many watchers. */
  int (*watch_memory)(stria_memory_released_t released, void* self);
  /* No call of it is under way on return. */
  void (*unwatch_memory)(stria_memory_released_t released, void* self);
} stria_services_t;

/* ---- what a device can do ---- */

/* The bits of stria_capabilities_t.flags; what is absent is not used, and nothing is emulated silently.
 *
 * These follow from the table: from the core and from the groups that it declares. A provider never states
 * them. A device that cannot do all that its provider's table has says so in `lacks`, or by pio_max 0 or an
 * event_fd of -1. */
#define STRIA_CAP_PIO (1ull << 0)
#define STRIA_CAP_EAGER (1ull << 1)
#define STRIA_CAP_GET (1ull << 2) /* whether a given link can: stria_link_limits_t */
#define STRIA_CAP_PUT (1ull << 3)
#define STRIA_CAP_FAST_REGISTER (1ull << 4)
#define STRIA_CAP_LOCAL_INVALIDATE (1ull << 5)
#define STRIA_CAP_SEND_INVALIDATE (1ull << 7)
/* With STRIA_CAP_MAP_MEMORY it is CPUs that perform them, and they are atomic with those of the owner's CPU;
 * else it is an adapter, whose are atomic with each other only. */
#define STRIA_CAP_ATOMICS (1ull << 16)
#define STRIA_CAP_EVENT_FD (1ull << 22)   /* can sleep */
#define STRIA_CAP_MAP_MEMORY (1ull << 23) /* group memory: peers load and store it directly */
#define STRIA_CAP_OFFLOAD (1ull << 24)    /* an adapter moves what is got and put on links with `offload` */
#define STRIA_CAP_ZCOPY (1ull << 26)      /* group bulk: packets are sent out of the caller's memory */

/* These are facts that no function shows; a provider states them in `flags`. */
#define STRIA_CAP_INVALIDATE_FENCE (1ull << 6) /* invalidate is ordered after earlier work */
#define STRIA_CAP_READ_INVALIDATE (1ull << 8)
#define STRIA_CAP_WINDOW_1 (1ull << 9) /* memory windows */
#define STRIA_CAP_WINDOW_2A (1ull << 10)
#define STRIA_CAP_WINDOW_2B (1ull << 11)
#define STRIA_CAP_ZERO_BASED (1ull << 12)
#define STRIA_CAP_BLOCK_LIST (1ull << 13)
#define STRIA_CAP_STRIDED (1ull << 14)   /* strided regions behind one key */
#define STRIA_CAP_COMPOSITE (1ull << 15) /* regions of several parts behind one key */
#define STRIA_CAP_MASKED_ATOMICS (1ull << 17)
#define STRIA_CAP_XRC (1ull << 18)
#define STRIA_CAP_LOOPBACK_BLOCKING (1ull << 19)
#define STRIA_CAP_LOW_LATENCY_QP (1ull << 20)
#define STRIA_CAP_ON_DEMAND_PAGING (1ull << 21)
#define STRIA_CAP_GROWING (1ull << 25) /* its links may have `grows` */
#define STRIA_CAP_PLACES (1ull << 27)  /* it asks the sink where payloads are to go */

typedef struct stria_capabilities {
  uint64_t flags;       /* the facts; engines see the bits that follow from the table beside them */
  uint64_t lacks;       /* STRIA_CAP_* bits of the table that this device has not */
  uint32_t pio_max;     /* payload bytes of one pio_send; 0: this device has no windows */
  uint32_t pio_windows; /* how many links can have a PIO window */
  uint32_t pio_window_bytes;
  uint32_t pio_mtu;       /* longest message a window takes, header included */
  uint32_t eager_max;     /* payload bytes of one eager_send */
  uint32_t key_bits;      /* consumer key bits */
  uint32_t strided_depth; /* levels of a strided region behind one key; 0: any */
  uint32_t max_sge;       /* entries of one gather or scatter list */
  uint32_t max_keys;
} stria_capabilities_t;

/* What one link can do now. A fact of a group that the provider does not declare is 0. */
typedef struct stria_link_limits {
  uint32_t eager_max;
  const char* path;     /* for people: "pio window 8 KiB + cma + mapped memory"; valid while the link is */
  const char* fallback; /* why a better path is not used; "" if none */
  /* Group pio. */
  uint32_t pio_max;     /* 0: this link has no window */
  uint32_t pio_credits; /* bytes free now */
  uint32_t low_latency; /* the link was given a window for its class */
  /* Groups get, put, atomic, keys. */
  uint32_t can_get;    /* 0: get answers UNSUPPORTED on this link */
  uint32_t can_put;    /* 0: put does */
  uint32_t can_atomic; /* 0: atomic does, unless `can_map` and the key allow it */
  uint32_t gathers;    /* keys may show memory that lies apart as one run: STRIA_REGISTER_GATHERED */
  /* Group bulk: payload bytes of one zcopy_send, which may be more than eager_max; 0: zcopy_send answers
   * UNSUPPORTED on this link. */
  uint32_t zcopy_max;
  /* Group offload. 1: gets and puts are moved, and keys checked, by an adapter. Both processes go on
   * meanwhile, get_finish works, a key is ended by one side alone, and an access that the adapter refuses
   * ends the link: ACCESS, or PEER_FAILED where it does not say why. */
  uint32_t offload;
  /* Groups memory and keep; stria/provider_coresident.h says what they mean. */
  uint32_t can_map;
  uint32_t grows;
  uint32_t far;
  /* Nanoseconds that a short packet takes to the peer. 0: as little as between two cores, or not known. An
   * engine weighs a further way there and back against the work that it would hide. */
  uint32_t latency_ns;
} stria_link_limits_t;

/* ---- the groups ---- */

/* Payload bytes that a provider can always send, also when its eager buffers are exhausted. */
#define STRIA_SMALL_PAYLOAD 32

/* pio: the CPU stores header and payload into a window of the peer or of the adapter. */
typedef struct stria_group_pio {
  uint32_t size;
  /* Header and payload are stored now, bytes <= pio_max. OK, NO_RESOURCE (no credit), PEER_FAILED. */
  stria_status_t (*pio_send)(stria_link_t* link, const stria_header_t* header, const void* payload,
                             uint32_t bytes);
} stria_group_pio_t;

/* A bit of fast_register's `access`, beside STRIA_ACCESS_*: a key by which a get of all of the memory is one
 * request of the adapter, however the memory lies, or none. For links with `gathers`. */
#define STRIA_REGISTER_GATHERED (1u << 18)

/* keys: memory is registered and named by a key in the data path, and keys end. */
typedef struct stria_group_keys {
  uint32_t size;
  /* Makes a key for count instances of the layout at base (offset and length of `memory` are not looked at),
   * valid before any later packet of the link is delivered. O(1). link: the key serves this link's peer, by
   * this link; NULL: any link of the device, and it may cost a system call. `access`: STRIA_ACCESS_* bits,
   * and STRIA_REGISTER_* bits. UNSUPPORTED: no key can describe this, or the system registers no such memory;
   * the message goes packed, and other memory is registered as before. */
  stria_status_t (*fast_register)(stria_device_t* device, stria_link_t* link, const stria_payload_t* memory,
                                  unsigned access, stria_provider_key_t* key);
  /* The key is unusable on return: no access through it succeeds any more. Cost: O(accesses under way).
   * ACCESS: it is no valid key of this device (ended before, never made, of another length); nothing changed.
   */
  stria_status_t (*invalidate)(stria_device_t* device, const stria_provider_key_t* key);
  /* Sends as pio_send does, and `key` (of the remote device) is invalid before the packet is delivered.
   * ACCESS: these bytes are no key; nothing was sent. A key that had ended already does not keep the packet
   * back. */
  stria_status_t (*send_invalidate)(stria_link_t* link, const stria_header_t* header, const void* payload,
                                    uint32_t bytes, const stria_provider_key_t* key);
} stria_group_keys_t;

/* get, and put: data moves through keys. Each needs the group keys. */
typedef struct stria_group_get {
  uint32_t size;
  /* Moves local.length bytes from the remote region's stream, from remote_offset on, to the local stream
   * range. OK: done. IN_PROGRESS: a completion follows, with one of the other answers. ACCESS: the key is
   * stale, or does not allow it. PEER_FAILED. UNSUPPORTED: the engine takes another way. If link_limits says
   * then that the link cannot get, no more calls come. Else the refusal is about the memory of this call, on
   * either side, which its process may use and the kernel or the adapter does not reach for a peer: other
   * memory goes as before. A part of the bytes may have been moved. A get that is under way when its key ends
   * may be refused, but writes nothing that the memory did not hold while the key was valid, and the link
   * stays up, unless it is one with `offload`. */
  stria_status_t (*get)(stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
                        uint64_t remote_offset, stria_completion_t* completion);
} stria_group_get_t;
typedef struct stria_group_put {
  uint32_t size;
  /* Moves the local stream range to the remote region's stream. The answers are those of get. */
  stria_status_t (*put)(stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
                        uint64_t remote_offset, stria_completion_t* completion);
} stria_group_put_t;

/* atomic: a word of remote memory is read and changed as one step. Needs the group keys. */
typedef struct stria_group_atomic {
  uint32_t size;
  /* Performs it on the word at atomic->offset of the key's stream, once and never twice. OK: done.
   * IN_PROGRESS: completion follows. INVALID: the 8 bytes lie apart, or at an address that is no multiple of
   * 8. ACCESS, PEER_FAILED, UNSUPPORTED as of get. The key needs STRIA_ACCESS_REMOTE_ATOMIC, which
   * fast_register is asked for only where the device has STRIA_CAP_ATOMICS. Atomics by keys to the same
   * memory are atomic with each other, whatever link they come by. */
  stria_status_t (*atomic)(stria_link_t* link, const stria_remote_atomic_t* atomic,
                           const stria_provider_key_t* key, stria_completion_t* completion);
} stria_group_atomic_t;

/* offload: an adapter moves what is got and put. Needs the groups keys and get. */
typedef struct stria_group_offload {
  uint32_t size;
  /* A get of the last bytes that a key is used for, and behind it, as one piece of work, send_invalidate of
   * `header` alone with that key. IN_PROGRESS: when the completion says OK, the packet is under way too.
   * Other answers as of get; nothing is sent then. For links with `offload`. */
  stria_status_t (*get_finish)(stria_link_t* link, const stria_payload_t* local,
                               const stria_provider_key_t* key, uint64_t remote_offset,
                               const stria_header_t* header, stria_completion_t* completion);
} stria_group_offload_t;

/* bulk: a packet whose payload is sent out of the caller's memory. The placing of payloads at the receiver is
 * independent of it, and no group: a provider that places calls `place` of the sink, and states
 * STRIA_CAP_PLACES. */
typedef struct stria_group_bulk {
  uint32_t size;
  /* Sends as eager_send does, in its turn among the packets of that, but without taking a copy first.
   * payload->length is 1 to zcopy_max of the link's limits; the payload may have a layout. *header and
   * *payload are the caller's again on return.
   * IN_PROGRESS: the packet goes. The memory that the payload describes, and its layout, stay as they are
   * until the completion is called: the provider may read them at any time before. One completion may stand
   * for several sends, and is called once for each. OK there: the memory is the caller's again, which says
   * nothing of the peer. Any other status: the link is dead, and its link_down follows; a send that is
   * outstanding then ends so.
   * OK: the provider took a copy, as it may of what is short; the memory is the caller's, and no completion
   * follows. NO_RESOURCE. PEER_FAILED. UNSUPPORTED: not out of this memory, because its layout has too many
   * runs or the system does not pin it; nothing was sent, and the engine uses eager_send. */
  stria_status_t (*zcopy_send)(stria_link_t* link, const stria_header_t* header,
                               const stria_payload_t* payload, stria_completion_t* completion);
} stria_group_bulk_t;

/* ---- the table ---- */

typedef struct stria_device_params {
  uint32_t size;
  uint64_t worker_id;
  const void* job_secret;
  uint32_t job_secret_bytes;
  const stria_sink_t* sink;         /* lives as long as the device */
  const stria_services_t* services; /* likewise */
  /* The text in force of a configuration variable, the provider's own among them, "" if unknown. Valid during
   * open. */
  const char* (*config)(void* self, const char* name);
  void* config_self;
  /* The number that such a text stands for, of variables of the kinds NUMBER and BYTES ("64K": 65536); 0 if
   * unknown. */
  int64_t (*config_number)(void* config_self, const char* name);
  /* Which of the provider's devices open is to open, from 0 on: 0 without the group devices. */
  uint32_t device;
} stria_device_params_t;

/* devices: a worker opens several devices of the provider, such as the adapters of a host. Each has its own
 * links, keys and part of the worker's address. The device of an index connects to the peer's device of the
 * same index, and to no other. */
typedef struct stria_group_devices {
  uint32_t size;
  /* How many devices the configuration asks for, 1 or more. Of *params only `size` and what belongs to
   * `config` are set. All of them are opened; one that cannot be opened (open says why) is left out, and the
   * others are used. A worker has at most STRIA_DEVICES_MAX devices of all its providers; more are refused
   * when it is opened, with the name of the provider. A provider that cannot tell answers 1, and `open` says
   * why. */
  uint32_t (*count)(const stria_device_params_t* params);
} stria_group_devices_t;

/* A table in C++ may leave out the groups and variables that it does not have, as one in C may. */
#ifdef __cplusplus
#define STRIA_NOT_DECLARED = {}
#else
#define STRIA_NOT_DECLARED
#endif

typedef struct stria_provider {
  uint32_t size;
  uint32_t version; /* STRIA_PROVIDER_VERSION */
  const char* name;
  const char* description;

  /* The core: every provider fills it. */

  /* Opens the device of index params->device. On failure *device is NULL and `error` (of error_bytes) says
   * which object, limit and value. */
  stria_status_t (*open)(const stria_device_params_t* params, stria_device_t** device, char* error,
                         uint32_t error_bytes);
  /* Delivers nothing more; waits at most timeout_ms until peers took over what was sent; frees all links. On
   * return no memory that an operation with IN_PROGRESS named, or that a payload is placed into, is read or
   * written any more; what a zero-copy send has not read by then is copied or lost. Completions that were not
   * called before are not called. */
  void (*close)(stria_device_t* device, int timeout_ms);
  void (*capabilities)(stria_device_t* device, stria_capabilities_t* out);
  /* The device's own part of the worker's address, at most 256 bytes. Returns the bytes needed. */
  uint32_t (*address)(stria_device_t* device, void* buffer, uint32_t bytes);
  /* Connects to the device that gave `address`. One link per remote worker: connecting to a worker that
   * connected to us first returns that link, with its cookie set to `peer`. IN_PROGRESS: sends answer
   * NO_RESOURCE until it is up, which OK tells when the call is repeated. PEER_FAILED: the provider knows
   * that the device of the address is gone for good, because its process ended or it was closed; all
   * operations that name the peer end then. UNSUPPORTED: such a peer is not for this provider, as one on
   * another host is not for shared memory; the worker takes the next provider without a word in the log.
   * UNREACHABLE: any other reason, also when the provider cannot tell. `error` has the reason.
   * low_latency != 0: wants a PIO window first; the call is repeated now and then while the link has none
   * (pio_max 0). Also called for a peer that receives wait for and that did not connect itself, every
   * STRIA_LIVENESS_MS. */
  stria_status_t (*connect)(stria_device_t* device, const void* address, uint32_t bytes, void* peer,
                            int low_latency, stria_link_t** link, char* error, uint32_t error_bytes);
  void (*link_limits)(stria_link_t* link, stria_link_limits_t* out);
  /* Gathered or packed into provider memory, payload->length <= eager_max; the memory is the caller's again
   * on return. OK, NO_RESOURCE, PEER_FAILED. UNSUPPORTED: all of that memory is with other peers, and has
   * been for long; announce the message, or send it in pieces of up to pio_max bytes, without a window of
   * STRIA_SMALL_PAYLOAD: those need none of it. */
  stria_status_t (*eager_send)(stria_link_t* link, const stria_header_t* header,
                               const stria_payload_t* payload);
  /* Handles up to `budget` events; returns how many. 0: idle. */
  unsigned (*progress)(stria_device_t* device, unsigned budget);
  /* Checks that peers are alive; calls link_down for those that are not. Called every STRIA_LIVENESS_MS. */
  void (*check)(stria_device_t* device);
  /* A descriptor readable when something arrived for an armed device, or a completion is due; the same for
   * the device's life. -1: the device cannot sleep. */
  int (*event_fd)(stria_device_t* device);
  /* OK: nothing waits, no packet and no completion; the caller may sleep. NO_RESOURCE: progress first. */
  stria_status_t (*arm)(stria_device_t* device);

  /* The groups; NULL: not declared. */
  const stria_group_pio_t* pio STRIA_NOT_DECLARED;
  const stria_group_keys_t* keys STRIA_NOT_DECLARED;
  const stria_group_get_t* get STRIA_NOT_DECLARED;
  const stria_group_put_t* put STRIA_NOT_DECLARED;
  const stria_group_atomic_t* atomic STRIA_NOT_DECLARED;
  const stria_group_offload_t* offload STRIA_NOT_DECLARED;
  const stria_group_bulk_t* bulk STRIA_NOT_DECLARED;
  const stria_group_devices_t* devices STRIA_NOT_DECLARED;
  /* For peers that share memory with the provider: stria/provider_coresident.h. */
  const struct stria_group_look* look STRIA_NOT_DECLARED;
  const struct stria_group_keep* keep STRIA_NOT_DECLARED;
  const struct stria_group_memory* memory STRIA_NOT_DECLARED;

  /* The provider's configuration variables; NULL and 0: it has none. stria lists them, checks the values that
   * are given for them, and answers them by stria_device_params_t.config. */
  const stria_variable_t* variables STRIA_NOT_DECLARED;
  uint32_t variable_count STRIA_NOT_DECLARED;
} stria_provider_t;

#define STRIA_PROVIDER_SYMBOL "stria_provider_v7"

#ifdef __cplusplus
}
#endif
#endif
