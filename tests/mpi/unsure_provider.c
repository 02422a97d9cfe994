/* libstria_provider_unsure.so: a provider that asks its network for each peer, and has no for an answer some
 * time later. Its links never come up. For tests of what the Open MPI component does meanwhile, and then.
 */
#include <stdlib.h>
#include <time.h>

#include "stria/provider.h"

enum { ANSWER_MS = 300, MOST_LINKS = 64 };

struct stria_link {
  void* peer; /* NULL: free */
  long asked_ms;
};

struct stria_device {
  const stria_sink_t* sink;
  struct stria_link links[MOST_LINKS];
};

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static stria_status_t open_device(const stria_device_params_t* params, stria_device_t** device, char* error,
                                  uint32_t error_bytes) {
  (void)error, (void)error_bytes;
  *device = calloc(1, sizeof **device);
  if (NULL == *device) return STRIA_ERR_IO;
  (*device)->sink = params->sink;
  return STRIA_OK;
}

static void close_device(stria_device_t* device, int timeout_ms) {
  (void)timeout_ms;
  free(device);
}

static void capabilities(stria_device_t* device, stria_capabilities_t* out) {
  (void)device;
  *out = (stria_capabilities_t){.eager_max = 4096};
}

static uint32_t address(stria_device_t* device, void* buffer, uint32_t bytes) {
  (void)device;
  if (bytes > 0) *(char*)buffer = 'u';
  return 1;
}

/* Asked again for the same peer it gives the same link. */
static stria_status_t connect_to(stria_device_t* device, const void* to, uint32_t bytes, void* peer,
                                 int low_latency, stria_link_t** link, char* error, uint32_t error_bytes) {
  (void)to, (void)bytes, (void)low_latency, (void)error, (void)error_bytes;
  stria_link_t* chosen = NULL;
  for (int i = MOST_LINKS - 1; i >= 0; --i) {
    if (device->links[i].peer == peer ||
        (NULL == device->links[i].peer && (NULL == chosen || chosen->peer != peer)))
      chosen = &device->links[i];
  }
  if (NULL == chosen) return STRIA_ERR_NO_RESOURCE;
  if (chosen->peer != peer) *chosen = (stria_link_t){.peer = peer, .asked_ms = now_ms()};
  *link = chosen;
  return STRIA_IN_PROGRESS;
}

static void limits(stria_link_t* link, stria_link_limits_t* out) {
  (void)link;
  *out = (stria_link_limits_t){.eager_max = 4096, .path = "unsure", .fallback = ""};
}

static stria_status_t eager_send(stria_link_t* link, const stria_header_t* header,
                                 const stria_payload_t* payload) {
  (void)link, (void)header, (void)payload;
  return STRIA_ERR_NO_RESOURCE;
}

static unsigned progress(stria_device_t* device, unsigned budget) {
  unsigned handled = 0;
  for (int i = 0; i < MOST_LINKS && handled < budget; ++i) {
    void* const peer = device->links[i].peer;
    if (NULL == peer || now_ms() - device->links[i].asked_ms < ANSWER_MS) continue;
    device->links[i].peer = NULL;
    device->sink->link_down(device->sink->self, peer, STRIA_ERR_UNREACHABLE);
    ++handled;
  }
  return handled;
}

static void check(stria_device_t* device) {
  (void)device;
}

static int event_fd(stria_device_t* device) {
  (void)device;
  return -1;
}

static stria_status_t arm(stria_device_t* device) {
  (void)device;
  return STRIA_OK;
}

STRIA_API extern const stria_provider_t stria_provider_v7;
const stria_provider_t stria_provider_v7 = {
    .size = sizeof(stria_provider_t),
    .version = STRIA_PROVIDER_VERSION,
    .name = "unsure",
    .description = "its network says no to each peer, and takes its time",
    .open = open_device,
    .close = close_device,
    .capabilities = capabilities,
    .address = address,
    .connect = connect_to,
    .link_limits = limits,
    .eager_send = eager_send,
    .progress = progress,
    .check = check,
    .event_fd = event_fd,
    .arm = arm};
