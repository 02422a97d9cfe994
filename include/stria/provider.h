/* The provider contract: what drives one kind of path under stria (shared memory, verbs, a test bed, ...).
 *
 * A provider outside this tree is a shared library libstria_provider_NAME.so that exports one symbol,
 *     const stria_provider_t stria_provider_v1;
 * found in a folder of STRIA_PROVIDER_PATH or the installed one and enabled by STRIA_PROVIDERS=NAME. It
 * includes this header and no other of stria. docs/providers.md walks through one.
 *
 * Words: a device is a provider's instance under one worker; a link is its connection to one remote device. A
 * packet is a 16-byte header and up to eager_max bytes of payload. The engines above decide what packets
 * mean; a provider moves them, intact, in any order between links, and may reorder packets of one link only
 * between its PIO and its buffered path: matching restores MPI's order from the sequence number.
 *
 * Threads: a device and its links are used by one thread at a time (the worker's lock is held above).
 * Answers: STRIA_ERR_NO_RESOURCE means that nothing changed and the call may be repeated after progress.
 */
#ifndef STRIA_PROVIDER_H
#define STRIA_PROVIDER_H

#include <stdint.h>
#include <sys/uio.h>

#include "stria/stria.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STRIA_PROVIDER_VERSION 6u

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
  const void*
      layout; /* opaque (stria_services_t handles it); NULL: contiguous, the stream is the memory at base */
  void* base;
  int64_t count;
  int64_t offset;
  int64_t length;
} stria_payload_t;

/* A provider's part of a region's key. In shm and verbs it begins with a 32-bit word: 24-bit index, 8-bit
 * consumer key. The keys of a device that has STRIA_CAP_MAP_MEMORY have STRIA_KEY_* bits in the byte behind
 * the word, or end with the word when no bit is set: the one thing in a key that engines read. */
#define STRIA_PROVIDER_KEY_MAX 64
#define STRIA_KEY_FLAGS_AT 4u
#define STRIA_KEY_MAPPED (1u << 0) /* all of the memory is of mem_alloc */
#define STRIA_KEY_HINT                                                                  \
  (1u << 1) /* what follows the byte only saves time: whoever stores the key may cut it \
             * off there and clear the bit */
typedef struct stria_provider_key {
  uint32_t bytes;
  uint8_t data[STRIA_PROVIDER_KEY_MAX];
} stria_provider_key_t;

/* Called once from progress when a get, put or atomic that answered STRIA_IN_PROGRESS ends. */
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
  const void* payload; /* valid during the call, or until `release` if it is kept */
  uint32_t bytes;
  uint32_t buffered; /* 0: it came through the PIO path; else 1, STRIA_PACKET_ARRIVING, and perhaps NEAR */
  uint64_t keep; /* not 0: the payload may stay where it is (STRIA_DELIVERED_KEPT); its name for `release` */
} stria_packet_t;

/* In `buffered`: the payload was written by a core whose cache is near. */
#define STRIA_PACKET_NEAR 4u
/* In `buffered`: the payload is still being written; the packet is the beginning of a stria_arriving_t. */
#define STRIA_PACKET_ARRIVING 2u
typedef struct stria_arriving {
  stria_packet_t packet;
  /* Waits until at least `bytes` (1 to packet.bytes) of the payload are there, from its beginning on, and
   * answers how many are. 0: its sender is gone, and the rest will not come. */
  uint32_t (*arrived)(const struct stria_arriving* self, uint32_t bytes);
} stria_arriving_t;

/* Absent when the packet ended the last receive that waited: a provider had better leave what comes next on
 * the link where it is until it is called again, as its receive may be there by then. */
#define STRIA_DELIVERED_GO_ON 1u
/* Only of a packet with `keep`: its payload stays valid and as it is until `release`, also when its sender is
 * gone and the link is down, or until the device is closed. One that is still being written goes on coming,
 * and `kept_arrived` says how far it is. Neither is called before deliver has returned. */
