/* The groups of a provider whose peers share memory with it, on one host or across a window: payloads that
 * are looked at, taken or kept where they lie, and memory that peers map. A provider for a network or an
 * adapter needs none of this; stria/provider.h has all that it reads.
 */
#ifndef STRIA_PROVIDER_CORESIDENT_H
#define STRIA_PROVIDER_CORESIDENT_H

#include "stria/provider.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- look: the next packet of one link ---- */

/* Answers of `take` that are no number of bytes. */
#define STRIA_TAKE_NOTHING (-1)
#define STRIA_TAKE_OTHER (-2)

typedef struct stria_group_look {
  uint32_t size;
  /* Handles up to `budget` packets that came by this link and can be looked at without a system call, in
   * order; returns how many. May do nothing and return 0: progress brings them too. */
  unsigned (*poll)(stria_link_t* link, unsigned budget);
  /* Receives the next packet of the link where it lies, without delivering it, if that can be looked at as by
   * poll, has a header like *header but for the immediate, and not more than `capacity` bytes of payload:
   * copies them to `memory` and the immediate to *header, and returns how many bytes. Else the packet stays
   * (and `memory` is as it was, unless the sender stopped in the middle of it), and the answer is
   * STRIA_TAKE_NOTHING when nothing came since the last look, or STRIA_TAKE_OTHER when poll has to say. May
   * always answer the latter. */
  int32_t (*take)(stria_link_t* link, stria_header_t* header, void* memory, uint32_t capacity);
} stria_group_look_t;

/* ---- keep: payloads that stay where they arrived ---- */

/* Bits of stria_packet_t.buffered. ARRIVING: the payload is still being written; the packet is the beginning
 * of a stria_arriving_t. NEAR: the payload was written by a core whose cache is near. */
#define STRIA_PACKET_ARRIVING 2u
#define STRIA_PACKET_NEAR 4u

typedef struct stria_arriving {
  stria_packet_t packet;
  /* Waits a few microseconds, at most, for `bytes` (1 to packet.bytes) of the payload to be there, from its
   * beginning on, and answers how many are. Fewer: the sender stands still, and the packet is to be left
   * (STRIA_DELIVERED_LATER). 0: the sender is gone, and the rest will not come. */
  uint32_t (*arrived)(const struct stria_arriving* self, uint32_t bytes);
} stria_arriving_t;

/* A packet whose `keep` is not 0 may stay where it is, under that name: deliver answers STRIA_DELIVERED_KEPT.
 * The payload then stays valid and as it is until `release`, also when its sender is gone and the link is
 * down, or until the device is closed. One that is still being written goes on coming, and `kept_arrived`
 * says how far it is. Neither is called before deliver has returned. */
#define STRIA_DELIVERED_KEPT 2u

/* Only of a packet with STRIA_PACKET_ARRIVING: its payload does not go on coming. The packet counts as not
 * delivered, whatever the other bits say, and is delivered again when all of it is there, or its sender is
 * gone. Packets of the link that follow it wait, and no others. */
#define STRIA_DELIVERED_LATER 4u

typedef struct stria_group_keep {
  uint32_t size;
  /* The payload of a packet of the link that was kept is of no use any more; once for each. */
  void (*release)(stria_link_t* link, uint64_t keep);
  /* Of a packet of `all` bytes that was kept while it was still being written: answers as stria_arriving_t's
   * `arrived` does, but for 0 bytes it does not wait, and nothing says that the sender is gone but the link,
   * which is down then. Also when the link is down. */
  uint32_t (*kept_arrived)(stria_link_t* link, uint64_t keep, uint32_t all, uint32_t bytes);
} stria_group_keep_t;

/* ---- memory: peers map it ---- */

/* Byte 4 of a key of this provider, where there is one, has these bits: the one thing in a key that engines
 * read. A key without a bit may end before that byte. */
#define STRIA_KEY_FLAGS_AT 4u
#define STRIA_KEY_MAPPED (1u << 0) /* all of the registered memory is of mem_alloc */
/* What follows the byte only saves time: a holder of the key may cut it off there and clear the bit. */
#define STRIA_KEY_HINT (1u << 1)

/* Bits of fast_register's `access`. MAPPED: a key with STRIA_KEY_MAPPED, or none. HINT: the key is for one
 * message that ends it, and may have a hint (STRIA_KEY_HINT) by which a get reads before it knows that the
 * key is valid; what it read is not used when it was not. */
#define STRIA_REGISTER_MAPPED (1u << 16)
#define STRIA_REGISTER_HINT (1u << 17)

typedef struct stria_group_memory {
  uint32_t size;
  /* Memory that the peers of `device` can map, page aligned, of zero bytes. device NULL: no device is open
   * yet, and any that this process opens is meant; a provider may answer UNSUPPORTED. IO with the reason in
   * `error`. The memory lives until mem_free, also when the device is closed. Any thread, also while another
   * uses the device; the device is not closed meanwhile. */
  stria_status_t (*mem_alloc)(stria_device_t* device, uint64_t bytes, void** out, char* error,
                              uint32_t error_bytes);
  /* Frees what mem_alloc gave. `device` is an open one, or NULL, which is asked for memory of devices that
   * are closed. INVALID: this is not memory of that device. Peers that have it mapped are not harmed. Any
   * thread.
   */
  stria_status_t (*mem_free)(stria_device_t* device, void* memory);
} stria_group_memory_t;

/* ---- facts of a link (stria_link_limits_t) ----
 *
 * can_map  get and put work through keys with STRIA_KEY_MAPPED, whatever can_get and can_put say.
 * grows    eager_send may publish what takes long to pack when a part of it is there, so that the receiver
 *          unpacks meanwhile (STRIA_PACKET_ARRIVING).
 * far      The caches of both sides are far apart: each line that changes hands is waited for. */

#ifdef __cplusplus
}
#endif
#endif
