/* What the parts of C in docs/user-library.md stand in: a worker whose only peer is itself, and a region of
 * it. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stria/stria.h>

static void need(const char* what, stria_status_t status) {
  if (status >= STRIA_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, stria_status_string(status), stria_last_error());
  exit(1);
}

int main(void) {
  stria_context_t* context;
  stria_worker_t* worker;
  need("context", stria_context_open(NULL, &context));
  need("worker", stria_worker_open(context, NULL, &worker));
  unsigned char address[STRIA_ADDRESS_MAX], packed[STRIA_KEY_MAX];
  size_t size = sizeof address, key_size = sizeof packed;
  need("address", stria_worker_address(worker, address, &size));
  stria_endpoint_params_t params = {.size = sizeof params, .address = address, .address_bytes = size};
  stria_endpoint_t* endpoint;
  need("endpoint", stria_endpoint_open(worker, &params, &endpoint));
  uint64_t words[8] = {0};
  const unsigned rights = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC;
  stria_region_t* region;
  need("region", stria_region_register(worker, words, NULL, sizeof words, rights, &region));
  need("packed key", stria_region_key(region, packed, &key_size));
  stria_key_t* key;
  need("key", stria_key_open(endpoint, packed, key_size, &key));
  stria_request_t request;
  const uint64_t bytes = 1 << 20;
  void* memory = NULL;
  {
    // BLOCK
  }
  stria_key_close(key);
  need("deregister", stria_region_deregister(region));
  need("close", stria_endpoint_close(endpoint));
  need("close", stria_worker_close(worker));
  need("close", stria_context_close(context));
  return 0;
}