#define STRIA_DELIVERED_KEPT 2u

typedef struct stria_sink {
  void* self;
  /* A packet arrived on the link whose cookie is `peer`. Consumes it before it returns; may start sends.
   * Returns STRIA_DELIVERED_* bits. */
  uint32_t (*deliver)(void* self, void* peer, const stria_packet_t* packet);
  /* A remote worker connected on its own. Returns the cookie of its packets. Comes before its first packet.
   */
  void* (*peer_up)(void* self, uint64_t worker_id, stria_link_t* link);
  /* The link is dead. Before it, everything received was delivered, and the completions of all gets, puts and
   * atomics of the link that answered IN_PROGRESS were called: no memory of theirs is touched any more. No
   * call on the link may follow but `release`. `why`: PEER_FAILED when the peer is gone, whether it died or
   * closed; UNREACHABLE when it refuses us; IO when what it sent makes no sense, or the system ended the
   * link. */
  void (*link_down)(void* self, void* peer, stria_status_t why);
  /* What link_limits answers of the link is different now (but for its credits). During progress, poll,
   * take or check. */
  void (*link_changed)(void* self, void* peer);
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

/* Bits of stria_capabilities_t.flags. What is absent is not used: nothing is emulated silently. */
#define STRIA_CAP_PIO (1ull << 0)   /* pio_send */
#define STRIA_CAP_EAGER (1ull << 1) /* eager_send */
#define STRIA_CAP_GET (1ull << 2)   /* get; whether for a given link: stria_link_limits_t */
#define STRIA_CAP_PUT (1ull << 3)
#define STRIA_CAP_FAST_REGISTER (1ull << 4)
#define STRIA_CAP_LOCAL_INVALIDATE (1ull << 5)
#define STRIA_CAP_INVALIDATE_FENCE                                        \
  (1ull << 6) /* invalidate is ordered after earlier work without waiting \
               */
#define STRIA_CAP_SEND_INVALIDATE (1ull << 7)
#define STRIA_CAP_READ_INVALIDATE (1ull << 8)
#define STRIA_CAP_WINDOW_1 (1ull << 9) /* memory windows */
#define STRIA_CAP_WINDOW_2A (1ull << 10)
#define STRIA_CAP_WINDOW_2B (1ull << 11)
#define STRIA_CAP_ZERO_BASED (1ull << 12)
#define STRIA_CAP_BLOCK_LIST (1ull << 13)
#define STRIA_CAP_STRIDED (1ull << 14)   /* strided regions behind one key */
#define STRIA_CAP_COMPOSITE (1ull << 15) /* regions of several parts behind one key */
/* `atomic`. With STRIA_CAP_MAP_MEMORY it is CPUs that perform them, and they are atomic with those of the
 * owner's CPU; else it is an adapter, whose are atomic with each other only. */
#define STRIA_CAP_ATOMICS (1ull << 16)
#define STRIA_CAP_MASKED_ATOMICS (1ull << 17)
#define STRIA_CAP_XRC (1ull << 18)
#define STRIA_CAP_LOOPBACK_BLOCKING (1ull << 19)
#define STRIA_CAP_LOW_LATENCY_QP (1ull << 20)
#define STRIA_CAP_ON_DEMAND_PAGING (1ull << 21)
#define STRIA_CAP_EVENT_FD (1ull << 22)   /* can sleep */
#define STRIA_CAP_MAP_MEMORY (1ull << 23) /* mem_alloc gives memory that peers load and store directly */
#define STRIA_CAP_OFFLOAD (1ull << 24)    /* its links have `offload`: an adapter moves what is got and put */
#define STRIA_CAP_GROWING (1ull << 25)    /* its links may have `grows` */

typedef struct stria_capabilities {
  uint64_t flags;
  uint32_t pio_max;     /* payload bytes of one pio_send */
  uint32_t pio_windows; /* how many links can have a PIO window */
  uint32_t pio_window_bytes;
  uint32_t pio_mtu;       /* longest message a window takes, header included */
  uint32_t eager_max;     /* payload bytes of one eager_send */
  uint32_t key_bits;      /* consumer key bits */
  uint32_t strided_depth; /* levels of a strided region behind one key; 0: any */
  uint32_t max_sge;       /* entries of one gather or scatter list */
  uint32_t max_keys;
} stria_capabilities_t;

typedef struct stria_link_limits {
  uint32_t pio_max; /* 0: this link has no window */
  uint32_t eager_max;
  uint32_t can_get; /* 0: get answers UNSUPPORTED on this link */
  uint32_t can_put;
  uint32_t pio_credits; /* bytes free now */
  uint32_t low_latency; /* the link was given a window for its class */
  uint32_t can_map;     /* get and put work through keys with STRIA_KEY_MAPPED, whatever can_get says */
  uint32_t offload;     /* gets and puts are moved, and keys checked, by an adapter: both processes go on
                         * meanwhile, get_finish works, a key is ended by one side alone, and an access that the
                         * adapter refuses ends the link: ACCESS, or PEER_FAILED where it does not say why */
  uint32_t far;     /* the caches of both sides are far apart: each line that changes hands is waited for */
  const char* path; /* for people: "pio window 8 KiB + cma + mapped memory"; valid while the link is */
  const char* fallback; /* why a better path is not used; "" if none */
  uint32_t can_atomic;  /* 0: atomic answers UNSUPPORTED on this link, but perhaps for keys with
                         * STRIA_KEY_MAPPED */
  uint32_t gathers;     /* keys may show memory that lies apart as one run: STRIA_REGISTER_GATHERED */
  uint32_t grows; /* eager_send may publish what takes long to pack when a part of it is there, so that the
                   * receiver unpacks meanwhile (STRIA_PACKET_ARRIVING) */
} stria_link_limits_t;

/* ---- the tables ---- */

/* Beside the STRIA_ACCESS_* bits in fast_register's `access`. */
#define STRIA_REGISTER_MAPPED (1u << 16)
/* The key is for one message that ends it, and may have a hint (STRIA_KEY_HINT) by which a get reads before
 * it knows that the key is valid; what it read is not used when it was not. */
#define STRIA_REGISTER_HINT (1u << 17)
/* A key by which a get of all of the memory is one request of the adapter, however the memory lies, or none.
 * For links with `gathers`. */
#define STRIA_REGISTER_GATHERED (1u << 18)

#define STRIA_SMALL_PAYLOAD 32

/* Answers of `take` that are no number of bytes. */
#define STRIA_TAKE_NOTHING (-1)
#define STRIA_TAKE_OTHER (-2)

/* The data path: at most one of these calls a message. Unsupported ones answer STRIA_ERR_UNSUPPORTED, none is
 * NULL. */
typedef struct stria_hot_ops {
  uint32_t size;
  uint32_t version;
  /* Header and payload stored now by the CPU, bytes <= pio_max. OK, NO_RESOURCE (no credit), PEER_FAILED. */
  stria_status_t (*pio_send)(stria_link_t* link, const stria_header_t* header, const void* payload,
                             uint32_t bytes);
  /* Gathered or packed into provider memory, payload->length <= eager_max; the memory is the caller's again
   * on return. OK, NO_RESOURCE, PEER_FAILED. UNSUPPORTED: all of that memory is with other peers, and has
   * been for long; announce the message, or send it in pieces of up to pio_max bytes, without a window of
   * STRIA_SMALL_PAYLOAD: those need none of it. */
  stria_status_t (*eager_send)(stria_link_t* link, const stria_header_t* header,
                               const stria_payload_t* payload);
  /* As pio_send, and `key` (of the remote device) is invalid before the packet is delivered. ACCESS: these
   * bytes are no key; nothing was sent. A key that had ended already does not keep the packet back. */
  stria_status_t (*send_invalidate)(stria_link_t* link, const stria_header_t* header, const void* payload,
                                    uint32_t bytes, const stria_provider_key_t* key);
  /* Makes a key for count instances of the layout at base (offset and length of `memory` are not looked at),
   * valid before any later packet of the link is delivered. O(1). link: the key serves this link's peer, by
   * this link; NULL: any link of the device, and it may cost a system call. `access`: STRIA_ACCESS_* bits,
   * and STRIA_REGISTER_MAPPED for a key with STRIA_KEY_MAPPED or none, STRIA_REGISTER_HINT. UNSUPPORTED: no
   * key can describe this, or the system registers no such memory.
   * The message goes packed, and other memory is registered as before. */
  stria_status_t (*fast_register)(stria_device_t* device, stria_link_t* link, const stria_payload_t* memory,
                                  unsigned access, stria_provider_key_t* key);
  /* The key is unusable on return: no access through it succeeds any more. Cost: O(accesses under way).
   * ACCESS: it is no valid key of this device (ended before, never made, of another length); nothing changed.
   */
  stria_status_t (*invalidate)(stria_device_t* device, const stria_provider_key_t* key);
  /* Moves local.length bytes between the local stream range and the remote region's stream from remote_offset
   * on. OK: done. IN_PROGRESS: a completion follows, with one of the other answers. ACCESS: the key is stale,
   * or does not allow it. PEER_FAILED. UNSUPPORTED: the engine takes another way. If link_limits says then
   * that the link cannot get (or put), no more calls come. Else the refusal is about the memory of this call,
   * on either side, which its process may use and the kernel or the adapter does not reach for a peer: other
   * memory goes as before. A part of the bytes may have been moved. A get that is under way when its key ends
   * may be refused, but writes nothing that the memory did not hold while the key was valid, and the link
   * stays up, unless it is one with `offload`.
   */
  stria_status_t (*get)(stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
                        uint64_t remote_offset, stria_completion_t* completion);
  stria_status_t (*put)(stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
                        uint64_t remote_offset, stria_completion_t* completion);
  /* A get of the last bytes that a key is used for, and behind it, as one piece of work, send_invalidate of
   * `header` alone with that key. IN_PROGRESS: when the completion says OK, the packet is under way too.
   * Other answers as of get; nothing is sent then. For links with `offload`. */
  stria_status_t (*get_finish)(stria_link_t* link, const stria_payload_t* local,
                               const stria_provider_key_t* key, uint64_t remote_offset,
                               const stria_header_t* header, stria_completion_t* completion);
  /* Handles up to `budget` events; returns how many. 0: idle. */
  unsigned (*progress)(stria_device_t* device, unsigned budget);
  /* Handles up to `budget` packets that came by this link and can be looked at without a system call, in
   * order; returns how many. May do nothing and return 0: progress brings them too. */
  unsigned (*poll)(stria_link_t* link, unsigned budget);
  /* Performs it on the word at atomic->offset of the key's stream, once and never twice. OK: done.
   * IN_PROGRESS: completion follows. INVALID: the 8 bytes lie apart, or at an address that is no multiple of
   * 8. ACCESS, PEER_FAILED, UNSUPPORTED as of get. The key needs STRIA_ACCESS_REMOTE_ATOMIC, which
   * fast_register is asked for only where STRIA_CAP_ATOMICS is stated. Atomics by keys to the same memory are
   * atomic with each other, whatever link they come by. */
  stria_status_t (*atomic)(stria_link_t* link, const stria_remote_atomic_t* atomic,
                           const stria_provider_key_t* key, stria_completion_t* completion);
  /* Receives the next packet of the link where it lies, without delivering it, if that can be looked at as by
   * poll, has a header like *header but for the immediate, and not more than `capacity` bytes of payload:
   * copies them to `memory` and the immediate to *header, and returns how many bytes. Else the packet stays
   * (and `memory` is as it was, unless the sender went in the middle of it), and the answer is
   * STRIA_TAKE_NOTHING when nothing came since the last look, or STRIA_TAKE_OTHER when poll has to say. May
   * always answer the latter. */
  int32_t (*take)(stria_link_t* link, stria_header_t* header, void* memory, uint32_t capacity);
  /* The payload of a packet of the link that was kept is of no use any more; once for each. */
  void (*release)(stria_link_t* link, uint64_t keep);
  /* Of a packet of `all` bytes that was kept while it was still being written: as stria_arriving_t's
   * `arrived`; for 0 bytes it does not wait. Also when the link is down. */
  uint32_t (*kept_arrived)(stria_link_t* link, uint64_t keep, uint32_t all, uint32_t bytes);
} stria_hot_ops_t;

typedef struct stria_device_params {
  uint32_t size;
  uint64_t worker_id;
  const void* job_secret;
  uint32_t job_secret_bytes;
  const stria_sink_t* sink;         /* lives as long as the device */
  const stria_services_t* services; /* likewise */
  /* The text in force of a configuration variable, "" if unknown. Valid during open. */
  const char* (*config)(void* self, const char* name);
  void* config_self;
} stria_device_params_t;

typedef struct stria_provider {
  uint32_t size;
  uint32_t version; /* STRIA_PROVIDER_VERSION */
  const char* name;
  const char* description;
  const stria_hot_ops_t* ops;

  /* Opens a device. On failure *device is NULL and `error` (of error_bytes) says which object, limit and
   * value. */
  stria_status_t (*open)(const stria_device_params_t* params, stria_device_t** device, char* error,
                         uint32_t error_bytes);
  /* Delivers nothing more; waits at most timeout_ms until peers took over what was sent; frees all links. */
  void (*close)(stria_device_t* device, int timeout_ms);
  void (*capabilities)(stria_device_t* device, stria_capabilities_t* out);
  /* The device's own part of the worker's address, at most 256 bytes. Returns the bytes needed. */
  uint32_t (*address)(stria_device_t* device, void* buffer, uint32_t bytes);
  /* Connects to the device that gave `address`. One link per remote worker: connecting to a worker that
   * connected to us first returns that link, with its cookie set to `peer`. IN_PROGRESS: sends answer
   * NO_RESOURCE until it is up. PEER_FAILED: the provider knows that the device of the address is gone for
   * good, because its process ended or it was closed; all operations that name the peer end then.
   * UNREACHABLE: any other reason, also when the provider cannot tell. `error` has the reason. low_latency !=
   * 0: wants a PIO window first; the call is repeated now and then while the link has none (pio_max 0). Also
   * called for a peer that receives wait for and that did not connect itself, every STRIA_LIVENESS_MS. */
  stria_status_t (*connect)(stria_device_t* device, const void* address, uint32_t bytes, void* peer,
                            int low_latency, stria_link_t** link, char* error, uint32_t error_bytes);
  void (*link_limits)(stria_link_t* link, stria_link_limits_t* out);
  /* Checks that peers are alive; calls link_down for those that are not. Called every STRIA_LIVENESS_MS. */
  void (*check)(stria_device_t* device);
  /* A descriptor readable when something arrived for an armed device, or -1. The same for the device's life.
   */
  int (*event_fd)(stria_device_t* device);
  /* OK: nothing waits, the caller may sleep. NO_RESOURCE: progress first. */
  stria_status_t (*arm)(stria_device_t* device);
  /* Memory that peers can map, page aligned, of zero bytes; UNSUPPORTED without STRIA_CAP_MAP_MEMORY, IO with
   * the reason in `error`. mem_free takes what mem_alloc gave, INVALID: anything else; peers that have it
   * mapped are not harmed. Any thread; process wide. */
  stria_status_t (*mem_alloc)(uint64_t bytes, void** out, char* error, uint32_t error_bytes);
  stria_status_t (*mem_free)(void* memory);
} stria_provider_t;

#define STRIA_PROVIDER_SYMBOL "stria_provider_v1"

#ifdef __cplusplus
}
#endif
#endif
